"""What a child's status says after a look."""

from typing import Any

import pytest

from controller.api.conditions import Condition
from controller.api.reasons import Reason
from controller.api.resources import (
    ChildStatus,
    ManagedInstanceGroupStatus,
    WorkloadPolicyStatus,
)
from controller.core.actions import DeleteResource, InsertResource, Outcome
from controller.core.child import ChildPlan, plan_child
from controller.core.child_status import child_status
from controller.core.failures import Conflict, Failure, Rejected, Retry
from controller.core.model import Kind
from controller.core.observed import MigView, OperationError, OperationView
from controller.core.plan import Plan
from controller.core.verdicts import Verdict
from tests.core.builders import (
    NOW,
    POLICY,
    ago,
    make_child_snapshot,
    make_condition,
    make_ref,
    make_resource,
)

REF = make_ref()
MIG_PATH = make_ref(Kind.MIG).path


def told(*outcomes: Outcome, decided: ChildPlan | None = None, kind: Kind = Kind.POLICY, **world: Any) -> ChildStatus:
    """The status after the look that these outcomes came of."""
    snapshot = make_child_snapshot(kind, **world)
    return child_status(snapshot, decided or plan_child(snapshot, POLICY, NOW), outcomes, NOW)


def ready(status: ChildStatus) -> tuple[str, str, str]:
    """Status, reason and message of Ready."""
    (condition,) = status.conditions
    assert (condition.type, condition.observed_generation) == ("Ready", 1)
    return condition.status, condition.reason, condition.message


def inserted(result: OperationView | Failure) -> Outcome:
    """What became of the insert with id r1."""
    action = InsertResource(REF, {}, "r1")
    return Outcome(action, failure=result) if isinstance(result, Failure) else Outcome(action, result)


REQUESTED = WorkloadPolicyStatus(request_id="r1")
ACCEPTED = OperationView("op-1", done=False)


def test_the_look_that_decides_to_create_writes_the_request_id() -> None:
    assert told() == WorkloadPolicyStatus(
        conditions=(
            Condition(
                type="Ready",
                status="False",
                reason=Reason.PROVISIONING,
                message=f"{REF.path} is being created",
                last_transition_time=NOW,
                observed_generation=1,
            ),
        ),
        request_id="fresh-id",
        observed_generation=1,
    )


def test_an_accepted_insert_is_written_with_its_operation() -> None:
    status = told(inserted(ACCEPTED), status=REQUESTED)
    assert (status.request_id, status.operation_name, status.operation_type) == ("r1", "op-1", "CREATE")


def test_an_accepted_deletion_is_written_with_its_operation() -> None:
    outcome = Outcome(DeleteResource(REF, "r2"), OperationView("op-2", done=False))
    status = told(outcome, resource=make_resource(), deleting=True)
    assert (status.request_id, status.operation_name, status.operation_type) == (None, "op-2", "DELETE")
    assert ready(status) == ("False", "DeletingPolicy", f"{REF.path} is being deleted")


def test_an_operation_that_is_awaited_stays_as_it_was_written() -> None:
    waiting = WorkloadPolicyStatus(request_id="r1", operation_name="op-1", operation_type="CREATE")
    status = told(status=waiting, operation=ACCEPTED, read=False)
    assert (status.request_id, status.operation_name, status.operation_type) == ("r1", "op-1", "CREATE")


@pytest.mark.parametrize(
    ("failure", "request_id"),
    [
        pytest.param(Retry("timeout"), "r1", id="its outcome is unknown"),
        pytest.param(Retry("429", unknown_outcome=False), None, id="it certainly did nothing"),
        pytest.param(Rejected("no permission"), None, id="it was refused"),
        pytest.param(Conflict("exists"), None, id="somebody was first"),
    ],
)
def test_the_request_id_of_a_failed_insert_is_kept_only_if(failure: Failure, request_id: str | None) -> None:
    assert told(inserted(failure), status=REQUESTED).request_id == request_id


def test_a_resource_that_is_there_is_told_with_its_link_and_id() -> None:
    assert told(resource=make_resource(), status=REQUESTED) == WorkloadPolicyStatus(
        conditions=(make_ready("True", Reason.CREATED, f"{REF.path} exists"),),
        uri=REF.path,
        resource_id="4711",
        observed_generation=1,
    )


def make_ready(status: str, reason: str, message: str) -> Condition:
    """A Ready condition that changed now."""
    verdict = Verdict(status, reason, message)  # type: ignore[arg-type]
    return verdict.condition("Ready", NOW, 1)


def test_an_adoption_is_told() -> None:
    status = told(resource=make_resource(description=""))
    assert (status.adopted, status.resource_id) == (True, "4711")


def test_a_resource_of_somebody_else_is_named_and_not_linked() -> None:
    status = told(resource=make_resource(description="mine"))
    assert isinstance(status, WorkloadPolicyStatus)
    assert (status.uri, status.resource_id, status.adopted) == (None, None, None)
    assert ready(status) == (
        "False",
        "NotOurs",
        (
            f"{REF.path} exists and is not of this object (its description is 'mine'); it is left alone. "
            "Delete it, or use another name"
        ),
    )


def test_a_spec_that_gce_cannot_take_is_told_with_what_to_change() -> None:
    assert ready(told(rejection="write another subnetwork")) == (
        "False",
        "RequestRejected",
        "write another subnetwork",
    )


