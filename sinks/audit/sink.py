"""Where audit records go: what the rest of the program knows of it, and the two ways that need no network.

A failing sink must never fail, block or slow the action that it records.
"""

import json
from collections.abc import Sequence
from typing import Protocol, TextIO

from sinks.audit.record import ACTIONS_LOG, AuditRecord


class AuditSink(Protocol):
    """Takes records."""

    def write(self, record: AuditRecord) -> None:
        """Take one record. Never raises, never blocks."""
        ...


class JsonLines:
    """The second copy that is always on, and the write-ahead line: one JSON object a line, flushed before it returns.

    The fields that log agents know (`timestamp`, `severity`) stand beside those of the payload.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        #: Records that could not be written, since the start.
        self.dropped = 0

    def write(self, record: AuditRecord) -> None:
        """Write one line. A stream that is broken costs the line and is counted."""
        line = {
            "log": ACTIONS_LOG,
            "timestamp": record.timestamp,
            "severity": record.severity,
            "insert_id": record.insert_id,
            **({"pass": record.operation.id} if record.operation else {}),
            **record.to_payload(),
        }
        try:
            self._stream.write(json.dumps(line, separators=(",", ":")) + "\n")
            self._stream.flush()
        except (OSError, ValueError):
            # ValueError: the stream is closed.
            self.dropped += 1


class FanOut:
    """Each record to every sink, in their order."""

    def __init__(self, sinks: Sequence[AuditSink]) -> None:
        self._sinks = tuple(sinks)

    def write(self, record: AuditRecord) -> None:
        """Hand it to each."""
        for sink in self._sinks:
            sink.write(record)
