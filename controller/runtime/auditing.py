"""Every act leaves two records: a line before it on stdout, so that a crash leaves a trace, and one after it."""

import uuid
from dataclasses import dataclass, field
from datetime import datetime

from controller.core.actions import (
    Action,
    Cordon,
    CreateChild,
    DeleteChild,
    DeleteResource,
    DeleteStaleNode,
    InjectToken,
    InsertResource,
    LabelNode,
    MintToken,
    Outcome,
    RevokeToken,
    ScrubMetadata,
    SetFinalizers,
    TaintNode,
    Uncordon,
)
from controller.core.model import Cause, Key
from sinks.audit.record import AuditCause, AuditFailure, AuditOperation, AuditRecord
from sinks.audit.record import Outcome as Recorded
from sinks.audit.sink import AuditSink


@dataclass(slots=True)
class Progress:
    """How far a pass is, so that its first and its last record can say so."""

    begun: bool = False
    #: Acts whose last record is not written yet, of those that will be.
    left: int = 0


@dataclass(frozen=True, slots=True)
class Pass:
    """What the records of one look share."""

    #: `namespace/name` of the group (of the child itself, for one that was applied on its own).
    group: str
    key: Key
    cause: Cause
    #: Causes of single instances, by name: what named them in the wake.
    instances: dict[str, Cause]
    generation: int
    #: Of a group's look: who asked for the MIG to be read.
    mig: Cause | None = None
    id: str = field(default_factory=lambda: uuid.uuid4().hex[:16])
    progress: Progress = field(default_factory=Progress, compare=False)

    def cause_of(self, action: Action) -> Cause:
        """The event that named the VM, else what had the MIG read, else what woke the look."""
        return self.instances.get(action.target) or self.mig or self.cause


class Auditor:
    """Writes the records. `ahead`: the write-ahead copy; `sink`: where finished records go. Neither ever raises."""

    def __init__(self, ahead: AuditSink, sink: AuditSink, identity: str) -> None:
        self._ahead = ahead
        self._sink = sink
        self._identity = identity

    def begin(self, action: Action, of: Pass, now: datetime) -> None:
        """Before the act."""
        operation = AuditOperation(of.id, first=not of.progress.begun)
        of.progress.begun = True
        self._ahead.write(self._record(action, of, now, Recorded.BEGUN, operation))

    def end(self, outcome: Outcome, of: Pass, started: datetime, seconds: float) -> None:
        """After the act."""
        recorded = Recorded.DONE
        failure = None
        if outcome.failure is not None:
            recorded = Recorded.FAILED
            failure = AuditFailure(outcome.failure.code or type(outcome.failure).__name__, outcome.failure.message)
        elif outcome.operation is not None and not outcome.operation.done:
            recorded = Recorded.ACCEPTED
        of.progress.left -= 1
        operation = AuditOperation(of.id, last=of.progress.left == 0)
        self._sink.write(self._record(outcome.action, of, started, recorded, operation, failure, seconds * 1000))

    def _record(
        self,
        action: Action,
        of: Pass,
        started: datetime,
        recorded: Recorded,
        operation: AuditOperation,
        failure: AuditFailure | None = None,
        latency_ms: float = 0.0,
    ) -> AuditRecord:
        cause = of.cause_of(action)
        return AuditRecord(
            action=type(action).__name__,
            resource=resource_of(action),
            group=of.group,
            identity=self._identity,
            cause=AuditCause(cause.kind, cause.at, cause.event, cause.detail, of.generation),
            outcome=recorded,
            started=started,
            failure=failure,
            latency_ms=latency_ms,
            request_id=action.request_id if isinstance(action, InsertResource | DeleteResource) else "",
            operation=operation,
        )


def resource_of(action: Action) -> str:
    """The resource of an action, as a partial URL."""
    match action:
        case SetFinalizers() | CreateChild() | DeleteChild():
            return f"namespaces/{action.key.namespace}/{action.key.kind.plural}/{action.key.name}"
        case InsertResource() | DeleteResource():
            return action.ref.path
        case MintToken() | InjectToken() | ScrubMetadata():
            vm = action.instance
            return f"projects/{vm.project}/zones/{vm.zone}/instances/{vm.name}@{vm.id}"
        case RevokeToken():
            return f"namespaces/kube-system/secrets/bootstrap-token-{action.token_id}"
        case LabelNode() | TaintNode() | DeleteStaleNode() | Cordon() | Uncordon():
            return f"nodes/{action.node}"
