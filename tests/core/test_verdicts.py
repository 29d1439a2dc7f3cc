"""Failures in the words of a condition, and a status whose look could not be finished."""

import pytest

from controller.api.conditions import Condition
from controller.api.reasons import Reason
from controller.api.resources import TPUNodeGroupStatus, WorkloadPolicy, WorkloadPolicyStatus
from controller.core.failures import Bug, Failure, NoCapacity, Rejected, Retry
from controller.core.observed import OperationError
from controller.core.verdicts import Verdict, creation_verdict, failed_status, failure_verdict
from tests.core.builders import NOW, make_condition, make_group


@pytest.mark.parametrize(
    ("failure", "operation", "reason"),
    [
        (NoCapacity("x", "ZONE_RESOURCE_POOL_EXHAUSTED"), True, Reason.STOCKOUT),
        (NoCapacity("x", "QUOTA_EXCEEDED"), False, Reason.QUOTA_EXCEEDED),
        (Rejected("x"), False, Reason.REQUEST_REJECTED),
        (Rejected("x"), True, Reason.OPERATION_FAILED),
        (Bug("x"), True, Reason.OPERATION_FAILED),
        (Retry("x"), False, Reason.RECONCILE_ERROR),
    ],
)
def test_a_failure_has_its_reason(failure: Failure, operation: bool, reason: Reason) -> None:  # noqa: FBT001
    assert failure_verdict(failure, operation=operation) == Verdict("False", reason, str(failure))


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("ZONE_RESOURCE_POOL_EXHAUSTED", Reason.STOCKOUT),
        ("QUOTA_EXCEEDED", Reason.QUOTA_EXCEEDED),
        ("INVALID_USAGE", Reason.INSTANCES_CREATION_FAILED),
    ],
)
def test_what_keeps_a_group_from_making_its_vms_has_its_reason(code: str, reason: Reason) -> None:
    verdict = creation_verdict(OperationError(code, "No."))
    assert (verdict.status, verdict.reason) == ("False", reason)
    assert verdict.message.startswith("No. ")


def unfinished(since: Condition) -> tuple[Condition, ...]:
    """The conditions after a look that could not be finished."""
    said = {"status": "Unknown", "reason": "ReconcileError", "message": "no answer (504)", "last_transition_time": NOW}
    return (since.model_copy(update=said),)


def test_a_look_at_a_child_that_could_not_be_finished_changes_nothing_but_ready() -> None:
    before = make_condition()
    old = WorkloadPolicyStatus(conditions=(before,), uri="u", request_id="r1", operation_name="op-1")
    policy = WorkloadPolicy.model_validate({"metadata": {"name": "p", "generation": 1}})
    told = failed_status(policy, old, Retry("no answer", "504"), NOW)
    assert told == old.model_copy(update={"conditions": unfinished(before)})


def test_a_look_at_a_group_that_could_not_be_finished_changes_nothing_but_ready() -> None:
    before = make_condition()
    old = TPUNodeGroupStatus(conditions=(before,), nodes_ready="2/2", observed_generation=1)
    told = failed_status(make_group(status=old), old, Retry("no answer", "504"), NOW)
    assert told == old.model_copy(update={"conditions": unfinished(before)})
