"""One look at a child: the order of steps that makes a crash between any two of them harmless."""

from datetime import datetime
from typing import Any

import pytest

from controller.api.constants import FINALIZER
from controller.api.resources import (
    ChildStatus,
    InstanceTemplateStatus,
    ManagedInstanceGroupStatus,
    WorkloadPolicyStatus,
)
from controller.core.actions import Action, DeleteResource, InsertResource, Outcome, SetFinalizers
from controller.core.child import (
    ChildPlan,
    ChildSnapshot,
    child_rechecks,
    is_ours,
    link_of,
    outcome_is_known,
    plan_child,
)
from controller.core.failures import Bug, Conflict, Failure, Gone, NoCapacity, Rejected, Retry
from controller.core.model import Kind, Scope
from controller.core.observed import MigView, OperationError, OperationView
from controller.core.plan import Plan, Recheck
from tests.core.builders import (
    NOW,
    POLICY,
    after,
    ago,
    make_child_snapshot,
    make_ref,
    make_resource,
)

REFERENCE = "tpu.google.com/workloadpolicy-cleanup"
REF = make_ref()


def plan(**world: Any) -> ChildPlan:
    """What is decided of a look at the policy at NOW."""
    return plan_child(make_child_snapshot(**world), POLICY, NOW)


def status(**fields: Any) -> ChildStatus:
    """A policy's status."""
    return WorkloadPolicyStatus(**fields)


def act(*actions: Action, request_id: str = "", operation: str = "", failure: Failure | None = None) -> ChildPlan:
    """A plan of these actions."""
    return ChildPlan(Plan(actions), request_id, operation, failure)


def insert(request_id: str) -> InsertResource:
    """The creation of the policy's resource."""
    return InsertResource(REF, {"name": REF.name}, request_id)


def finalizers(*names: str) -> SetFinalizers:
    """The finalizers that are written."""
    return SetFinalizers(make_child_snapshot().key, "12", names)


DELETE = DeleteResource(REF, "fresh-id")
RUNNING_OPERATION = OperationView("op-1", done=False, operation_type="insert")
DONE = OperationView("op-1", done=True, operation_type="insert")
OBSERVE = (Recheck(NOW, "observe", Scope.MIG),)


class TestFinalizers:
    def test_ours_is_set_before_anything_else(self) -> None:
        assert plan(finalizers=("x",)) == act(finalizers("x", FINALIZER))

    def test_ours_is_set_although_the_resource_is_there(self) -> None:
        assert plan(finalizers=(), resource=make_resource()) == act(finalizers(FINALIZER))

    def test_an_object_that_is_deleted_before_it_had_ours_is_left_alone(self) -> None:
        assert plan(finalizers=("x",), deleting=True) == act()

    def test_the_references_stay_until_the_adoption_is_written_to_the_status(self) -> None:
        unmarked = make_resource(description="")
        assert plan(finalizers=(REFERENCE, FINALIZER), resource=unmarked) == act()

    def test_the_references_go_once_it_is(self) -> None:
        adopted = status(uri=REF.path, adopted=True)
        unmarked = make_resource(description="")
        assert plan(finalizers=("x", REFERENCE, FINALIZER), resource=unmarked, status=adopted) == act(
            finalizers("x", FINALIZER)
        )


class TestCreation:
    def test_the_request_id_is_written_before_it_is_used(self) -> None:
        assert plan() == ChildPlan(Plan(), "fresh-id", "", again=True)

    def test_then_the_resource_is_inserted_with_it(self) -> None:
        assert plan(status=status(request_id="r1"), request_unsent=True) == act(insert("r1"), request_id="r1")

    def test_an_insert_of_unknown_outcome_is_sent_again_with_the_same_id(self) -> None:
        assert plan(status=status(request_id="r1")) == act(insert("r1"), request_id="r1")

    def test_nothing_is_inserted_by_a_look_that_did_not_read(self) -> None:
        assert plan(read=False) == ChildPlan(Plan((), OBSERVE), "", "")
        assert plan(read=False, status=status(request_id="r1")) == ChildPlan(Plan((), OBSERVE), "r1", "")

    def test_a_spec_that_gce_cannot_take_is_not_sent(self) -> None:
        assert plan(rejection="change it") == act()

    def test_a_resource_that_is_there_ends_the_request(self) -> None:
        assert plan(resource=make_resource(), status=status(request_id="r1")) == act()

    def test_a_resource_that_is_there_needs_no_read(self) -> None:
        assert plan(resource=make_resource(), read=False) == act()

    def test_a_resource_of_somebody_else_is_left_alone(self) -> None:
        assert plan(resource=make_resource(description="mine")) == ChildPlan(Plan(), "", "", not_ours=True)


