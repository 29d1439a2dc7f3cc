"""All that the operator can do to the outside, as values. A plan is a list of these, `runtime.apply` their switch.

Actions with the same `target` run in their order; different targets run side by side.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar

from controller.core.failures import Failure
from controller.core.model import Key
from controller.core.observed import Instance, OperationView, ResourceRef, Taint


class Priority(IntEnum):
    """What goes first when budgets are short (`controller/runtime/pacing.py`)."""

    REVOKE = 0
    TOKEN = 1
    REPLACE = 2
    NODE = 3
    SCRUB = 4


@dataclass(frozen=True, slots=True)
class _OnCustomResource:
    key: Key

    @property
    def target(self) -> str:
        """The custom resource."""
        return str(self.key)


@dataclass(frozen=True, slots=True)
class _OnResource:
    ref: ResourceRef

    @property
    def target(self) -> str:
        """The GCE resource."""
        return self.ref.path


@dataclass(frozen=True, slots=True)
class _OnInstance:
    instance: Instance

    @property
    def target(self) -> str:
        """The VM, whose Node has the same name."""
        return self.instance.name


@dataclass(frozen=True, slots=True)
class _OnNode:
    node: str
    uid: str

    @property
    def target(self) -> str:
        """The Node, whose VM has the same name."""
        return self.node


@dataclass(frozen=True, slots=True)
class SetFinalizers(_OnCustomResource):
    """Write the finalizers of a custom resource, if it is still at this resourceVersion."""

    resource_version: str
    finalizers: tuple[str, ...]
    priority: ClassVar[Priority] = Priority.REPLACE


@dataclass(frozen=True, slots=True)
class CreateChild(_OnCustomResource):
    """Create a child custom resource."""

    manifest: Mapping[str, Any]
    priority: ClassVar[Priority] = Priority.REPLACE


@dataclass(frozen=True, slots=True)
class DeleteChild(_OnCustomResource):
    """Delete a child custom resource; its own finalizer then deletes the GCE resource."""

    uid: str
    priority: ClassVar[Priority] = Priority.REPLACE


@dataclass(frozen=True, slots=True)
class InsertResource(_OnResource):
    """Create a GCE resource."""

    body: Mapping[str, Any]
    request_id: str
    priority: ClassVar[Priority] = Priority.REPLACE


@dataclass(frozen=True, slots=True)
class DeleteResource(_OnResource):
    """Delete a GCE resource."""

    request_id: str
    priority: ClassVar[Priority] = Priority.REPLACE


@dataclass(frozen=True, slots=True)
class MintToken(_OnInstance):
    """Make a bootstrap Secret for one incarnation of a VM and see it signed."""

    priority: ClassVar[Priority] = Priority.TOKEN


@dataclass(frozen=True, slots=True)
class InjectToken(_OnInstance):
    """Put the token that was minted last for this incarnation into the VM's metadata."""

    control_plane_ip: str
    control_plane_endpoint: str
    priority: ClassVar[Priority] = Priority.TOKEN


@dataclass(frozen=True, slots=True)
class RevokeToken:
    """Delete a bootstrap Secret: whoever read the token can do nothing with it any more."""

    token_id: str
    instance: str
    why: str
    priority: ClassVar[Priority] = Priority.REVOKE

    @property
    def target(self) -> str:
        """The VM that the token was made for."""
        return self.instance


@dataclass(frozen=True, slots=True)
class ScrubMetadata(_OnInstance):
    """Remove the join token from a VM's metadata."""

    priority: ClassVar[Priority] = Priority.SCRUB


@dataclass(frozen=True, slots=True)
class LabelNode(_OnNode):
    """Add labels of ours that a Node lacks."""

    labels: Mapping[str, str]
    priority: ClassVar[Priority] = Priority.NODE


@dataclass(frozen=True, slots=True)
class TaintNode(_OnNode):
    """Replace a Node's taints (by the same ones and ours)."""

    resource_version: str
    taints: tuple[Taint, ...]
    priority: ClassVar[Priority] = Priority.NODE


@dataclass(frozen=True, slots=True)
class DeleteStaleNode(_OnNode):
    """Delete the Node of an earlier incarnation: this one (UID), as it was seen (resourceVersion).

    A kubelet that adopts the Node in between writes to it, and the deletion is refused.
    """

    resource_version: str
    why: str
    priority: ClassVar[Priority] = Priority.REPLACE


@dataclass(frozen=True, slots=True)
class Cordon(_OnNode):
    """Make a Node unschedulable and mark the cordon as ours."""

    by: str
    priority: ClassVar[Priority] = Priority.NODE


@dataclass(frozen=True, slots=True)
class Uncordon(_OnNode):
    """Lift our own cordon."""

    priority: ClassVar[Priority] = Priority.NODE


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