def test_what_a_deletion_waits_for_is_told() -> None:
    status = told(deleting=True, blocked_by="the MIG to be gone", resource=make_resource())
    assert ready(status) == ("False", "DeletingPolicy", "waits for the MIG to be gone")


@pytest.mark.parametrize(
    ("kind", "reason"),
    [(Kind.MIG, "DeletingMIG"), (Kind.TEMPLATE, "DeletingTemplate"), (Kind.POLICY, "DeletingPolicy")],
)
def test_each_kind_has_its_own_word_for_its_deletion(kind: Kind, reason: str) -> None:
    assert ready(told(kind=kind, deleting=True, resource=make_resource(kind)))[1] == reason


def test_a_failed_operation_is_told_and_forgotten() -> None:
    failed = OperationView("op-1", done=True, error=OperationError("QUOTA_EXCEEDED", "Quota exceeded."))
    waiting = WorkloadPolicyStatus(request_id="r1", operation_name="op-1", operation_type="CREATE")
    status = told(status=waiting, operation=failed)
    assert (status.request_id, status.operation_name, status.operation_type) == (None, None, None)
    assert ready(status)[:2] == ("False", "QuotaExceeded")


@pytest.mark.parametrize("reason", [Reason.QUOTA_EXCEEDED, Reason.REQUEST_REJECTED, Reason.OPERATION_FAILED])
def test_a_trouble_stays_readable_while_the_next_attempt_runs(reason: Reason) -> None:
    old = WorkloadPolicyStatus(conditions=(make_condition("False", reason, "as it was"),), request_id="r1")
    assert ready(told(inserted(ACCEPTED), status=old)) == ("False", reason, "as it was")


def test_the_transition_time_moves_with_the_status_alone() -> None:
    old = WorkloadPolicyStatus(conditions=(make_condition("False", "RequestRejected"),))
    (same,) = told(status=old).conditions
    (other,) = told(status=old, resource=make_resource()).conditions
    assert (same.last_transition_time, other.last_transition_time) == (ago(minutes=5), NOW)


@pytest.mark.parametrize(
    ("state", "verdict"),
    [
        ("READY", ("True", "Created", f"{REF.path} exists")),
        ("CREATING", ("False", "Provisioning", f"{REF.path} is CREATING")),
        ("INVALID", ("False", "OperationFailed", f"{REF.path} is INVALID; delete this object")),
        ("EXPIRED", ("False", "OperationFailed", f"{REF.path} is EXPIRED; delete this object")),
    ],
)
def test_a_policy_is_ready_when_gce_says_so(state: str, verdict: tuple[str, str, str]) -> None:
    assert ready(told(resource=make_resource(status=state))) == verdict


STOCKOUT = OperationError("ZONE_RESOURCE_POOL_EXHAUSTED", "No more capacity.")


@pytest.mark.parametrize(
    ("mig", "verdict"),
    [
        pytest.param(
            MigView(2, is_stable=True, counts={"running": 2}),
            ("True", "Created", f"all 2 VMs of {MIG_PATH} run"),
            id="all run",
        ),
        pytest.param(
            MigView(2, is_stable=False, counts={"running": 1, "staging": 1}),
            ("False", "Unstable", f"1 of 2 VMs of {MIG_PATH} run"),
            id="one is awaited",
        ),
        pytest.param(
            MigView(2, is_stable=True),
            ("False", "Unstable", f"0 of 2 VMs of {MIG_PATH} run"),
            id="stable without counts proves nothing",
        ),
        pytest.param(
            MigView(0, is_stable=True), ("True", "Created", f"all 0 VMs of {MIG_PATH} run"), id="none is wanted"
        ),
        pytest.param(
            MigView(2, is_stable=False, counts={"running": 2}, bulk_in_progress=True),
            ("False", "Unstable", f"2 of 2 VMs of {MIG_PATH} run"),
            id="a bulk request still runs",
        ),
        pytest.param(
            MigView(2, is_stable=False, counts={"nonExistent": 2}, bulk_in_progress=True, bulk_error=STOCKOUT),
            (
                "False",
                "Stockout",
                "No more capacity. GCE has no capacity now; it is asked again. (ZONE_RESOURCE_POOL_EXHAUSTED)",
            ),
            id="it waits for capacity",
        ),
        pytest.param(
            MigView(2, is_stable=False, counts={"nonExistent": 2}, bulk_error=OperationError("NEVER_SEEN", "Odd.")),
            ("False", "InstancesCreationFailed", "Odd. (NEVER_SEEN)"),
            id="it cannot make them",
        ),
    ],
)
def test_a_mig_is_ready_when_all_its_vms_run(mig: MigView, verdict: tuple[str, str, str]) -> None:
    status = told(kind=Kind.MIG, status=ManagedInstanceGroupStatus(), resource=make_resource(Kind.MIG, mig=mig))
    assert ready(status) == verdict
    assert isinstance(status, ManagedInstanceGroupStatus)
    assert status.url == MIG_PATH


def test_a_status_said_twice_is_the_same() -> None:
    first = told(resource=make_resource())
    assert told(resource=make_resource(), status=first) == first


def test_an_empty_plan_of_a_foreign_resource_asks_for_nothing() -> None:
    decided = plan_child(make_child_snapshot(resource=make_resource(description="mine")), POLICY, NOW)
    assert decided.plan == Plan()
