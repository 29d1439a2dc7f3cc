"""What must be looked at again because it failed, and when at the earliest."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from controller.core.actions import (
    Cordon,
    DeleteResource,
    DeleteStaleNode,
    InjectToken,
    InsertResource,
    LabelNode,
    MintToken,
    Outcome,
    ScrubMetadata,
    TaintNode,
    Uncordon,
)
from controller.core.failures import Conflict, Failure, Gone, NoCapacity, Rejected, Retry
from controller.core.model import Cause, Scope, Wake
from controller.core.plan import Policy, doubling

_ATTEMPTS_TO_TELL = 3
_NODE_ACTIONS = (LabelNode, TaintNode, DeleteStaleNode, Cordon, Uncordon)
_INSTANCE_ACTIONS = (MintToken, InjectToken, ScrubMetadata)


def is_settled(outcome: Outcome) -> bool:
    """A refusal that says that the goal is reached by another way: it is gone, or it is there already."""
    return (isinstance(outcome.action, DeleteResource) and isinstance(outcome.failure, Gone)) or (
        isinstance(outcome.action, InsertResource) and isinstance(outcome.failure, Conflict)
    )


def retry_wake(outcomes: Sequence[Outcome], unread: Iterable[str], now: datetime) -> Wake | None:
    """A look at just what failed: at the VMs by name, at the resource, or at what is in memory anyway.

    `unread`: the names of the VMs that could not be read.
    """
    cause = Cause("retry", now)
    instances = dict.fromkeys(unread, cause)
    scope = Scope.INSTANCES if instances else Scope.NONE
    failed = [outcome.action for outcome in outcomes if outcome.failure is not None]
    for action in failed:
        if isinstance(action, _INSTANCE_ACTIONS):
            scope |= Scope.INSTANCES
            instances[action.instance.name] = cause
        elif isinstance(action, InsertResource | DeleteResource):
            scope |= Scope.MIG
        elif isinstance(action, _NODE_ACTIONS):
            scope |= Scope.NODES
        else:
            scope |= Scope.SPEC
    return Wake(scope, cause, instances) if failed or instances else None


def retry_after(failures: Sequence[Failure], attempts: int, policy: Policy) -> timedelta:
    """How long a retry waits at least, whatever its key's back-off. `attempts`: failed looks in a row, with this one.

    One failure that passes soon must not wait for one that does not.
    """
    return min((_wait(failure, attempts, policy) for failure in failures), default=timedelta(0))


def lasts(attempts: int, failure: Failure) -> bool:
    """Whether a failed look must be told in the status: at once if somebody must act, else when it keeps failing."""
    return isinstance(failure, Rejected) or attempts >= _ATTEMPTS_TO_TELL


def _wait(failure: Failure, attempts: int, policy: Policy) -> timedelta:
    if isinstance(failure, NoCapacity):
        return doubling(policy.capacity_retry_first, policy.capacity_retry_max, max(0, attempts - 1))
    if isinstance(failure, Rejected):
        return policy.rejected_retry
    return failure.after if isinstance(failure, Retry) else timedelta(0)
