"""What a child's status says after a look: its Ready condition, where its resource is, and what is under way."""

from collections.abc import Sequence
from datetime import datetime

from controller.api.conditions import get_condition, set_condition
from controller.api.reasons import ConditionType, Reason
from controller.api.resources import ChildStatus
from controller.core.actions import DeleteResource, InsertResource, Outcome
from controller.core.child import ChildPlan, ChildSnapshot, outcome_is_known
from controller.core.failures import Failure
from controller.core.model import Kind
from controller.core.names import bears_mark
from controller.core.observed import MigView
from controller.core.retries import is_settled
from controller.core.verdicts import Verdict, creation_verdict, failure_verdict

#: Reasons that a user must be able to read until something better is true.
_STICKY = frozenset(
    {
        Reason.REQUEST_REJECTED,
        Reason.OPERATION_FAILED,
        Reason.STOCKOUT,
        Reason.QUOTA_EXCEEDED,
        Reason.RECONCILE_ERROR,
    }
)


def child_status(
    snapshot: ChildSnapshot, decided: ChildPlan, outcomes: Sequence[Outcome], now: datetime
) -> ChildStatus:
    """The status after the plan's actions had these outcomes."""
    request_id, operation, operation_type = decided.request_id, decided.operation_name, ""
    failure = decided.failure
    for outcome in outcomes:
        if outcome.operation is not None and isinstance(outcome.action, InsertResource | DeleteResource):
            operation = outcome.operation.name
            operation_type = "CREATE" if isinstance(outcome.action, InsertResource) else "DELETE"
        elif outcome.failure is not None:
            failure = failure if is_settled(outcome) else outcome.failure
            if isinstance(outcome.action, InsertResource) and outcome_is_known(outcome.failure):
                request_id = ""
    if operation and not operation_type:
        operation_type = snapshot.status.operation_type or ""
    verdict = child_verdict(snapshot, decided, failure, under_way=bool(operation))
    condition = verdict.condition(ConditionType.READY, now, snapshot.metadata.generation)
    conditions = set_condition(snapshot.status.conditions, condition, now)
    adopted = snapshot.resource is not None and not bears_mark(
        snapshot.resource.description, snapshot.key, snapshot.metadata.uid
    )
    link = snapshot.ref.path if snapshot.resource is not None and not decided.not_ours else None
    return snapshot.status.model_copy(
        update={
            "conditions": conditions,
            "url" if snapshot.key.kind is Kind.MIG else "uri": link,
            "operation_name": operation or None,
            "operation_type": operation_type or None,
            "request_id": request_id or None,
            "resource_id": snapshot.resource.id if snapshot.resource is not None and link else None,
            "adopted": True if adopted and link else None,
            "observed_generation": snapshot.metadata.generation,
        }
    )


def child_verdict(snapshot: ChildSnapshot, decided: ChildPlan, failure: Failure | None, *, under_way: bool) -> Verdict:
    """The Ready condition's content. `under_way`: an operation of ours was accepted and has not ended."""
    resource = snapshot.resource
    if snapshot.metadata.deleting:
        return _deleting(snapshot, failure)
    if decided.not_ours and resource is not None:
        message = (
            f"{resource.ref.path} exists and is not of this object (its description is {resource.description!r}); "
            "it is left alone. Delete it, or use another name"
        )
        return Verdict("False", Reason.NOT_OURS, message)
    if resource is not None:
        return _present(snapshot)
    if snapshot.rejection:
        return Verdict("False", Reason.REQUEST_REJECTED, snapshot.rejection)
    if failure is not None:
        return failure_verdict(failure, operation=decided.failure is failure)
    old = get_condition(snapshot.status.conditions, ConditionType.READY)
    if old is not None and old.reason in _STICKY and not (under_way and old.reason == Reason.RECONCILE_ERROR):
        return Verdict("False", old.reason, old.message)
    return Verdict("False", Reason.PROVISIONING, f"{snapshot.ref.path} is being created")


def _deleting(snapshot: ChildSnapshot, failure: Failure | None) -> Verdict:
    reason = {
        Kind.MIG: Reason.DELETING_MIG,
        Kind.TEMPLATE: Reason.DELETING_TEMPLATE,
        Kind.POLICY: Reason.DELETING_POLICY,
    }[snapshot.key.kind]
    if snapshot.blocked_by:
        return Verdict("False", reason, f"waits for {snapshot.blocked_by}")
    return Verdict("False", reason, str(failure) if failure else f"{snapshot.ref.path} is being deleted")


def _present(snapshot: ChildSnapshot) -> Verdict:
    assert snapshot.resource is not None
    path = snapshot.ref.path
    if snapshot.resource.mig is not None:
        return _mig_verdict(path, snapshot.resource.mig)
    if snapshot.resource.status in {"INVALID", "EXPIRED"}:
        return Verdict("False", Reason.OPERATION_FAILED, f"{path} is {snapshot.resource.status}; delete this object")
    if snapshot.resource.status not in {"", "READY"}:
        return Verdict("False", Reason.PROVISIONING, f"{path} is {snapshot.resource.status}")
    return Verdict("True", Reason.CREATED, f"{path} exists")


def _mig_verdict(path: str, mig: MigView) -> Verdict:
    # Counts may be absent while isStable is true already: all up means running == targetSize (facts: GCE 6.1).
    up = mig.running == mig.target_size if mig.counts else mig.is_stable and mig.target_size == 0
    if up and not mig.bulk_in_progress:
        return Verdict("True", Reason.CREATED, f"all {mig.target_size} VMs of {path} run")
    if mig.bulk_error is not None:
        return creation_verdict(mig.bulk_error)
    return Verdict("False", Reason.UNSTABLE, f"{mig.running} of {mig.target_size} VMs of {path} run")
