"""A slice of several hosts is one unit: its cordon comes with the first loss, stays, and goes when it is whole."""

import pytest

from controller.core.actions import Action, Cordon, Uncordon
from controller.core.join import Host
from controller.core.slice_health import cordon_actions, cordon_all
from tests.core.builders import MARK, make_host, make_instance, make_state, ready_host, vm

LOST = make_host("aaaa", make_instance(status="TERMINATED"))
READY = ready_host("bbbb", "1002")
CORDON_B = Cordon(vm("bbbb"), "node-uid-bbbb", MARK)


def cordons(*hosts: Host, is_slice: bool = True, was_ready: bool = False, whole: bool = False) -> tuple[Action, ...]:
    """What becomes of the cordons of these hosts."""
    states = [make_state(host) for host in hosts]
    return cordon_actions(states, mark=MARK, is_slice=is_slice, was_ready=was_ready, whole=whole)


def test_the_loss_of_one_host_cordons_the_others() -> None:
    assert cordons(LOST, READY) == (CORDON_B,)


def test_the_node_of_the_lost_host_is_cordoned_too() -> None:
    lost = ready_host("aaaa")
    lost = make_host("aaaa", make_instance(status="STOPPING"), lost.node)
    assert cordons(lost, READY) == (Cordon(vm("aaaa"), "node-uid-aaaa", MARK), CORDON_B)


def test_hosts_of_their_own_do_not_care_for_one_another() -> None:
    assert cordons(LOST, READY, is_slice=False) == ()


def test_a_slice_that_comes_up_is_not_cordoned() -> None:
    assert cordons(make_host("aaaa", make_instance(status="STAGING")), READY) == ()


@pytest.mark.parametrize(
    "host",
    [
        pytest.param(make_host("aaaa", make_instance(status="STAGING")), id="starts again"),
        pytest.param(make_host("aaaa", make_instance()), id="runs without its Node"),
        pytest.param(make_host("aaaa"), id="is gone"),
    ],
)
def test_a_slice_that_was_ready_is_broken_when_a_host(host: Host) -> None:
    assert cordons(host, READY, was_ready=True) == (CORDON_B,)


def test_a_node_that_is_not_ready_for_a_while_breaks_nothing() -> None:
    assert cordons(ready_host("aaaa", ready=False), READY, was_ready=True) == ()


def test_the_cordon_is_the_memory_of_the_loss_until_the_slice_is_whole() -> None:
    joined = ready_host("aaaa", ready=False, cordoned_by=MARK)
    assert cordons(joined, READY) == (CORDON_B,)


def test_a_whole_slice_loses_our_cordon_and_nobody_elses() -> None:
    ours = ready_host("aaaa", cordoned_by=MARK)
    users = ready_host("bbbb", "1002", unschedulable=True)
    other_groups = ready_host("cccc", "1003", cordoned_by="default/other")
    assert cordons(ours, users, other_groups, whole=True) == (Uncordon(vm("aaaa"), "node-uid-aaaa"),)


def test_a_node_that_is_cordoned_already_is_left_as_it_is() -> None:
    states = [make_state(ready_host("aaaa", unschedulable=True)), make_state(READY)]
    assert cordon_all(states, mark=MARK) == (CORDON_B,)
