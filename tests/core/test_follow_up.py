"""VMs on their way are looked at again, ever more slowly while nothing moves, and not at all when nothing is due."""

import pytest

from controller.core.follow_up import follow_up
from controller.core.model import Kind, Scope
from controller.core.observed import MigView
from controller.core.plan import Recheck
from controller.core.snapshot import GroupSnapshot
from tests.core.builders import (
    NOW,
    POLICY,
    after,
    ago,
    children,
    make_child,
    make_host,
    make_instance,
    make_snapshot,
    ready_host,
)

COMING = MigView(target_size=2, is_stable=False, counts={"staging": 2})
STAGING = make_host("aaaa", make_instance(status="STAGING"))


def looks(snapshot: GroupSnapshot) -> tuple[Recheck, ...]:
    """The follow-up of a snapshot taken NOW."""
    return follow_up(snapshot, snapshot.states(NOW), POLICY, NOW)


@pytest.mark.parametrize("quiet", [0, 1, 2, 9])
def test_the_next_look_comes_after_a_wait_that_doubles_while_nothing_moves(quiet: int) -> None:
    wait = min(POLICY.follow_up_first * 2**quiet, POLICY.follow_up_max)
    snapshot = make_snapshot(STAGING, mig=COMING, mig_read_at=NOW, quiet_looks=quiet)
    assert looks(snapshot) == (Recheck(NOW + wait, "follow_up", Scope.MIG),)


def test_the_wait_counts_from_the_last_read_whatever_looks_come_in_between() -> None:
    snapshot = make_snapshot(STAGING, mig=COMING, mig_read_at=ago(seconds=3), quiet_looks=9)
    assert looks(snapshot) == (Recheck(after(seconds=5), "follow_up", Scope.MIG),)


def test_a_look_that_is_overdue_is_due_now() -> None:
    snapshot = make_snapshot(STAGING, mig=COMING, mig_read_at=ago(hours=1))
    assert looks(snapshot) == (Recheck(NOW, "follow_up", Scope.MIG),)


@pytest.mark.parametrize(
    "snapshot",
    [
        pytest.param(make_snapshot(mig=COMING, mig_read_at=NOW), id="the MIG counts VMs on their way"),
        pytest.param(make_snapshot(STAGING, mig_read_at=NOW), id="a VM was seen on its way"),
        pytest.param(
            make_snapshot(make_host("aaaa", make_instance(status="STOPPING")), mig_read_at=NOW), id="a VM is leaving"
        ),
        pytest.param(make_snapshot(ready_host(), mig_read_at=NOW), id="the MIG counts a VM that was not found"),
        pytest.param(
            make_snapshot(
                ready_host(),
                ready_host("bbbb", "1002"),
                mig=MigView(2, is_stable=False, counts={"running": 1, "terminated": 1}),
            ),
            id="the MIG counts a VM as lost that was read as running",
        ),
        pytest.param(
            make_snapshot(
                ready_host(), make_host("bbbb", make_instance("bbbb", id="1002"), member=False), mig_read_at=NOW
            ),
            id="a VM that is not of the MIG makes up the number",
        ),
    ],
)
def test_a_group_is_followed_while(snapshot: GroupSnapshot) -> None:
    assert [recheck.kind for recheck in looks(snapshot)] == ["follow_up"]


@pytest.mark.parametrize(
    "snapshot",
    [
        pytest.param(make_snapshot(ready_host(), ready_host("bbbb", "1002")), id="all VMs run"),
        pytest.param(
            make_snapshot(make_host("aaaa", make_instance()), ready_host("bbbb", "1002")),
            id="a VM runs and has not joined",
        ),
        pytest.param(make_snapshot(STAGING, mig=None), id="the MIG was never read"),
        pytest.param(
            make_snapshot(STAGING, mig=COMING, children=children(Kind.POLICY, Kind.TEMPLATE)), id="there is no MIG"
        ),
        pytest.param(
            make_snapshot(STAGING, mig=COMING, children={Kind.MIG: make_child(Kind.MIG, deleting=True)}),
            id="the MIG is being deleted",
        ),
        pytest.param(
            make_snapshot(
                make_host("aaaa", make_instance(status="TERMINATED")),
                ready_host("bbbb", "1002"),
                mig=MigView(2, is_stable=False, counts={"running": 1, "terminated": 1}),
            ),
            id="a VM was taken and nobody brings it back",
        ),
    ],
)
def test_a_group_is_not_followed_when(snapshot: GroupSnapshot) -> None:
    assert looks(snapshot) == ()
