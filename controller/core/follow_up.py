"""When to look again at VMs that are on their way: a follow-up of an event, not a poll.

One `instanceGroupManagers.get` a step tells whether anything moved, whatever the number of VMs. Nothing moves any
more, or nothing is under way: no follow-up. As long as the MIG counts other VMs as running than were read, one of the
two answers was early, late or wrong, and both are asked again.
"""

from collections.abc import Sequence
from datetime import datetime

from controller.core.join import HostState, Phase
from controller.core.model import Kind, Scope
from controller.core.moving import on_their_way
from controller.core.observed import MigView
from controller.core.plan import Policy, Recheck, doubling
from controller.core.snapshot import GroupSnapshot


def follow_up(
    snapshot: GroupSnapshot, states: Sequence[HostState], policy: Policy, now: datetime
) -> tuple[Recheck, ...]:
    """The next step: 0.5 s after the last read of the MIG, doubling to 8 s."""
    mig = snapshot.children.get(Kind.MIG)
    if snapshot.mig is None or snapshot.mig_read_at is None or mig is None or mig.deleting:
        return ()
    coming = any(state.phase in {Phase.PROVISIONING, Phase.LEAVING} for state in states)
    if not coming and not on_their_way(snapshot.mig) and not _contradicted(snapshot.mig, states):
        return ()
    due = snapshot.mig_read_at + doubling(policy.follow_up_first, policy.follow_up_max, snapshot.quiet_looks)
    return (Recheck(max(due, now), "follow_up", Scope.MIG),)


def _contradicted(mig: MigView, states: Sequence[HostState]) -> bool:
    running = sum(
        state.host.is_member and state.host.instance is not None and state.host.instance.status == "RUNNING"
        for state in states
    )
    return bool(mig.counts) and mig.running != running
