"""From RUNNING, and from the event, to the token."""

import pytest

from controller.demo.measure import event_to_token, injections, nearest_rank, running_to_token, summary
from tests.demo.builders import make_act, make_life


def test_running_to_token_counts_from_the_worlds_running() -> None:
    found = injections([make_life(running=(2,), tokens=(("a", 2.9),))], [make_act(2.8)])
    assert running_to_token(found) == pytest.approx([900])


def test_a_restarted_vm_counts_from_its_last_running_before_the_token() -> None:
    found = injections([make_life(running=(2, 7, 12), tokens=(("a", 8),))], [make_act(7.9)])
    assert running_to_token(found) == pytest.approx([1000])


def test_event_to_token_counts_from_the_publication_when_it_came_after_running() -> None:
    found = injections([make_life(running=(2,), tokens=(("a", 2.6),))], [make_act(2.55, cause_at=2.5)])
    assert event_to_token(found) == pytest.approx([100])


def test_event_to_token_counts_from_running_when_the_entry_was_published_before() -> None:
    found = injections([make_life(running=(2,), tokens=(("a", 2.6),))], [make_act(2.55, cause_at=1)])
    assert event_to_token(found) == pytest.approx([600])


@pytest.mark.parametrize(
    ("kind", "cause"),
    [
        ("instance.inserted.last", "insert_last"),
        ("instance.bootstrap.booted", "booted"),
        ("follow_up", "follow_up"),
    ],
)
def test_causes_are_told_apart(kind: str, cause: str) -> None:
    found = injections([make_life()], [make_act(2.9, cause=kind)])
    by_cause = {each: len(event_to_token(found, each)) for each in ("insert_last", "booted", "follow_up")}
    assert by_cause == {"insert_last": 0, "booted": 0, "follow_up": 0} | {cause: 1}


@pytest.mark.parametrize("other", ["node", "instance.inserted.first", "resync"])
def test_another_cause_counts_in_the_whole_and_in_no_part(other: str) -> None:
    found = injections([make_life()], [make_act(2.9, cause=other)])
    assert len(event_to_token(found)) == 1
    assert [event_to_token(found, cause) for cause in ("insert_last", "booted", "follow_up")] == [(), (), ()]


def test_the_look_is_the_last_injection_on_that_id_that_began_before_the_effect() -> None:
    acts = [
        make_act(2.8, cause="follow_up", cause_at=2.7),
        make_act(2.9, cause_at=2.85),
        make_act(3.1, cause="resync", cause_at=3.1),
        make_act(2.95, name="vm-a@2", cause="resync"),
        make_act(2.96, action="MintToken", cause="resync"),
        make_act(2.97, outcome="begun", cause="resync"),
    ]
    (found,) = injections([make_life(tokens=(("a", 3),))], acts)
    assert found.act == acts[1]


def test_two_incarnations_of_one_name_have_a_look_each() -> None:
    lives = [
        make_life(instance_id="1", running=(2,), tokens=(("a", 3),), deleted=5),
        make_life(instance_id="2", created=6, running=(7,), tokens=(("b", 8),)),
    ]
    found = injections(lives, [make_act(2.9), make_act(7.9, name="vm-a@2", cause_at=7.5)])
    assert event_to_token(found) == pytest.approx([500, 500])


def test_a_token_without_an_audit_record_is_measured_from_running_alone() -> None:
    found = injections([make_life(running=(2,), tokens=(("a", 3),))], [])
    assert running_to_token(found) == pytest.approx([1000])
    assert event_to_token(found) == ()


def test_percentiles_are_nearest_rank() -> None:
    hundred = [float(number) for number in range(1, 101)]
    assert (nearest_rank(hundred, 50), nearest_rank(hundred, 99)) == (50, 99)
    assert (nearest_rank([1, 2, 3], 50), nearest_rank([1, 2, 3], 99)) == (2, 3)


def test_the_summary_of_nothing_has_no_numbers() -> None:
    assert summary([]) == {"n": 0, "p50": None, "p99": None, "max": None}
    assert summary([3, 1.25, 2]) == {"n": 3, "p50": 2, "p99": 3, "max": 3}
