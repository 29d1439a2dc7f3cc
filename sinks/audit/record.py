"""One action of the operator, as an audit record: who did what to which resource, why, and what came of it.

Pure, and cheap enough to make for every action. A record holds text from known fields alone: no request body, no
metadata value, no exception object, so a secret has no way in.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Outcome(StrEnum):
    """What came of an action."""

    #: An operation was accepted; its end is told by another record or event.
    ACCEPTED = "accepted"
    DONE = "done"
    FAILED = "failed"
    #: Not done after all: nothing would have changed, or the lease was lost.
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class AuditCause:
    """Why it was done: the event, timer or spec that woke the look."""

    #: As `instance.inserted`, `resync`, `spec`.
    kind: str
    at: datetime | None = None
    #: `Event.key` of the entry that woke the look, "" for timers and specs.
    event: str = ""
    detail: str = ""
    #: metadata.generation of the custom resource that was acted for, 0 if unknown.
    generation: int = 0


@dataclass(frozen=True, slots=True)
class AuditOperation:
    """Groups the records of one pass, as LogEntry.operation does."""

    id: str
    first: bool = False
    last: bool = False


@dataclass(frozen=True, slots=True)
class AuditFailure:
    """Why it failed, in the other side's code and in words for people."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One mutating action on GCE or the cluster."""

    #: What was done, as `CreateResource`, `InjectToken`.
    action: str
    #: On what, as a partial URL: `projects/p/zones/z/instances/n`, `v1/nodes/n`.
    resource: str
    #: `namespace/name` of the TPUNodeGroup that it was done for.
    group: str
    #: Who acted: the controller's identity (its pod, or host and process).
    identity: str
    cause: AuditCause
    outcome: Outcome
    #: When the act began; aware, UTC.
    started: datetime
    failure: AuditFailure | None = None
    latency_ms: float = 0.0
    #: The request id that GCE was given, "" where there was none.
    request_id: str = ""
    operation: AuditOperation | None = None
