"""What one log entry says, as types: an event to react to, an entry to pass over, or one that cannot be read.

An event never carries state into a decision: it names what to look at again. Nothing here may be trusted further than
that, because whoever can publish to the topic can forge it.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

_RFC3339: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?(?:Z|[+-][0-9]{2}:[0-9]{2})"
)


class Resource(StrEnum):
    """What kind of thing an event is about."""

    INSTANCE = "instance"
    GROUP = "group"
    TEMPLATE = "template"
    POLICY = "policy"
    CANARY = "canary"


class EventKind(StrEnum):
    """What happened to it. `inserted`, `deleted` and `changed` serve all resources, the others the instance alone."""

    INSERTED = "inserted"
    DELETED = "deleted"
    CHANGED = "changed"
    STARTED = "started"
    STOPPED = "stopped"
    RESET = "reset"
    PREEMPTED = "preempted"
    HOST_ERROR = "host_error"
    HOST_MAINTENANCE = "host_maintenance"
    RESTARTED = "restarted"
    REPAIR = "repair"
    MAINTENANCE_UPCOMING = "maintenance_upcoming"
    GUEST_TERMINATED = "guest_terminated"
    METADATA = "metadata"
    BOOTSTRAP = "bootstrap"
    CANARY = "canary"


class Phase(StrEnum):
    """Which of an operation's entries this is. `ONLY`: it has one entry, or there is no operation at all."""

    FIRST = "first"
    LAST = "last"
    ONLY = "only"


@dataclass(frozen=True, slots=True)
class Failure:
    """A status that is not OK: the gRPC code and the message as the entry has them."""

    code: int
    message: str


@dataclass(frozen=True, slots=True)
class Event:
    """One entry that may be worth a look."""

    resource: Resource
    kind: EventKind
    #: The project's id (resource.labels, else logName), never the number that MIG-made resource names bear.
    project: str
    #: None where the resource is regional or global.
    zone: str | None
    #: Of an instance, group, template or policy; of a canary the cluster that wrote it.
    name: str
    #: Digits as a string; None where the entry has no usable id ("", "0", none).
    instance_id: str | None
    phase: Phase
    failure: Failure | None
    #: The entry's timestamp, verbatim (RFC 3339, up to nine fraction digits).
    at: str
    #: `logName|timestamp|insertId`: equal for duplicates. The parts of a split entry share it (split.uid is their id);
    #: an entry without an id has `~` and what it is about in its place.
    key: str
    #: Name of the GCE operation, "" where there is none.
    operation_id: str = ""
    #: Of a bootstrap entry: booted, waiting, joining, joined or failed; otherwise "".
    step: str = ""
    #: Of a bootstrap entry its reason; of a system event its status message; otherwise "".
    reason: str = ""
    #: Of a canary: the operator process that wrote it; otherwise "".
    writer: str = ""

    @property
    def cause(self) -> str:
        """`<resource>.<kind>`, with the step of a bootstrap entry after it: `instance.bootstrap.booted`."""
        named = f"{self.resource}.{self.kind}"
        return f"{named}.{self.step}" if self.step else named


@dataclass(frozen=True, slots=True)
class Ignored:
    """A well-formed entry that is none of our business. `reason` is short: a method's name, a log's, or a phrase.

    Names come from the entry, so a counter that is keyed by reason must bound how many it keeps.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Not a log entry that we understand. `reason` is one of a few fixed phrases and holds nothing of the data."""

    reason: str


Decoded = Event | Ignored | Unreadable


def moment(at: str) -> datetime:
    """An RFC 3339 timestamp in UTC, cut to microseconds. Raises ValueError where it is none, or none of these years."""
    at = at.upper()
    if _RFC3339.fullmatch(at) is None:
        raise ValueError("not an RFC 3339 timestamp")
    parsed = datetime.fromisoformat(at)
    try:
        return parsed.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("a time before the year 1 or after 9999") from error