class TestOperations:
    def test_a_running_operation_is_awaited_with_its_request(self) -> None:
        world = {"status": status(request_id="r1", operation_name="op-1"), "operation": RUNNING_OPERATION}
        assert plan(**world, read=False, operation_since=ago(seconds=6)) == ChildPlan(
            Plan((), (Recheck(after(seconds=9), "operation", Scope.MIG),)), "r1", "op-1"
        )

    def test_an_operation_that_was_not_asked_for_is_awaited(self) -> None:
        world = {"status": status(request_id="r1", operation_name="op-1"), "operation": None}
        assert plan(**world, read=False) == ChildPlan(
            Plan((), (Recheck(after(seconds=5), "operation", Scope.MIG),)), "r1", "op-1"
        )

    def test_a_finished_one_ends_the_request(self) -> None:
        world = {"status": status(request_id="r1", operation_name="op-1"), "operation": DONE}
        assert plan(**world, resource=make_resource()) == act()

    def test_a_finished_one_without_its_resource_is_tried_anew_with_a_new_id(self) -> None:
        world = {"status": status(request_id="r1", operation_name="op-1"), "operation": DONE}
        assert plan(**world) == ChildPlan(Plan(), "fresh-id", "", again=True)

    def test_one_that_gce_has_forgotten_is_judged_by_the_resource(self) -> None:
        world = {"status": status(request_id="r1", operation_name="op-1"), "operation": None}
        assert plan(**world, resource=make_resource()) == act()
        assert plan(**world) == ChildPlan(Plan(), "fresh-id", "", again=True)

    @pytest.mark.parametrize(
        ("code", "cls"),
        [("QUOTA_EXCEEDED", NoCapacity), ("INVALID", Rejected), ("INTERNAL_ERROR", Retry), ("NEVER_SEEN", Bug)],
    )
    def test_a_failed_one_is_told_and_tried_anew_by_a_later_look(self, code: str, cls: type[Failure]) -> None:
        failed = OperationView("op-1", done=True, operation_type="insert", error=OperationError(code, "It failed."))
        decided = plan(status=status(request_id="r1", operation_name="op-1"), operation=failed)
        assert (decided.plan, decided.request_id, decided.operation_name, decided.again) == (Plan(), "", "", False)
        assert isinstance(decided.failure, cls)


class TestDeletion:
    def test_a_resource_of_ours_is_deleted(self) -> None:
        assert plan(deleting=True, resource=make_resource()) == act(DELETE)

    def test_one_that_was_adopted_from_the_reference_is_deleted(self) -> None:
        assert plan(deleting=True, resource=make_resource(description="")) == act(DELETE)

    def test_it_waits_for_what_must_go_first(self) -> None:
        decided = plan(deleting=True, resource=make_resource(), blocked_by="the MIG to be gone")
        assert decided == ChildPlan(Plan((), (Recheck(after(seconds=60), "blocked", Scope.NONE),)), "", "")

    def test_a_deletion_that_was_accepted_is_not_a_finished_one(self) -> None:
        deletion = OperationView("op-2", done=False, operation_type="delete")
        decided = plan(deleting=True, status=status(operation_name="op-2"), operation=deletion, read=False)
        assert decided == ChildPlan(Plan((), (Recheck(after(seconds=5), "operation", Scope.MIG),)), "", "op-2")

    def test_the_finalizer_goes_when_gce_answers_404(self) -> None:
        assert plan(deleting=True, finalizers=("x", FINALIZER)) == act(finalizers("x"))

    def test_a_404_of_what_nobody_here_deleted_is_proved_by_a_deletion(self) -> None:
        assert plan(deleting=True, status=status(uri=REF.path)) == act(DELETE)

    def test_after_a_deletion_of_ours_a_404_is_proof_enough(self) -> None:
        told = status(uri=REF.path, operation_name="op-2", operation_type="DELETE")
        deletion = OperationView("op-2", done=True, operation_type="delete")
        assert plan(deleting=True, status=told, operation=deletion) == act(finalizers())
        assert plan(deleting=True, status=told, operation=None) == act(finalizers())

    def test_a_404_of_an_earlier_look_is_not_believed(self) -> None:
        assert plan(deleting=True, read=False) == ChildPlan(Plan((), OBSERVE), "", "")

    def test_a_resource_of_somebody_else_is_left_alone_and_let_go(self) -> None:
        assert plan(deleting=True, resource=make_resource(description="mine")) == act(finalizers())

    def test_an_insert_of_unknown_outcome_is_replayed_before_letting_go(self) -> None:
        assert plan(deleting=True, status=status(request_id="r1")) == act(insert("r1"), request_id="r1")

    def test_one_that_was_never_sent_is_not(self) -> None:
        decided = plan(deleting=True, status=status(request_id="r1"), request_unsent=True)
        assert decided == act(finalizers(), request_id="r1")

    def test_an_insert_that_failed_in_its_operation_left_nothing(self) -> None:
        failed = OperationView("op-1", done=True, error=OperationError("QUOTA_EXCEEDED", "No."))
        decided = plan(deleting=True, status=status(request_id="r1", operation_name="op-1"), operation=failed)
        assert decided.plan == Plan((finalizers(),))

    def test_a_deletion_that_failed_in_its_operation_is_told_and_tried_anew_by_a_later_look(self) -> None:
        failed = OperationView("op-2", done=True, error=OperationError("INTERNAL_ERROR", "No."))
        told = status(operation_name="op-2", operation_type="DELETE")
        decided = plan(deleting=True, resource=make_resource(), status=told, operation=failed)
        assert (decided.plan, decided.operation_name) == (Plan(), "")
        assert isinstance(decided.failure, Retry)

    def test_a_creation_that_failed_does_not_delay_the_deletion_of_what_it_left(self) -> None:
        failed = OperationView("op-1", done=True, error=OperationError("QUOTA_EXCEEDED", "No."))
        told = status(request_id="r1", operation_name="op-1", operation_type="CREATE")
        assert plan(deleting=True, resource=make_resource(), status=told, operation=failed).plan == Plan((DELETE,))


