"""Where audit records go: what the rest of the program knows of it, and the two ways that need no network.

A failing sink must never fail, block or slow the action that it records.
"""

import asyncio
import json
from collections.abc import Sequence
from typing import Protocol, TextIO

from sinks.audit.record import AuditRecord, Outcome
from sinks.logs import LOG_ACTIONS


class AuditSink(Protocol):
    """Takes records."""

    def write(self, record: AuditRecord) -> None:
        """Take one record. Never raises, never blocks."""
        ...


class JsonLines:
    """The second copy that is always on, and the write-ahead line: one JSON object a line.

    A write-ahead line is flushed before `write` returns. The others are with the next one, or `flush_after` seconds
    later where an event loop runs: a flush for each costs more than all else that a record does. The fields that log
    agents know (`timestamp`, `severity`) stand beside those of the payload.
    """

    def __init__(self, stream: TextIO, flush_after: float = 0.1) -> None:
        self._stream = stream
        self._flush_after = flush_after
        self._flush_due = False
        #: Records that could not be written, since the start.
        self.dropped = 0

    def write(self, record: AuditRecord) -> None:
        """Write one line. A stream that is broken costs the line and is counted."""
        line = {
            "log": LOG_ACTIONS,
            "timestamp": record.timestamp,
            "severity": record.severity,
            "insert_id": record.insert_id,
            **({"pass": record.operation.id} if record.operation else {}),
            **record.to_payload(),
        }
        try:
            self._stream.write(json.dumps(line, separators=(",", ":")) + "\n")
            if record.outcome is Outcome.BEGUN:
                self._stream.flush()
            else:
                self._flush_soon()
        except (OSError, ValueError):
            # ValueError: the stream is closed.
            self.dropped += 1

    def _flush_soon(self) -> None:
        if self._flush_due:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._stream.flush()
            return
        self._flush_due = True
        loop.call_later(self._flush_after, self._flush)

    def _flush(self) -> None:
        self._flush_due = False
        try:
            self._stream.flush()
        except (OSError, ValueError):
            self.dropped += 1


class FanOut:
    """Each record to every sink, in their order."""

    def __init__(self, sinks: Sequence[AuditSink]) -> None:
        self._sinks = tuple(sinks)

    def write(self, record: AuditRecord) -> None:
        """Hand it to each."""
        for sink in self._sinks:
            sink.write(record)
