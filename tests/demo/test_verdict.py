"""What must hold in every demo."""

from controller.demo.verdict import breaches
from tests.demo.builders import announce, make_life, make_node, make_secret


def test_a_vm_with_one_token_after_running_is_in_order() -> None:
    assert breaches([make_life()], [make_node()], make_secret(), []) == []


def test_a_second_token_for_the_same_id_is_a_breach() -> None:
    life = make_life(tokens=(("a", 3), ("b", 4)))
    assert breaches([life], [], {}, []) == ["vm-a (id 1) got 2 tokens; one is enough for one incarnation"]


def test_a_token_before_running_is_a_breach() -> None:
    life = make_life(running=(5,), tokens=(("a", 3),))
    assert breaches([life], [], {}, []) == ["vm-a (id 1) got its token while it was not RUNNING"]


def test_a_token_between_a_host_error_and_the_restart_is_a_breach() -> None:
    life = make_life(running=(2, 9), tokens=(("a", 6),))
    stopped = [announce(5, "hostError")]
    assert breaches([life], [], {}, stopped) == ["vm-a (id 1) got its token while it was not RUNNING"]


def test_a_token_after_the_restart_is_in_order() -> None:
    life = make_life(running=(2, 7), tokens=(("a", 8),))
    assert breaches([life], [], {}, [announce(5, "hostError"), announce(5, "preempted", "vm-b")]) == []


def test_a_token_after_the_end_of_the_vm_is_a_breach() -> None:
    life = make_life(tokens=(("a", 3),), deleted=2.5)
    assert breaches([life], [], {}, []) == ["vm-a (id 1) got its token while it was not RUNNING"]


def test_a_token_minted_while_the_stale_node_is_there_is_a_breach() -> None:
    life = make_life(instance_id="2")
    said = "vm-a (id 2) got a token while the Node of its predecessor (id 1) was still there"
    for gone in (None, 21):
        stale = make_node(instance_id="1", born_revision=10, gone_revision=gone)
        assert breaches([life], [stale], make_secret(revision=20), []) == [said]


def test_a_token_minted_after_the_stale_node_was_gone_is_in_order() -> None:
    stale = make_node(instance_id="1", born_revision=10, gone_revision=19)
    own = make_node(instance_id="2", born_revision=30)
    assert breaches([make_life(instance_id="2")], [stale, own], make_secret(revision=20), []) == []
