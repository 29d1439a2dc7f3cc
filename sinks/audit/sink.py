"""Where audit records go: the one thing that the rest of the program knows about it."""

from typing import Protocol

from sinks.audit.record import AuditRecord


class AuditSink(Protocol):
    """Takes records. A failing sink must never fail, block or slow the action that it records."""

    def write(self, record: AuditRecord) -> None:
        """Take one record. Never raises, never blocks."""
        ...
