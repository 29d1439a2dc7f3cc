"""What the router remembers: every entry for queries, and when each was published. Both bounded."""

import json
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice

from simulator.clock import log_time
from simulator.logging.query import Predicate
from simulator.seams import Json

__all__ = ["LogRecord", "LogRecords", "key_of"]

#: About a minute of a 2,304-host slice, and hours of a small one.
MAX_ENTRIES = 20_000


@dataclass(slots=True, eq=False)
class LogRecord:
    """One written entry. Kept as JSON text: an eighth of the memory of the dicts."""

    key: str
    #: `<resource>.<kind>`, "" for an entry that is no event.
    event: str
    body: bytes
    admitted: bool
    #: The planned fault that it met, "" if none.
    fault: str = ""
    #: (when, Pub/Sub message id) of each publication.
    published: list[tuple[datetime, str]] = field(default_factory=list)

    def entry(self) -> Json:
        """The entry itself."""
        entry: Json = json.loads(self.body)
        return entry

    def shown(self, *, full: bool) -> Json:
        """As under `history.logs` of the control face; `full` adds the entry."""
        shown: Json = {
            "key": self.key,
            "event": self.event,
            "admitted": self.admitted,
            "fault": self.fault,
            "published": [{"at": log_time(at), "messageId": message_id} for at, message_id in self.published],
        }
        return shown | {"entry": self.entry()} if full else shown


def key_of(entry: Json) -> str:
    """`logName|timestamp|insertId`: equal for what Cloud Logging calls duplicates."""
    return f"{entry.get('logName', '')}|{entry.get('timestamp', '')}|{entry.get('insertId', '')}"


class LogRecords:
    """The last so many entries, in the order of their writing."""

    def __init__(self, limit: int = MAX_ENTRIES) -> None:
        self._records: deque[LogRecord] = deque(maxlen=limit)

    def add(self, record: LogRecord) -> None:
        """Remember; the oldest falls out when full."""
        self._records.append(record)

    def shown(self, *, full: bool, last: int) -> list[Json]:
        """The last so many, oldest first."""
        start = max(0, len(self._records) - last)
        return [record.shown(full=full) for record in islice(self._records, start, None)]

    def query(self, matches: Predicate) -> Iterator[Json]:
        """Matching entries without duplicates (same log, timestamp and insertId), in the order of their writing."""
        seen: set[str] = set()
        for record in self._records:
            if record.key in seen:
                continue
            entry = record.entry()
            if matches(entry):
                seen.add(record.key)
                yield entry
