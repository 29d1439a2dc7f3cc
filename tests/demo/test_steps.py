"""What happened, as lines."""

from controller.demo.steps import (
    MANY,
    Rank,
    Step,
    condense,
    joined_before_revoked,
    of_acts,
    of_announcements,
    of_lives,
    of_node,
)
from tests.demo.builders import announce, at, make_act, make_life


def test_a_life_is_told_with_what_its_token_was_because_of() -> None:
    life = make_life(running=(2, 9), tokens=(("a", 3),), deleted=12)
    told = [(step.at, step.text, step.because) for step in of_lives([life], {"a": "instance.inserted"})]
    assert told == [
        (at(2), "vm-a is RUNNING (id 1)", ""),
        (at(9), "vm-a is RUNNING again (id 1)", ""),
        (at(3), "vm-a has its token", "instance.inserted"),
        (at(12), "vm-a is gone (id 1)", ""),
    ]


def test_acts_that_failed_or_tell_nothing_are_left_out() -> None:
    acts = [
        make_act(1, "InsertResource", name="vm-a"),
        make_act(2, "InsertResource", outcome="failed"),
        make_act(3, "SetFinalizers"),
        make_act(4, "DeleteStaleNode", outcome="done"),
    ]
    assert [step.text for step in of_acts(acts)] == [
        "operator creates instances/vm-a",
        "operator deletes the stale Node vm-a",
    ]


def test_what_compute_engine_announced_is_told() -> None:
    assert [step.text for step in of_announcements([announce(1, "hostError")])] == ["Compute Engine: hostError vm-a"]


def test_steps_come_in_the_order_of_time() -> None:
    steps = [Step(at(2), "b"), Step(at(1), "a"), Step(at(3), "c")]
    assert [step.text for step in condense(steps, at(0))] == ["a", "b", "c"]


def test_of_one_moment_causes_come_first_and_what_the_user_does_parts_them() -> None:
    steps = [
        Step(at(1.001), "acts", rank=Rank.ACT),
        Step(at(1.004), "the group is Ready", rank=Rank.CONDITION),
        Step(at(1.003), "joined", rank=Rank.SEEN),
        Step(at(1.0041), "you delete it"),
        Step(at(1.0042), "acts again", rank=Rank.ACT),
    ]
    told = [step.text for step in condense(steps, at(0))]
    assert told == ["joined", "acts", "the group is Ready", "you delete it", "acts again"]


def test_a_node_joins_no_later_than_its_token_is_revoked_because_of_it() -> None:
    life = make_life(running=(2,), tokens=(("abcdef", 3),))
    revoked = make_act(4, "RevokeToken", name="bootstrap-token-abcdef", outcome="done")
    seen = [of_node(at(4.01), "joined", "vm-a"), of_node(at(4.01), "joined", "vm-b"), of_node(at(9), "joined", "vm-a")]
    assert joined_before_revoked(seen, [life], [revoked]) == [of_node(at(4), "joined", "vm-a"), *seen[1:]]


def test_few_of_a_kind_are_told_one_by_one_and_many_as_one() -> None:
    def running(count: int) -> list[Step]:
        return [Step(at(n), f"{n}", f"why-{n % 2}", "running", "{n} VMs are RUNNING") for n in range(count)]

    assert len(condense(running(MANY), at(0))) == MANY
    assert condense(running(MANY + 1), at(0)) == [Step(at(MANY), f"{MANY + 1} VMs are RUNNING", "why-0, why-1")]
