"""What the runtime needs of the outside. Each call raises a `core.failures.Failure` and nothing else."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from pydantic import SecretStr

from controller.api.base import Json
from controller.core.model import Key, Kind
from controller.core.observed import (
    Instance,
    ManagedInstance,
    OperationView,
    ResourceRef,
    ResourceView,
    Taint,
    TokenView,
)

#: Raises when this replica may not act (any more): called before every mutation.
MayAct = Callable[[], None]


class Clock(Protocol):
    """Time, and waiting for it."""

    def now(self) -> datetime:
        """The wall clock, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds of a clock that never jumps."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class Cloud(Protocol):
    """Compute Engine. Mutations return the accepted operation and never wait for it."""

    async def get(self, ref: ResourceRef) -> ResourceView | None:
        """The resource, None when it answers 404."""
        ...

    async def insert(self, ref: ResourceRef, body: Json, request_id: str) -> OperationView:
        """Create it from the REST body."""
        ...

    async def delete(self, ref: ResourceRef, request_id: str) -> OperationView:
        """Delete it; raises Gone when it is not there."""
        ...

    async def get_operation(self, ref: ResourceRef, name: str) -> OperationView | None:
        """An operation on this resource (its scope follows from the ref), None when forgotten (404)."""
        ...

    async def list_managed_instances(self, mig: ResourceRef) -> tuple[ManagedInstance, ...]:
        """All rows, all pages."""
        ...

    async def get_instance(self, project: str, zone: str, name: str) -> Instance | None:
        """One VM, None when it answers 404."""
        ...

    async def list_instances(self, project: str, zone: str, *name_prefixes: str) -> tuple[Instance, ...]:
        """All VMs of a zone whose name begins as one of these does (500 a page)."""
        ...

    async def set_metadata(
        self, instance: Instance, changes: Mapping[str, SecretStr | str | None]
    ) -> OperationView | None:
        """Merge changes (None removes a key) into the metadata that this view holds, under its fingerprint.

        Returns None without a call when nothing would change. Raises Conflict on a stale fingerprint.
        """
        ...


class Cluster(Protocol):
    """The Kubernetes API."""

    async def list_custom_resources(self, kind: Kind) -> list[Json]:
        """All objects of a kind, all namespaces, all pages."""
        ...

    async def create_custom_resource(self, kind: Kind, namespace: str, manifest: Json) -> Json:
        """Create; raises Conflict when the name exists."""
        ...

    async def delete_custom_resource(self, key: Key, uid: str) -> None:
        """Delete with a UID precondition (background propagation); an absent one is fine."""
        ...

    async def patch_status(self, key: Key, uid: str, patch: Json) -> Json:
        """Merge patch on the status subresource; `patch` is the content of `status`.

        Raises Conflict on another UID, Gone when it is not there.
        """
        ...

    async def set_finalizers(self, key: Key, resource_version: str, finalizers: Sequence[str]) -> Json | None:
        """JSON patch with a resourceVersion test; None when the object went away with its last finalizer."""
        ...

    async def create_token_secret(self, token: TokenView, secret: SecretStr) -> None:
        """The bootstrap Secret `kube-system/bootstrap-token-<id>` as kubeadm makes it, with our labels.

        `secret`: the 16 characters behind the dot.
        """
        ...

    async def delete_token_secret(self, token_id: str) -> None:
        """Delete; an absent one is fine."""
        ...

    async def list_token_secrets(self) -> tuple[TokenView, ...]:
        """All bootstrap Secrets that bear our labels, as metadata only."""
        ...

    def tell_lost_tokens(self, tell: Callable[[str], None]) -> None:
        """Call `tell` with the id of each token whose signature goes and whose Secret was not deleted by us."""
        ...

    async def await_signature(self, token_id: str, timeout: float) -> bool:
        """Wait until cluster-info is signed with this token (one shared watch); False after `timeout` seconds."""
        ...

    async def ca_hashes(self) -> tuple[str, ...]:
        """`sha256:<hex>` of every certificate in kube-root-ca.crt."""
        ...

    async def version(self) -> str:
        """The control plane's version as it says it (`v1.36.3`), kept for a while; "" where we may not ask."""
        ...

    async def label_node(self, name: str, uid: str, labels: Mapping[str, str]) -> None:
        """Merge labels into a Node with this UID."""
        ...

    async def taint_node(self, name: str, uid: str, resource_version: str, taints: Sequence[Taint]) -> None:
        """Replace the Node's taints, under its resourceVersion; raises Conflict when it changed."""
        ...

    async def cordon_node(self, name: str, uid: str, by: str | None) -> None:
        """Cordon and mark as ours (`by`), or lift our cordon (None)."""
        ...

    async def delete_node(self, name: str, uid: str, resource_version: str) -> None:
        """Delete with UID and resourceVersion preconditions; an absent one is fine; another raises Conflict."""
        ...

    async def post_event(self, key: Key, uid: str, *, warning: bool, reason: str, message: str, at: datetime) -> None:
        """A Kubernetes Event for people. Best effort: never raises."""
        ...


class Jitter(Protocol):
    """Chance in waits: what many do, or one does again and again, must not fall into step."""

    def around(self, base: timedelta, share: float) -> timedelta:
        """`base` plus or minus a random share of it."""
        ...
