"""The life of one host: from nothing to a Ready Node, as a pure state machine over what was observed.

A host is a name in the group; its incarnations differ by instance id. The phase is never stored: it follows from the
instance, the Node and the token Secrets, so a restart of the operator, or a lost event, changes nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from controller.api.reasons import Reason
from controller.core.observed import Instance, ManagedInstance, NodeView, TokenView

#: Instance states on the way up (facts: GCE 2; TPU VMs start in PENDING).
COMING = frozenset({"PENDING", "PROVISIONING", "STAGING"})


class Phase(StrEnum):
    """Where a host stands."""

    ABSENT = "Absent"
    PROVISIONING = "Provisioning"
    RUNNING = "Running"
    TOKEN_INJECTED = "TokenInjected"
    JOINED = "Joined"
    READY = "Ready"
    FAILED = "Failed"
    REPLACED = "Replaced"
    LEAVING = "Leaving"


@dataclass(frozen=True, slots=True)
class Host:
    """All that is known of one name. `node` is a Node of that name (or claiming its providerID)."""

    name: str
    instance: Instance | None = None
    node: NodeView | None = None
    tokens: tuple[TokenView, ...] = ()
    #: GCE was asked since the Node was seen last, and has no VM of this name (as opposed to: not looked yet).
    absent: bool = False
    #: Our MIG's own row of this name. It may be of a VM that is not read yet: what does not run is known by it alone.
    member: ManagedInstance | None = None
    #: A live token of this incarnation that was minted and is not in the metadata yet: "" if none.
    injectable: str = ""
    #: When the last injection into this incarnation was accepted; its effect is not confirmed yet.
    injected_at: datetime | None = None
    #: What an event said of this incarnation's trouble (a reason of ours, and a text), for a loss that the API shows.
    hint: tuple[Reason, str] | None = None

    @property
    def is_member(self) -> bool:
        """Whether our MIG lists this name with this very id: only then is the VM ours."""
        return self.instance is not None and self.member is not None and self.member.id == self.instance.id


@dataclass(frozen=True, slots=True)
class HostState:
    """A phase, and why it is not the next one."""

    host: Host
    phase: Phase
    reason: str = ""
    message: str = ""

    @property
    def lost(self) -> bool:
        """Whether a host that should run does not (as opposed to: not yet)."""
        return self.phase in {Phase.FAILED, Phase.LEAVING}


def is_current(node: NodeView, instance: Instance) -> bool:
    """Whether a Node is that of this incarnation, and not of an earlier VM of the same name.

    The kubelet registers with the instance id. A kubelet that found an old Node of its name adopts it with the old
    labels (facts: TPU 4): a heartbeat from after the creation of the VM tells, and such a Node is never deleted.
    """
    spoke = node.heartbeat is not None and node.heartbeat > instance.created
    if node.instance_id:
        return node.instance_id == instance.id or spoke
    return spoke or node.created >= _whole_second(instance.created)


def live_token(host: Host, now: datetime, margin: timedelta) -> TokenView | None:
    """The Secret whose token lies in this incarnation's metadata and lives for at least `margin`, if there is one."""
    if host.instance is None:
        return None
    in_metadata = host.instance.metadata.token_id
    for token in host.tokens:
        if token.id == in_metadata and token.instance_id == host.instance.id and token.expires - now > margin:
            return token
    return None


def state_of(host: Host, *, chips: int, bootstraps: bool, now: datetime) -> HostState:
    """The phase of a host. `chips`: google.com/tpu that a Ready host offers; `bootstraps`: we hand out the token."""
    instance, node = host.instance, host.node
    if instance is None:
        return _without_instance(host)
    if node is not None and not is_current(node, instance):
        return HostState(host, Phase.REPLACED, Reason.STALE_NODE, "the Node is that of an earlier VM of this name")
    if instance.status != "RUNNING":
        return _not_running(host, instance)
    if node is not None:
        return _joined(host, instance, node, chips)
    if host.hint is not None and host.hint[0] is Reason.BOOTSTRAP_FAILED:
        return HostState(host, Phase.RUNNING, host.hint[0], host.hint[1])
    if bootstraps and live_token(host, now, timedelta(0)) is None:
        return HostState(host, Phase.RUNNING, Reason.AWAITING_TOKEN, "the VM runs and has no live join token yet")
    return HostState(host, Phase.TOKEN_INJECTED, Reason.AWAITING_NODE_JOIN, "the VM runs and has not joined yet")


def _without_instance(host: Host) -> HostState:
    if host.node is not None and host.absent:
        return HostState(host, Phase.REPLACED, Reason.STALE_NODE, "the VM does not exist")
    if host.member is not None:
        return HostState(host, Phase.PROVISIONING, Reason.PROVISIONING, f"the VM is {host.member.status}")
    return HostState(host, Phase.ABSENT, Reason.PROVISIONING, "the VM does not exist")


def _not_running(host: Host, instance: Instance) -> HostState:
    reason, message = host.hint or (Reason.INSTANCE_LOST, f"the VM is {instance.status}")
    if instance.status in COMING:
        if host.node is None and host.hint is None:
            reason, message = Reason.PROVISIONING, f"the VM is {instance.status}"
        return HostState(host, Phase.PROVISIONING, reason, message)
    if instance.status in {"STOPPING", "PENDING_STOP", "DEPROVISIONING", "SUSPENDING"}:
        return HostState(host, Phase.LEAVING, reason, message)
    return HostState(host, Phase.FAILED, reason, message)


def _joined(host: Host, instance: Instance, node: NodeView, chips: int) -> HostState:
    if not node.ready:
        return HostState(host, Phase.JOINED, Reason.NODE_NOT_READY, "the Node is not Ready")
    if instance.started and node.heartbeat and node.heartbeat < _whole_second(instance.started):
        # Ready=True from before a restart says nothing: the kubelet has not spoken since.
        return HostState(host, Phase.JOINED, Reason.NODE_NOT_READY, "the kubelet has not reported since the VM started")
    if chips and node.tpu_allocatable != chips:
        message = f"google.com/tpu allocatable is {node.tpu_allocatable}, not {chips}: is the device plugin running?"
        return HostState(host, Phase.JOINED, Reason.NODE_NOT_READY, message)
    return HostState(host, Phase.READY)


def _whole_second(at: datetime) -> datetime:
    """Kubernetes keeps times in whole seconds: what happened later in the same second must not seem earlier."""
    return at.replace(microsecond=0)


def states_of(hosts: Mapping[str, Host], *, chips: int, bootstraps: bool, now: datetime) -> tuple[HostState, ...]:
    """The states of all hosts, by name."""
    return tuple(state_of(hosts[name], chips=chips, bootstraps=bootstraps, now=now) for name in sorted(hosts))
