"""What a condition says, before it is stamped with time and generation; and failures in the words of a condition."""

from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from controller.api.conditions import Condition, Status, set_condition
from controller.api.reasons import ConditionType, Reason
from controller.api.resources import ChildStatus, Resource, TPUNodeGroupStatus
from controller.core.failures import Failure, NoCapacity, Rejected
from controller.core.gce_errors import is_quota, operation_failure
from controller.core.observed import OperationError

S = TypeVar("S", TPUNodeGroupStatus, ChildStatus)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The content of a condition."""

    status: Status
    reason: str
    message: str

    def condition(self, type_: str, now: datetime, generation: int) -> Condition:
        """The condition of this type that says so."""
        return Condition(
            type=type_,
            status=self.status,
            reason=self.reason,
            message=self.message,
            last_transition_time=now,
            observed_generation=generation,
        )


def failure_verdict(failure: Failure, *, operation: bool) -> Verdict:
    """A failure. `operation`: an accepted operation ended so."""
    if isinstance(failure, NoCapacity):
        return Verdict("False", Reason.QUOTA_EXCEEDED if is_quota(failure.code) else Reason.STOCKOUT, str(failure))
    if isinstance(failure, Rejected):
        return Verdict("False", Reason.OPERATION_FAILED if operation else Reason.REQUEST_REJECTED, str(failure))
    return Verdict("False", Reason.OPERATION_FAILED if operation else Reason.RECONCILE_ERROR, str(failure))


def creation_verdict(error: OperationError) -> Verdict:
    """What keeps a managed instance group from making its VMs, as its rows or its bulk request's last check tell."""
    failure = operation_failure(error)
    if isinstance(failure, NoCapacity):
        return failure_verdict(failure, operation=True)
    return Verdict("False", Reason.INSTANCES_CREATION_FAILED, str(failure))


def failed_status(resource: Resource, status: S, failure: Failure, now: datetime) -> S:
    """The status when a look could not be finished for a while: all else stays as it was said last."""
    verdict = Verdict("Unknown", Reason.RECONCILE_ERROR, str(failure))
    condition = verdict.condition(ConditionType.READY, now, resource.metadata.generation)
    return status.model_copy(update={"conditions": set_condition(status.conditions, condition, now)})
