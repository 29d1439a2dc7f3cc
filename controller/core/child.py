"""One look at a child (WorkloadPolicy, InstanceTemplate or ManagedInstanceGroup): what to do about its GCE resource.

The order that makes a crash harmless: our finalizer is on the object before the first side effect; a request id is in
the status before the first insert; the same id is sent only for the same bytes with unknown outcome; the finalizer
goes only when GCE answers 404 and no insert can still be on its way.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from controller.api.constants import FINALIZER, REFERENCE_FINALIZERS
from controller.api.resources import (
    ChildStatus,
    InstanceTemplateStatus,
    ManagedInstanceGroupStatus,
    ObjectMeta,
    Resource,
    WorkloadPolicyStatus,
)
from controller.core.actions import Action, DeleteResource, InsertResource, Outcome, SetFinalizers
from controller.core.failures import Failure, Retry
from controller.core.gce_errors import operation_failure
from controller.core.model import Key, Scope
from controller.core.moving import on_their_way
from controller.core.names import bears_mark
from controller.core.observed import OperationView, ResourceRef, ResourceView
from controller.core.plan import Plan, Policy, Recheck, doubling, step_of


@dataclass(frozen=True, slots=True)
class ChildSnapshot:
    """All that a look at a child saw."""

    key: Key
    metadata: ObjectMeta
    status: ChildStatus
    ref: ResourceRef
    #: The REST body to insert.
    body: Mapping[str, Any]
    #: Why GCE cannot take this spec, found before any call.
    rejection: str | None
    #: Whether the resource was read in this look; if not, `resource` is the last one known.
    read: bool
    resource: ResourceView | None
    #: The operation of `status.operation_name`: None when there is none, was not asked for, or GCE has forgotten it.
    operation: OperationView | None
    #: When the operation was accepted (or when this process first saw it in the status).
    operation_since: datetime | None
    #: This process wrote `status.request_id` and has not sent it: GCE cannot know it.
    request_unsent: bool
    #: What must be gone or cordoned before this may be deleted; "" if nothing.
    blocked_by: str
    #: A UUID that nobody has used.
    fresh_request_id: str
    #: A refused request is not sent again before this time for an event's sake alone.
    held_until: datetime | None = None
    #: The child has an owner whose UID made this name: one left by the reference may be taken over.
    reference_may_have_made_it: bool = False


@dataclass(frozen=True, slots=True)
class ChildPlan:
    """A plan, and what it says of the request: the id to persist before it is sent, and the failure it saw."""

    plan: Plan
    #: The request id that the status must hold after this look.
    request_id: str
    #: The operation that the status must hold ("" when its outcome is known), unless an action is accepted.
    operation_name: str
    #: A finished operation's failure, or a refusal found before any call.
    failure: Failure | None = None
    #: The status was changed so that the next look can act: look again at once.
    again: bool = False
    not_ours: bool = False


def is_ours(snapshot: ChildSnapshot, resource: ResourceView) -> bool:
    """Our mark, or a UID-hashed name without a mark, as the reference leaves it (facts: reference API)."""
    if bears_mark(resource.description, snapshot.key, snapshot.metadata.uid):
        return True
    return snapshot.reference_may_have_made_it and not resource.description


def status_of(child: Resource) -> ChildStatus:
    """The status of a child. Raises TypeError for a group."""
    if not isinstance(child.status, ChildStatus):
        raise TypeError(f"{child.KIND} is no child")
    return child.status


def link_of(status: ChildStatus) -> str:
    """The URL of the GCE resource that a status tells of, "" while there is none."""
    if isinstance(status, ManagedInstanceGroupStatus):
        return status.url or ""
    if isinstance(status, WorkloadPolicyStatus | InstanceTemplateStatus):
        return status.uri or ""
    return ""


def plan_child(snapshot: ChildSnapshot, policy: Policy, now: datetime) -> ChildPlan:
    """Decide the next step. Safe to call at any time, any number of times."""
    status = snapshot.status
    keep = ChildPlan(Plan(), status.request_id or "", status.operation_name or "")
    finalizers = _finalizers(snapshot)
    if finalizers is not None:
        action = SetFinalizers(snapshot.key, snapshot.metadata.resource_version, finalizers)
        return _with(keep, (action,))
    if FINALIZER not in snapshot.metadata.finalizers:
        return keep
    settled, failure = _settle(snapshot)
    if not settled:
        return _with(keep, rechecks=_operation_recheck(snapshot, policy, now))
    done = ChildPlan(Plan(), "" if status.operation_name else keep.request_id, "", failure)
    if snapshot.metadata.deleting:
        return _delete(snapshot, done, now, policy)
    return _create(snapshot, done, now)


def _finalizers(snapshot: ChildSnapshot) -> tuple[str, ...] | None:
    """The finalizers to write, None if they are right: ours first; the reference's go once we have adopted."""
    present = tuple(snapshot.metadata.finalizers)
    ours = FINALIZER in present
    if snapshot.metadata.deleting and not ours:
        # Kubernetes refuses new finalizers on an object that is being deleted; the reference's are its own affair.
        return None
    others = tuple(name for name in present if name not in REFERENCE_FINALIZERS and name != FINALIZER)
    if not ours:
        return (*present, FINALIZER)
    adopted = bool(link_of(snapshot.status))
    if adopted and len(others) + 1 != len(present):
        return (*others, FINALIZER)
    return None


