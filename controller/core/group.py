"""One look at a TPUNodeGroup: the whole decision, put together from the parts beside this file.

Children first, then hosts: tokens, Nodes, cordons. Deletion is `teardown`, the words for people are `group_status`.
"""

from datetime import datetime

from controller.api.constants import FINALIZER, REFERENCE_FINALIZERS
from controller.api.resources import RecoveryPolicy
from controller.core.actions import Action, CreateChild, DeleteChild, DeleteStaleNode, SetFinalizers
from controller.core.children import child_key, child_manifest, endpoint_of, wanted_kinds
from controller.core.follow_up import follow_up
from controller.core.join import HostState, Phase
from controller.core.model import Key, Kind, Scope
from controller.core.moving import vanished
from controller.core.node_labels import node_actions
from controller.core.plan import Plan, Policy, Recheck
from controller.core.slice_health import cordon_actions, cordon_all
from controller.core.snapshot import GroupSnapshot
from controller.core.teardown import plan_teardown
from controller.core.tokens import revoke_orphans, token_actions, token_rechecks


def plan_group(snapshot: GroupSnapshot, policy: Policy, now: datetime) -> Plan:
    """Decide the next step of a group. Pure, and safe to ask for at any time."""
    if snapshot.deleting:
        return plan_teardown(snapshot, now)
    finalizers = _finalizers(snapshot)
    if finalizers is not None:
        metadata = snapshot.group.metadata
        key = Key(Kind.GROUP, metadata.namespace, metadata.name)
        return Plan((SetFinalizers(key, metadata.resource_version, finalizers),))
    if snapshot.rejection:
        return Plan()
    states = snapshot.states(now)
    actions = (*_children(snapshot, states, policy), *_hosts(snapshot, states, policy, now))
    rechecks = (
        *follow_up(snapshot, states, policy, now),
        *token_rechecks(states, actions, slots=snapshot.token_slots, policy=policy, now=now),
        *_unknown_hosts(snapshot, states, now),
        *_unproven_hosts(states, policy, now),
    )
    return Plan(tuple(sorted(actions, key=lambda action: action.priority)), rechecks)


def _finalizers(snapshot: GroupSnapshot) -> tuple[str, ...] | None:
    """Ours first of all; the reference's are swapped for it once every child has adopted what was there."""
    present = snapshot.group.metadata.finalizers
    if FINALIZER not in present:
        return (*present, FINALIZER)
    if snapshot.children_ready and REFERENCE_FINALIZERS & set(present):
        return tuple(name for name in present if name not in REFERENCE_FINALIZERS)
    return None


def _children(snapshot: GroupSnapshot, states: tuple[HostState, ...], policy: Policy) -> list[Action]:
    actions: list[Action] = []
    for kind in wanted_kinds(snapshot.group):
        child = snapshot.children.get(kind)
        if child is None and (kind is not Kind.MIG or _may_create_mig(snapshot)):
            manifest = child_manifest(snapshot.group, kind, policy)
            actions.append(CreateChild(child_key(snapshot.group, kind), manifest))
        if child is not None and kind is Kind.MIG and not child.deleting and _must_recreate(snapshot, states):
            actions.append(DeleteChild(child.key, child.uid))
    return actions


def _may_create_mig(snapshot: GroupSnapshot) -> bool:
    """A MIG is made of a template and a policy: both must be there first."""
    others = [kind for kind in wanted_kinds(snapshot.group) if kind is not Kind.MIG]
    if not all((child := snapshot.children.get(kind)) and child.is_ready for kind in others):
        return False
    return snapshot.template is not None or not snapshot.group.spec.instance_template_uri


def _must_recreate(snapshot: GroupSnapshot, states: tuple[HostState, ...]) -> bool:
    """A slice that nobody brings back stays down until its MIG is deleted and made again (facts: GCE 6.2)."""
    if not snapshot.is_bulk or snapshot.group.spec.recovery_policy != RecoveryPolicy.RECREATE_SLICE:
        return False
    # Without any VM left it may also be that none was made yet.
    in_part = snapshot.mig is not None and 0 < vanished(snapshot.mig) < snapshot.mig.target_size
    stays_down = in_part or any(snapshot.stays_down(state) for state in states)
    return stays_down and not any(state.phase is Phase.PROVISIONING for state in states)


def _hosts(snapshot: GroupSnapshot, states: tuple[HostState, ...], policy: Policy, now: datetime) -> list[Action]:
    if not snapshot.filled:
        # Before GCE was heard nothing can be said of a host: a Node without a known VM may be anybody's.
        return []
    bootstrap = snapshot.group.spec.bootstrap_kubernetes
    mig = snapshot.children.get(Kind.MIG)
    cordons = (
        cordon_all(states, mark=snapshot.mark)
        if mig is not None and mig.deleting
        else cordon_actions(
            states,
            mark=snapshot.mark,
            is_slice=snapshot.is_bulk,
            was_ready=snapshot.was_ready,
            whole=snapshot.whole(states),
        )
    )
    nodes = node_actions(states, snapshot.labels, taint=bootstrap.taint if bootstrap else None)
    deleted = {action.target for action in nodes if isinstance(action, DeleteStaleNode)}
    return [
        *token_actions(states, endpoint_of(snapshot.group), slots=snapshot.token_slots, policy=policy, now=now),
        *revoke_orphans(snapshot.matched.orphans),
        *nodes,
        *(cordon for cordon in cordons if cordon.target not in deleted),
    ]


def _unknown_hosts(snapshot: GroupSnapshot, states: tuple[HostState, ...], now: datetime) -> tuple[Recheck, ...]:
    """Nodes whose VM was not seen yet: the Node was faster than the events. Without a MIG no VM is read."""
    if snapshot.mig is None or not snapshot.filled:
        return ()
    names = tuple(s.host.name for s in states if s.host.node and s.host.instance is None and not s.host.absent)
    return (Recheck(now, "unknown_node", Scope.INSTANCES, names),) if names else ()


def _unproven_hosts(states: tuple[HostState, ...], policy: Policy, now: datetime) -> tuple[Recheck, ...]:
    """VMs that run under a name of ours and are not in the MIG's list: somebody else's, or the list came too early."""
    names = tuple(
        state.host.name
        for state in states
        if state.host.instance is not None and not state.host.is_member and state.phase is Phase.RUNNING
    )
    return (Recheck(now + policy.unconfirmed_looks[-1], "unproven", Scope.INSTANCES, names),) if names else ()
