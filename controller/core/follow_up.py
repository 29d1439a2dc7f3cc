"""When to look again at VMs that are on their way: a follow-up of an event, not a poll.

One `instanceGroupManagers.get` a step tells whether anything moved, whatever the number of VMs. Nothing moves any
more, or nothing is under way: no follow-up.
"""

from collections.abc import Sequence
from datetime import datetime

from controller.core.join import HostState, Phase
from controller.core.model import Kind, Scope
from controller.core.observed import MigView
from controller.core.plan import Policy, Recheck, doubling
from controller.core.snapshot import GroupSnapshot

#: Counts of `currentInstanceStatuses` that stay as they are until somebody acts.
_AT_REST = frozenset({"running", "terminated", "stopped", "suspended"})


def on_their_way(mig: MigView, states: Sequence[HostState]) -> bool:
    """Whether VMs of the MIG are changing, or about to."""
    if mig.bulk_in_progress or any(count for name, count in mig.counts.items() if name not in _AT_REST):
        return True
    if any(state.phase in {Phase.PROVISIONING, Phase.LEAVING} for state in states):
        return True
    # Counts may be absent although VMs are coming (facts: GCE 6.1).
    return not mig.counts and mig.target_size > 0 and not mig.is_stable


def follow_up(
    snapshot: GroupSnapshot, states: Sequence[HostState], policy: Policy, now: datetime
) -> tuple[Recheck, ...]:
    """The next step: 0.5 s after the last read of the MIG, doubling to 8 s while nothing moves."""
    mig = snapshot.children.get(Kind.MIG)
    if snapshot.mig is None or snapshot.mig_read_at is None or mig is None or mig.deleting:
        return ()
    if not on_their_way(snapshot.mig, states):
        return ()
    due = snapshot.mig_read_at + doubling(policy.follow_up_first, policy.follow_up_max, snapshot.quiet_looks)
    return (Recheck(max(due, now), "follow_up", Scope.MIG),)
