"""All that the operator can do to the outside, as values. A plan is a list of these, `runtime.apply` their switch.

Actions with the same `target` run in their order; different targets run side by side.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from controller.core.failures import Failure
from controller.core.model import Key
from controller.core.observed import Instance, OperationView, ResourceRef, Taint


class Priority(IntEnum):
    """What goes first when budgets are short (design: every read and write has a budget)."""

    REVOKE = 0
    TOKEN = 1
    REPLACE = 2
    NODE = 3
    SCRUB = 4


@dataclass(frozen=True, slots=True)
class SetFinalizers:
    """Write the finalizers of a custom resource, if it is still at this resourceVersion."""

    key: Key
    resource_version: str
    finalizers: tuple[str, ...]
    priority: Priority = Priority.REPLACE

    @property
    def target(self) -> str:
        return str(self.key)


@dataclass(frozen=True, slots=True)
class CreateChild:
    """Create a child custom resource."""

    key: Key
    manifest: Mapping[str, Any]
    priority: Priority = Priority.REPLACE

    @property
    def target(self) -> str:
        return str(self.key)


@dataclass(frozen=True, slots=True)
class DeleteChild:
    """Delete a child custom resource; its own finalizer then deletes the GCE resource."""

    key: Key
    uid: str
    priority: Priority = Priority.REPLACE

    @property
    def target(self) -> str:
        return str(self.key)


@dataclass(frozen=True, slots=True)
class InsertResource:
    """Create a GCE resource."""

    ref: ResourceRef
    body: Mapping[str, Any]
    request_id: str
    priority: Priority = Priority.REPLACE

    @property
    def target(self) -> str:
        return self.ref.path


@dataclass(frozen=True, slots=True)
class DeleteResource:
    """Delete a GCE resource."""

    ref: ResourceRef
    request_id: str
    priority: Priority = Priority.REPLACE

    @property
    def target(self) -> str:
        return self.ref.path


@dataclass(frozen=True, slots=True)
class MintToken:
    """Make a bootstrap Secret for one incarnation of a VM and see it signed."""

    instance: Instance
    priority: Priority = Priority.TOKEN

    @property
    def target(self) -> str:
        return self.instance.name


@dataclass(frozen=True, slots=True)
class InjectToken:
    """Put the token that was minted last for this incarnation into the VM's metadata."""

    instance: Instance
    control_plane_ip: str
    control_plane_endpoint: str
    priority: Priority = Priority.TOKEN

    @property
    def target(self) -> str:
        return self.instance.name


@dataclass(frozen=True, slots=True)
class RevokeToken:
    """Delete a bootstrap Secret: whoever read the token can do nothing with it any more."""

    token_id: str
    instance: str
    why: str
    priority: Priority = Priority.REVOKE

    @property
    def target(self) -> str:
        return self.instance


@dataclass(frozen=True, slots=True)
class ScrubMetadata:
    """Remove the join token from a VM's metadata."""

    instance: Instance
    priority: Priority = Priority.SCRUB

    @property
    def target(self) -> str:
        return self.instance.name


@dataclass(frozen=True, slots=True)
class LabelNode:
    """Add labels of ours that a Node lacks."""

    node: str
    uid: str
    labels: Mapping[str, str]
    priority: Priority = Priority.NODE

    @property
    def target(self) -> str:
        return self.node


@dataclass(frozen=True, slots=True)
class TaintNode:
    """Replace a Node's taints (by the same ones and ours)."""

    node: str
    uid: str
    resource_version: str
    taints: tuple[Taint, ...]
    priority: Priority = Priority.NODE

    @property
    def target(self) -> str:
        return self.node


@dataclass(frozen=True, slots=True)
class DeleteStaleNode:
    """Delete the Node of an earlier incarnation: this one (UID), as it was seen (resourceVersion).

    A kubelet that adopts the Node in between writes to it, and the deletion is refused.
    """

    node: str
    uid: str
    resource_version: str
    why: str
    priority: Priority = Priority.REPLACE

    @property
    def target(self) -> str:
        return self.node


@dataclass(frozen=True, slots=True)
class Cordon:
    """Make a Node unschedulable and mark the cordon as ours."""

    node: str
    uid: str
    by: str
    priority: Priority = Priority.NODE

    @property
    def target(self) -> str:
        return self.node


@dataclass(frozen=True, slots=True)
class Uncordon:
    """Lift our own cordon."""

    node: str
    uid: str
    priority: Priority = Priority.NODE

    @property
    def target(self) -> str:
        return self.node


Action = (
    SetFinalizers
    | CreateChild
    | DeleteChild
    | InsertResource
    | DeleteResource
    | MintToken
    | InjectToken
    | RevokeToken
    | ScrubMetadata
    | LabelNode
    | TaintNode
    | DeleteStaleNode
    | Cordon
    | Uncordon
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one action. Neither operation nor failure: done, with nothing to wait for."""

    action: Action
    operation: OperationView | None = None
    failure: Failure | None = None
