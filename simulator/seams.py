"""The seams between the simulator's parts: who may ask what of whom. Types only, no behaviour.

The world (`simulator/world`) owns every Compute resource. Faces translate wire calls into calls on it. Guests are
the operating systems of its VMs. Kubernetes is reached by guests only as a kubelet reaches it.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol

Json = dict[str, Any]
#: The simulator's clock: aware, UTC.
Now = Callable[[], datetime]
#: Of a call: `changed` took effect, `replayed` repeated an earlier one (request id), `none` changed nothing.
Effect = Literal["changed", "replayed", "none"]


class LogWriter(Protocol):
    """Cloud Logging's front door: what the world, the guests and the Logging face hand entries to."""

    def write(self, entry: Json) -> None:
        """Take one LogEntry (REST JSON); the router sets what is missing, filters and publishes it."""
        ...


class CallLog(Protocol):
    """Counts of all calls on all faces, for `GET /control/calls`."""

    def record(self, *, caller: str, api: str, method: str, code: str, effect: Effect) -> None:
        """`api`: compute|kubernetes|pubsub|logging|metadata.

        `method`: as in `instances.setMetadata`, or `patch tpunodegroups/status`.
        """
        ...


class CallFaults(Protocol):
    """Planned faults of calls (`POST /control/faults` with `method`)."""

    def next(self, api: str, method: str) -> "PlannedFault | None":
        """Count this call and return the fault that its turn has, if any."""
        ...


@dataclass(slots=True)
class PlannedFault:
    """What happens to one call. `hold-after` takes effect, then withholds the reply until the fault is deleted.

    `release` is awaited for that.
    """

    effect: Literal["error-before", "error-after", "latency", "hold-after"]
    #: HTTP status (Compute, Kubernetes) or gRPC status name.
    code: str
    milliseconds: float
    release: Callable[[], Awaitable[None]]


class GuestHost(Protocol):
    """What the world tells of a VM's power: the guest side listens (see `simulator/guests`)."""

    def powered_on(self, instance_id: str) -> None:
        """The VM reached RUNNING: its operating system boots."""
        ...

    def powered_off(self, instance_id: str) -> None:
        """The VM left RUNNING, or is gone: everything in it stops at once. The disk survives a stop, not a delete."""
        ...


@dataclass(frozen=True, slots=True)
class JoinRequest:
    """What `kubeadm join` and the kubelet's registration send, in one."""

    node_name: str
    token: str
    ca_hashes: Sequence[str]
    provider_id: str
    labels: Mapping[str, str]
    #: (key, value, effect)
    taints: Sequence[tuple[str, str, str]]
    kubelet_version: str
    #: Where the VM's metadata says that the control plane is, as host:port; "" where it says nothing.
    endpoint: str = ""

    def __repr__(self) -> str:
        return f"JoinRequest(node_name={self.node_name!r}, token=<redacted>)"


class JoinRefusedError(Exception):
    """The control plane refused: wrong, expired or missing token, no signature yet, a Ready Node of that name."""


class Kubernetes(Protocol):
    """Kubernetes as a kubelet reaches it."""

    async def join(self, request: JoinRequest) -> None:
        """Verify the token (Secret there, not expired, usages), the signature in cluster-info and the CA hash, then
        register the Node. A kubelet adopts an existing Node of its name (facts: TPU 4). Raises JoinRefusedError."""
        ...

    async def register(self, request: JoinRequest) -> None:
        """What a kubelet that has credentials does at each start: create its Node, or adopt the one of its name.

        The token is of no account. Never refused.
        """
        ...

    async def post_status(self, node_name: str, *, ready: bool, allocatable: Mapping[str, str], at: datetime) -> None:
        """A kubelet's full node status (Ready condition with lastHeartbeatTime, capacity and allocatable).

        Nothing happens where the Node was deleted: a running kubelet never registers again (facts: TPU 4).
        """
        ...

    async def renew_lease(self, node_name: str, at: datetime) -> None:
        """The kubelet's heartbeat in kube-node-lease; nothing where the Node was deleted."""
        ...


class KubernetesView(Protocol):
    """What the control face shows of the cluster."""

    async def objects(self) -> Json:
        """All objects that are state, by a key that names each."""
        ...

    async def history(self) -> Json:
        """What comes and goes by itself: `events` and `leases`."""
        ...
