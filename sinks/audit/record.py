"""One action of the operator, as an audit record: who did what to which resource, why, and what came of it.

Pure, and cheap enough to make for every action. A record holds text from known fields alone: no request body, no
metadata value, no exception object. What is no text stays out, and what looks like a join token is cut from what is.
"""

import hashlib
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

PRODUCER: Final = "tpu-node-group-controller"

#: A kubeadm token: its first half is its public id, the second its secret.
_TOKEN: Final = re.compile(r"(?<![a-z0-9])([a-z0-9]{6})\.[a-z0-9]{16}(?![a-z0-9])")
#: With these a record stays far below the 256 KB of a log entry, whatever its characters (facts: audit logs 5).
_LONGEST_TEXT: Final = 4096
_LONGEST_NAME: Final = 1024


class Outcome(StrEnum):
    """What came of an action."""

    #: The write-ahead line: it is about to be done. Goes to the JSON lines only.
    BEGUN = "begun"
    #: An operation was accepted; its end is told by another record or event.
    ACCEPTED = "accepted"
    DONE = "done"
    FAILED = "failed"


_SEVERITY: Final = {Outcome.FAILED: "ERROR", Outcome.BEGUN: "DEBUG"}


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

    def __post_init__(self) -> None:
        _clean(self, names=("kind", "event"), texts=("detail",))


@dataclass(frozen=True, slots=True)
class AuditOperation:
    """Groups the records of one pass, as LogEntry.operation does."""

    id: str
    first: bool = False
    last: bool = False

    def __post_init__(self) -> None:
        _clean(self, names=("id",))


@dataclass(frozen=True, slots=True)
class AuditFailure:
    """Why it failed, in the other side's code and in words for people."""

    code: str
    message: str

    def __post_init__(self) -> None:
        _clean(self, names=("code",), texts=("message",))


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

    def __post_init__(self) -> None:
        _clean(self, names=("action", "resource", "group", "identity", "request_id"))

    @property
    def timestamp(self) -> str:
        """RFC 3339, UTC: when the act began, so the same for every attempt to write the record."""
        return rfc3339(self.started)

    @property
    def insert_id(self) -> str:
        """The same for every attempt to write this record, and another for any other record."""
        parts = (
            self.timestamp,
            self.identity,
            self.group,
            self.action,
            self.resource,
            self.request_id,
            self.outcome,
            self.operation.id if self.operation else "",
        )
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]

    @property
    def severity(self) -> str:
        """A LogSeverity: ERROR for what failed, NOTICE for what was done."""
        return _SEVERITY.get(self.outcome, "NOTICE")

    def to_payload(self) -> dict[str, Any]:
        """The jsonPayload. What is empty or unknown is left out."""
        cause = self.cause
        payload: dict[str, Any] = {
            "action": self.action,
            "resource": self.resource,
            "group": self.group,
            "identity": self.identity,
            "outcome": self.outcome.value,
            "cause": {
                "kind": cause.kind,
                **({"at": rfc3339(cause.at)} if cause.at else {}),
                **({"event": cause.event} if cause.event else {}),
                **({"detail": cause.detail} if cause.detail else {}),
                **({"generation": cause.generation} if cause.generation else {}),
            },
        }
        if self.failure is not None:
            payload["failure"] = {"code": self.failure.code, "message": self.failure.message}
        if self.outcome is not Outcome.BEGUN:
            payload["latency_ms"] = round(self.latency_ms, 3)
        if self.request_id:
            payload["request_id"] = self.request_id
        return payload

    def to_entry(self, log_name: str) -> dict[str, Any]:
        """The LogEntry as REST JSON. `log_name` is `projects/<project>/logs/<log>`."""
        entry: dict[str, Any] = {
            "logName": log_name,
            "resource": {"type": "global", "labels": {"project_id": log_name.split("/")[1]}},
            "jsonPayload": self.to_payload(),
            "insertId": self.insert_id,
            "timestamp": self.timestamp,
            "severity": self.severity,
        }
        if self.operation is not None:
            entry["operation"] = {
                "id": self.operation.id,
                "producer": PRODUCER,
                "first": self.operation.first,
                "last": self.operation.last,
            }
        return entry


def rfc3339(moment: datetime) -> str:
    """An aware time in UTC, as log entries have it."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _clean(holder: Any, names: tuple[str, ...] = (), texts: tuple[str, ...] = ()) -> None:
    for name in names:
        object.__setattr__(holder, name, _text(getattr(holder, name), _LONGEST_NAME))
    for name in texts:
        object.__setattr__(holder, name, _text(getattr(holder, name), _LONGEST_TEXT))


def _text(value: Any, longest: int) -> str:
    """Text that may be written down: no other type, no join token, no lone surrogate, no more than `longest`."""
    if not isinstance(value, str):
        return f"<{type(value).__name__}>"
    if not value.isascii():
        value = value.encode("utf-8", "replace").decode("utf-8")
    # Cut after the tokens are gone: half a token would pass unseen.
    value = _TOKEN.sub(r"\1.<redacted>", value)
    return value if len(value) <= longest else f"{value[:longest]}... ({len(value) - longest} more)"