def _settle(snapshot: ChildSnapshot) -> tuple[bool, Failure | None]:
    """Whether no operation of ours is on its way any more, and how the last one failed, if it did."""
    if not snapshot.status.operation_name:
        return True, None
    operation = snapshot.operation
    if operation is None:
        # Forgotten by GCE, or not asked for in this look: only a fresh read of the resource may replace its word.
        return snapshot.read, None
    if not operation.done:
        return False, None
    return True, _failure_of(operation)


def _failure_of(operation: OperationView) -> Failure | None:
    return operation_failure(operation.error, operation.operation_type) if operation.error else None


def _operation_recheck(snapshot: ChildSnapshot, policy: Policy, now: datetime) -> tuple[Recheck, ...]:
    since = snapshot.operation_since or now
    return (Recheck(step_of(policy.operation_looks, since, now), "operation", Scope.MIG),)


def _create(snapshot: ChildSnapshot, done: ChildPlan, now: datetime) -> ChildPlan:
    if snapshot.resource is not None:
        ours = is_ours(snapshot, snapshot.resource)
        return ChildPlan(Plan(), "", "", done.failure, not_ours=not ours)
    if done.failure is not None or snapshot.rejection:
        # The failure is written first; what to do about it is the next look's.
        return done
    if not snapshot.read:
        return _with(done, rechecks=(Recheck(now, "observe", Scope.MIG),))
    if snapshot.held_until is not None and now < snapshot.held_until:
        return _with(done, rechecks=(Recheck(snapshot.held_until, "retry", Scope.MIG),))
    if not done.request_id:
        return ChildPlan(Plan(), snapshot.fresh_request_id, "", again=True)
    return _with(done, (InsertResource(snapshot.ref, snapshot.body, done.request_id),))


def _delete(snapshot: ChildSnapshot, done: ChildPlan, now: datetime, policy: Policy) -> ChildPlan:
    if snapshot.blocked_by:
        return _with(done, rechecks=(Recheck(now + policy.operation_looks[-1], "blocked", Scope.NONE),))
    if not snapshot.read:
        return _with(done, rechecks=(Recheck(now, "observe", Scope.MIG),))
    if snapshot.resource is not None and is_ours(snapshot, snapshot.resource):
        if done.failure is not None and snapshot.status.operation_type == "DELETE":
            # The failure is written first; trying again at once would go round at the pace of operations.
            return done
        return _with(done, (DeleteResource(snapshot.ref, snapshot.fresh_request_id),))
    if done.request_id and not snapshot.request_unsent and not done.failure and snapshot.resource is None:
        # An insert with unknown outcome may still be on its way. The same request once more tells: it is replayed
        # if it was accepted. Letting go of the finalizer now could leak what it makes.
        return _with(done, (InsertResource(snapshot.ref, snapshot.body, done.request_id),))
    if snapshot.resource is None and link_of(snapshot.status) and not _was_deleted(snapshot, done):
        # It was ours when it was seen last, and nobody here deleted it. One wrong 404 must not leak it: the answer to
        # a deletion tells.
        return _with(done, (DeleteResource(snapshot.ref, snapshot.fresh_request_id),))
    others = tuple(name for name in snapshot.metadata.finalizers if name != FINALIZER)
    return _with(done, (SetFinalizers(snapshot.key, snapshot.metadata.resource_version, others),))


def _was_deleted(snapshot: ChildSnapshot, done: ChildPlan) -> bool:
    """Whether a deletion of ours has ended well."""
    return bool(snapshot.status.operation_name) and snapshot.status.operation_type == "DELETE" and done.failure is None


def _with(base: ChildPlan, actions: tuple[Action, ...] = (), rechecks: tuple[Recheck, ...] = ()) -> ChildPlan:
    plan = Plan(actions, rechecks)
    return ChildPlan(plan, base.request_id, base.operation_name, base.failure, base.again, base.not_ours)


def outcome_is_known(failure: Failure) -> bool:
    """Whether a failed insert certainly had no effect, so that its request id has served."""
    return not (isinstance(failure, Retry) and failure.unknown_outcome)


def child_rechecks(
    snapshot: ChildSnapshot,
    outcomes: Sequence[Outcome],
    policy: Policy,
    now: datetime,
    *,
    quiet_looks: int,
    follows: bool,
) -> tuple[Recheck, ...]:
    """Back-stops for what was accepted now, and follow-ups of a resource that is there and not ready.

    `follows`: this child looks after its VMs by itself; otherwise its group does.
    """
    if any(outcome.operation is not None for outcome in outcomes):
        return (Recheck(now + policy.operation_looks[0], "operation", Scope.MIG),)
    resource = snapshot.resource
    if resource is None or snapshot.metadata.deleting:
        return ()
    if resource.mig is not None:
        moving = follows and on_their_way(resource.mig)
        wait = doubling(policy.follow_up_first, policy.follow_up_max, quiet_looks)
        return (Recheck(now + wait, "follow_up", Scope.MIG),) if moving else ()
    if resource.status not in {"", "READY"}:
        return (Recheck(now + policy.operation_looks[0], "operation", Scope.MIG),)
    return ()
