"""The end of a group, in the order that its users are told: cordon, MIG, template, policy, Nodes, then the finalizer.

Each child deletes its own GCE resource and keeps its finalizer until GCE answers 404; so "the child is gone" means
"its resource is gone". Tokens are revoked first: a VM that still boots cannot join any more.
"""

from datetime import datetime, timedelta

from controller.api.constants import FINALIZER, REFERENCE_FINALIZERS
from controller.api.reasons import Reason
from controller.core.actions import Action, DeleteChild, DeleteStaleNode, RevokeToken, SetFinalizers
from controller.core.model import Key, Kind, Scope
from controller.core.plan import Plan, Recheck
from controller.core.slice_health import cordon_all
from controller.core.snapshot import GroupSnapshot

_STAGES = (
    (Kind.MIG, Reason.DELETING_MIG),
    (Kind.TEMPLATE, Reason.DELETING_TEMPLATE),
    (Kind.POLICY, Reason.DELETING_POLICY),
)
#: A look back in case the word that a child is gone was lost.
_BACKSTOP = timedelta(seconds=60)


def teardown_stage(snapshot: GroupSnapshot) -> Reason | None:
    """What the deletion waits for now; None when nothing is left but the finalizer."""
    for kind, reason in _STAGES:
        if kind in snapshot.children:
            return reason
    if any(host.node is not None for host in snapshot.matched.hosts.values()) or not snapshot.filled:
        return Reason.DELETING_NODES
    return None


def plan_teardown(snapshot: GroupSnapshot, now: datetime) -> Plan:
    """The next step of a deletion."""
    metadata = snapshot.group.metadata
    if FINALIZER not in metadata.finalizers and not REFERENCE_FINALIZERS & set(metadata.finalizers):
        return Plan()
    states = snapshot.states(now)
    revocations = _revocations(snapshot)
    stage = teardown_stage(snapshot)
    backstop = (Recheck(now + _BACKSTOP, "teardown", Scope.MIG),)
    if stage is None and not revocations:
        key = Key(Kind.GROUP, metadata.namespace, metadata.name)
        others = tuple(n for n in metadata.finalizers if n != FINALIZER and n not in REFERENCE_FINALIZERS)
        return Plan((SetFinalizers(key, metadata.resource_version, others),))
    if stage is not Reason.DELETING_NODES:
        deletions = _child_deletions(snapshot)
        return Plan((*revocations, *cordon_all(states, mark=snapshot.mark), *deletions), backstop)
    if not snapshot.filled or any(not host.absent for host in snapshot.matched.hosts.values() if host.node):
        # The MIG is gone and with it its VMs; see it before a Node is deleted.
        return Plan(revocations, (Recheck(now, "teardown", Scope.INSTANCES),))
    return Plan((*revocations, *_node_deletions(snapshot)), backstop)


def _revocations(snapshot: GroupSnapshot) -> tuple[Action, ...]:
    tokens = [token for host in snapshot.matched.hosts.values() for token in host.tokens]
    return tuple(
        RevokeToken(token.id, token.instance, "the group is being deleted")
        for token in (*tokens, *snapshot.matched.orphans)
    )


def _child_deletions(snapshot: GroupSnapshot) -> tuple[Action, ...]:
    """The MIG alone first; when it is gone, the others, which do not need one another."""
    kinds = (Kind.MIG,) if Kind.MIG in snapshot.children else (Kind.TEMPLATE, Kind.POLICY)
    children = [snapshot.children[kind] for kind in kinds if kind in snapshot.children]
    return tuple(DeleteChild(child.key, child.uid) for child in children if not child.deleting)


def _node_deletions(snapshot: GroupSnapshot) -> tuple[Action, ...]:
    return tuple(
        DeleteStaleNode(host.node.name, host.node.uid, host.node.resource_version, "its VM is deleted with the group")
        for host in snapshot.matched.hosts.values()
        if host.node is not None
    )
