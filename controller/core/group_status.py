"""What a TPUNodeGroup's status says: computed in one place, from what was seen, written once a look.

Ready is a summary and never set by hand. The first thing that stands in its way gives the reason: what the user must
change, then what GCE lacks, then what was lost, then what is merely not there yet.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from controller.api.conditions import Status, get_condition, set_condition
from controller.api.reasons import ConditionType, Reason
from controller.api.resources import NodeStatus, NodeSummary, RecoveryPolicy, TPUNodeGroupStatus
from controller.core.actions import Outcome
from controller.core.children import wanted_kinds
from controller.core.failures import Rejected
from controller.core.join import HostState, Phase
from controller.core.model import Kind
from controller.core.moving import vanished
from controller.core.snapshot import GroupSnapshot
from controller.core.teardown import teardown_stage
from controller.core.verdicts import Verdict, creation_verdict

_MAX_NODES_LISTED = 50
_CHILD_CONDITIONS = {
    Kind.POLICY: ConditionType.WORKLOAD_POLICY_READY,
    Kind.TEMPLATE: ConditionType.INSTANCE_TEMPLATE_READY,
    Kind.MIG: ConditionType.MANAGED_INSTANCE_GROUP_READY,
}
_JOINED = frozenset({Phase.JOINED, Phase.READY})


def group_status(
    snapshot: GroupSnapshot,
    outcomes: Sequence[Outcome],
    now: datetime,
    *,
    events: Verdict | None,
    last_event: datetime | None,
) -> TPUNodeGroupStatus:
    """The status after a look. `events`: on the event path; `last_event`: written along, never for itself."""
    states = snapshot.states(now)
    old = snapshot.group.status
    generation = snapshot.group.metadata.generation
    verdicts: dict[ConditionType, Verdict] = {
        _CHILD_CONDITIONS[kind]: _child_verdict(snapshot, kind) for kind in _CHILD_CONDITIONS
    }
    verdicts[ConditionType.NODES_JOINED] = _joined_verdict(snapshot, states)
    # What an earlier process heard stands until this one knows better: a restart says nothing of the event path.
    unsaid = get_condition(old.conditions, ConditionType.EVENTS_FLOWING) is None
    if events is not None and (events.status != "Unknown" or unsaid):
        verdicts[ConditionType.EVENTS_FLOWING] = events
    verdicts[ConditionType.READY] = ready_verdict(snapshot, states, outcomes)
    conditions = old.conditions
    for type_, verdict in verdicts.items():
        conditions = set_condition(conditions, verdict.condition(type_, now, generation), now)
    ready = sum(state.phase is Phase.READY for state in states)
    failed = sum(state.phase is Phase.FAILED for state in states)
    count = snapshot.group.spec.node_count
    fresh = TPUNodeGroupStatus(
        conditions=conditions,
        node_summary=NodeSummary(ready=ready, failed=failed, reconciling=max(0, count - ready - failed)),
        nodes_ready=f"{ready}/{count}",
        accelerator=snapshot.accelerator or None,
        nodes=_listed(states, old, now),
        observed_generation=generation,
        last_event_time=old.last_event_time,
    )
    if fresh == old:
        return old
    heard = last_event.replace(microsecond=0) if last_event else old.last_event_time
    return fresh.model_copy(update={"last_event_time": heard})


def ready_verdict(snapshot: GroupSnapshot, states: Sequence[HostState], outcomes: Sequence[Outcome]) -> Verdict:
    """The summary."""
    if snapshot.deleting:
        return _deleting(snapshot)
    if snapshot.rejection:
        return Verdict("False", Reason.REQUEST_REJECTED, snapshot.rejection)
    for verdict in (
        _failed_child(snapshot),
        _refused_action(outcomes),
        _no_capacity(snapshot),
        _lost(snapshot, states),
        _vanished(snapshot),
    ):
        if verdict is not None:
            return verdict
    if (claimed := _two_claimants(snapshot)) is not None:
        return claimed
    if snapshot.whole(tuple(states)):
        return Verdict("True", Reason.READY, f"all {snapshot.group.spec.node_count} hosts are Ready")
    return _waiting(snapshot, states)


def _deleting(snapshot: GroupSnapshot) -> Verdict:
    messages = {
        Reason.DELETING_MIG: "the managed instance group and its VMs are being deleted",
        Reason.DELETING_TEMPLATE: "the instance template is being deleted",
        Reason.DELETING_POLICY: "the workload policy is being deleted",
        Reason.DELETING_NODES: "the Nodes of the VMs that are gone are being deleted",
    }
    stage = teardown_stage(snapshot) or Reason.DELETING_NODES
    return Verdict("False", stage, messages[stage])


def _child_verdict(snapshot: GroupSnapshot, kind: Kind) -> Verdict:
    if kind not in wanted_kinds(snapshot.group):
        if kind is Kind.POLICY:
            return Verdict("True", Reason.NOT_NEEDED, "single hosts have no workload policy")
        ready: Status = "True" if snapshot.template is not None else "False"
        return Verdict(ready, Reason.BROUGHT, f"the group brings {snapshot.group.spec.instance_template_uri}")
    child = snapshot.children.get(kind)
    if child is None or child.ready is None:
        return Verdict("False", Reason.PROVISIONING, f"the {kind} is being created")
    if child.is_ready:
        return Verdict("True", Reason.READY, child.ready.message)
    return Verdict("False", child.ready.reason, child.ready.message)


def _failed_child(snapshot: GroupSnapshot) -> Verdict | None:
    """A child that cannot go on by itself; what only takes its time is no failure."""
    passing = {Reason.PROVISIONING, Reason.UNSTABLE, Reason.CREATED}
    for kind in wanted_kinds(snapshot.group):
        child = snapshot.children.get(kind)
        if child is not None and child.ready is not None and not child.is_ready and child.ready.reason not in passing:
            return Verdict("False", child.ready.reason, f"{kind} {child.key.name}: {child.ready.message}")
    return None


def _refused_action(outcomes: Sequence[Outcome]) -> Verdict | None:
    refused = [outcome.failure for outcome in outcomes if isinstance(outcome.failure, Rejected)]
    return Verdict("False", Reason.RECONCILE_ERROR, str(refused[0])) if refused else None


def _no_capacity(snapshot: GroupSnapshot) -> Verdict | None:
    if snapshot.mig is not None and snapshot.mig.running >= snapshot.group.spec.node_count:
        return None
    return creation_verdict(snapshot.errors[0]) if snapshot.errors else None


def _lost(snapshot: GroupSnapshot, states: Sequence[HostState]) -> Verdict | None:
    troubled = [state for state in states if state.lost or _is_trouble(state)]
    if not troubled:
        return None
    first = troubled[0]
    more = f" (and {len(troubled) - 1} more)" if len(troubled) > 1 else ""
    message = f"host {first.host.name}{more}: {first.message}"
    if snapshot.is_bulk and snapshot.stays_down(first):
        message += _how_it_comes_back(snapshot)
    elif snapshot.is_bulk and first.phase is Phase.FAILED and first.reason == Reason.GUEST_TERMINATED:
        message += "; the slice stays down: start the VM, or apply the group anew"
    return Verdict("False", first.reason, message[:1000])


def _vanished(snapshot: GroupSnapshot) -> Verdict | None:
    count = vanished(snapshot.mig) if snapshot.mig is not None and snapshot.is_bulk else 0
    if not count:
        return None
    message = f"{count} of {snapshot.group.spec.node_count} VMs were deleted{_how_it_comes_back(snapshot)}"
    return Verdict("False", Reason.INSTANCE_LOST, message)


def _how_it_comes_back(snapshot: GroupSnapshot) -> str:
    if snapshot.group.spec.recovery_policy != RecoveryPolicy.MANUAL:
        return ""
    return "; the slice stays down: set spec.recoveryPolicy to RecreateSlice, or apply the group anew"


def _two_claimants(snapshot: GroupSnapshot) -> Verdict | None:
    """A Node that has the name of a host of ours and says that it is another VM: it is never touched, only told."""
    for node in snapshot.matched.claimants:
        if node.name in snapshot.matched.hosts:
            message = f"Node {node.name} claims to be {node.provider_id}, which is no VM of this group; delete it"
            return Verdict("False", Reason.TWO_CLAIMANTS, message)
    return None


def _is_trouble(state: HostState) -> bool:
    """A host that is not lost, but for which an event named the trouble that keeps it from being Ready."""
    hint = state.host.hint
    return hint is not None and hint[0] == state.reason and state.phase in {Phase.PROVISIONING, Phase.RUNNING}


def _joined_verdict(snapshot: GroupSnapshot, states: Sequence[HostState]) -> Verdict:
    joined = sum(state.phase in _JOINED for state in states)
    count = snapshot.group.spec.node_count
    if joined >= count:
        return Verdict("True", Reason.JOINED, f"all {count} hosts have joined")
    return Verdict("False", Reason.AWAITING_NODE_JOIN, f"{joined} of {count} hosts have joined")


def _waiting(snapshot: GroupSnapshot, states: Sequence[HostState]) -> Verdict:
    count = snapshot.group.spec.node_count
    phases = Counter(state.phase for state in states)
    up = sum(phases[phase] for phase in (Phase.RUNNING, Phase.TOKEN_INJECTED, *_JOINED))
    stale = [state for state in states if state.phase is Phase.REPLACED]
    if stale:
        return Verdict("False", Reason.STALE_NODE, f"Node {stale[0].host.name}: {stale[0].message}")
    if up < count:
        return Verdict("False", Reason.PROVISIONING, f"{up} of {count} VMs run")
    if phases[Phase.JOINED] + phases[Phase.READY] < count:
        joined = phases[Phase.JOINED] + phases[Phase.READY]
        return Verdict("False", Reason.AWAITING_NODE_JOIN, f"{joined} of {count} hosts have joined")
    not_ready = [state for state in states if state.phase is Phase.JOINED]
    if not_ready:
        message = f"{phases[Phase.READY]} of {count} Nodes are Ready; {not_ready[0].host.name}: {not_ready[0].message}"
        return Verdict("False", Reason.NODE_NOT_READY, message)
    if not snapshot.topology_applied:
        return Verdict(
            "False", Reason.TOPOLOGY_NOT_APPLIED, f"topology {snapshot.group.spec.topology} is not active yet"
        )
    return Verdict("False", Reason.PROVISIONING, "the managed instance group is not stable yet")


def _listed(states: Sequence[HostState], old: TPUNodeGroupStatus, now: datetime) -> tuple[NodeStatus, ...]:
    """The hosts that are not Ready, the first 50; `since` moves when phase or incarnation do."""
    before = {(node.name, node.instance_id, node.phase): node.since for node in old.nodes}
    listed: list[NodeStatus] = []
    for state in states:
        if state.phase is Phase.READY or len(listed) == _MAX_NODES_LISTED:
            continue
        instance_id = state.host.instance.id if state.host.instance else None
        since = before.get((state.host.name, instance_id, state.phase.value)) or now
        listed.append(
            NodeStatus(
                name=state.host.name,
                instance_id=instance_id,
                phase=state.phase.value,
                reason=str(state.reason),
                since=since,
            )
        )
    return tuple(listed)


def only_details_differ(old: TPUNodeGroupStatus, fresh: TPUNodeGroupStatus) -> bool:
    """Whether nothing changed that anybody acts on: no condition's status or reason, but counts, lists and messages."""

    def decided(status: TPUNodeGroupStatus) -> list[tuple[str, str, str]]:
        return [(condition.type, condition.status, condition.reason) for condition in status.conditions]

    return old.observed_generation == fresh.observed_generation and decided(old) == decided(fresh)
