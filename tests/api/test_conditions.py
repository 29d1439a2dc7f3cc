"""Conditions change in place, and their transition time moves with the status alone."""

from datetime import UTC, datetime, timedelta

from controller.api.conditions import Condition, get_condition, set_condition
from controller.api.reasons import ConditionType, Reason

NOON = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)


def _ready(status: str, reason: Reason, message: str = "", generation: int = 1) -> Condition:
    return Condition.model_validate(
        {"type": "Ready", "status": status, "reason": reason, "message": message, "observedGeneration": generation}
    )


def test_a_new_condition_comes_last_and_counts_from_now() -> None:
    first = set_condition((), _ready("False", Reason.PROVISIONING), NOON)
    other = Condition(type=ConditionType.NODES_JOINED, status="False", reason=Reason.PROVISIONING)
    both = set_condition(first, other, NOON + timedelta(seconds=1))
    assert [(c.type, c.last_transition_time) for c in both] == [
        ("Ready", NOON),
        ("NodesJoined", NOON + timedelta(seconds=1)),
    ]


def test_another_reason_does_not_move_the_time() -> None:
    before = set_condition((), _ready("False", Reason.PROVISIONING), NOON)
    after = set_condition(before, _ready("False", Reason.STOCKOUT, "no capacity", 2), NOON + timedelta(hours=1))
    assert after == (
        Condition(
            type="Ready",
            status="False",
            reason="Stockout",
            message="no capacity",
            last_transition_time=NOON,
            observed_generation=2,
        ),
    )


def test_another_status_moves_the_time_and_keeps_the_place() -> None:
    joined = Condition(type=ConditionType.NODES_JOINED, status="False", reason=Reason.PROVISIONING)
    before = set_condition(set_condition((), _ready("False", Reason.PROVISIONING), NOON), joined, NOON)
    after = set_condition(before, _ready("True", Reason.READY), NOON + timedelta(hours=1))
    assert [(c.type, c.status, c.last_transition_time) for c in after] == [
        ("Ready", "True", NOON + timedelta(hours=1)),
        ("NodesJoined", "False", NOON),
    ]


def test_a_condition_is_found_by_its_type() -> None:
    conditions = set_condition((), _ready("True", Reason.READY), NOON)
    assert get_condition(conditions, ConditionType.READY) == conditions[0]
    assert get_condition(conditions, ConditionType.EVENTS_FLOWING) is None


def test_a_time_is_written_as_kubernetes_writes_it() -> None:
    at = datetime(2026, 1, 31, 13, 0, 0, 999999, tzinfo=UTC)
    (condition,) = set_condition((), _ready("True", Reason.READY), at)
    assert condition.to_manifest() == {
        "type": "Ready",
        "status": "True",
        "reason": "Ready",
        "message": "",
        "lastTransitionTime": "2026-01-31T13:00:00Z",
        "observedGeneration": 1,
    }


def test_every_reason_is_one_that_kubernetes_takes() -> None:
    assert [reason for reason in Reason if not reason.value.isalpha() or not reason.value[0].isupper()] == []