@pytest.mark.parametrize(
    ("description", "owned", "ours"),
    [
        pytest.param(None, True, True, id="our mark"),
        pytest.param(None, False, True, id="our mark on one that was applied on its own"),
        pytest.param("", True, True, id="no mark, and a name that only the reference gives"),
        pytest.param("", False, False, id="no mark, and a name that anybody may give"),
        pytest.param("another's", True, False, id="another mark"),
    ],
)
def test_a_resource_is_ours_by_its_mark(description: str | None, owned: bool, ours: bool) -> None:  # noqa: FBT001
    resource = make_resource(description=description)
    assert is_ours(make_child_snapshot(owned=owned), resource) is ours


@pytest.mark.parametrize(
    ("told", "link"),
    [
        (WorkloadPolicyStatus(uri="u"), "u"),
        (InstanceTemplateStatus(uri="u"), "u"),
        (ManagedInstanceGroupStatus(url="u"), "u"),
        (ManagedInstanceGroupStatus(), ""),
        (ChildStatus(), ""),
    ],
)
def test_where_a_status_says_the_resource_is(told: ChildStatus, link: str) -> None:
    assert link_of(told) == link


@pytest.mark.parametrize(
    ("failure", "known"),
    [
        (Retry("x"), False),
        (Retry("x", unknown_outcome=False), True),
        (Rejected("x"), True),
        (NoCapacity("x"), True),
        (Conflict("x"), True),
        (Gone("x"), True),
    ],
    ids=["a timeout", "a rate limit", "a refusal", "a stockout", "a conflict", "a 404"],
)
def test_the_outcome_of_an_insert_is_known_after(failure: Failure, known: bool) -> None:  # noqa: FBT001
    assert outcome_is_known(failure) is known


ACCEPTED = Outcome(insert("r1"), OperationView("op-1", done=False))
COMING = MigView(2, is_stable=False, counts={"staging": 2})


def rechecks(snapshot: ChildSnapshot, *outcomes: Outcome, quiet: int = 0, follows: bool = True) -> tuple[Recheck, ...]:
    """The further looks that a child asks for."""
    return child_rechecks(snapshot, outcomes, POLICY, NOW, quiet_looks=quiet, follows=follows)


def operation_look(at: datetime) -> tuple[Recheck, ...]:
    """A back-stop look."""
    return (Recheck(at, "operation", Scope.MIG),)


def test_an_operation_has_a_back_stop_look_in_case_its_event_is_lost() -> None:
    assert rechecks(make_child_snapshot(), ACCEPTED) == operation_look(after(seconds=5))


def test_a_policy_that_is_not_ready_yet_is_looked_at_again() -> None:
    assert rechecks(make_child_snapshot(resource=make_resource(status="CREATING"))) == operation_look(after(seconds=5))


@pytest.mark.parametrize(("quiet", "seconds"), [(0, 1), (1, 2), (9, 32)])
def test_a_mig_on_its_own_follows_its_vms(quiet: int, seconds: int) -> None:
    snapshot = make_child_snapshot(Kind.MIG, owned=False, resource=make_resource(Kind.MIG, mig=COMING))
    wait = min(POLICY.follow_up_first * seconds, POLICY.follow_up_max)
    assert rechecks(snapshot, quiet=quiet) == (Recheck(NOW + wait, "follow_up", Scope.MIG),)


@pytest.mark.parametrize(
    ("snapshot", "follows"),
    [
        pytest.param(make_child_snapshot(), True, id="there is no resource"),
        pytest.param(make_child_snapshot(resource=make_resource()), True, id="the policy is READY"),
        pytest.param(make_child_snapshot(Kind.MIG, resource=make_resource(Kind.MIG)), True, id="the MIG is at rest"),
        pytest.param(
            make_child_snapshot(Kind.MIG, resource=make_resource(Kind.MIG, mig=COMING)),
            False,
            id="the group follows the MIG's VMs",
        ),
        pytest.param(
            make_child_snapshot(Kind.MIG, deleting=True, resource=make_resource(Kind.MIG, mig=COMING)),
            True,
            id="it is being deleted",
        ),
    ],
)
def test_no_further_look_is_asked_for_when(snapshot: ChildSnapshot, follows: bool) -> None:  # noqa: FBT001
    assert rechecks(snapshot, follows=follows) == ()
