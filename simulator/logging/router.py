"""The log router: stamps every entry, lets the sink's filter decide, and publishes what it admits after its latency.

What is promised is what the real path promises: at least once, in no order. Planned event faults act here.
"""

import asyncio
import json
import random
from collections.abc import Callable
from datetime import datetime, timedelta

from simulator.clock import log_time
from simulator.event_path import EventPath
from simulator.faults import EventFault, Faults
from simulator.logging.kinds import ANY, event_names, resource_of
from simulator.logging.latency import Latency
from simulator.logging.records import LogRecord, LogRecords, key_of
from simulator.pubsub.topic import EventTopic
from simulator.seams import Json, Now

__all__ = ["LogRouter"]

#: How long a swapped entry waits for one to pass it, unless its fault says otherwise.
_SWAP_SECONDS = 5.0


class LogRouter:
    """Implements `seams.LogWriter`. Publishing needs a running event loop."""

    def __init__(
        self,
        now: Now,
        topic: EventTopic,
        faults: Faults,
        latency: Latency,
        *,
        path: EventPath | None = None,
        exports: Callable[[], bool] = lambda: True,
        seed: int = 0,
    ) -> None:
        self._now = now
        self._topic = topic
        self._faults = faults
        self._latency = latency
        self._path = path or EventPath()
        self._exports = exports
        self._random = random.Random(f"insert ids {seed}")
        self._timers: set[asyncio.TimerHandle] = set()
        #: Swapped entries whose time has come and that wait to be passed, and whose entries may pass them.
        self._held: list[tuple[LogRecord, str]] = []
        self.records = LogRecords()

    def write(self, entry: Json) -> None:
        """Take one LogEntry (REST JSON). What its writer left out is set: timestamp, insertId, receiveTimestamp."""
        delay = self._latency.seconds(entry)
        stamped = {"insertId": self._insert_id(), "timestamp": log_time(self._now()), **entry}
        stamped["receiveTimestamp"] = _nanos(self._now() + timedelta(seconds=delay))
        names = event_names(stamped)
        body = json.dumps(stamped, separators=(",", ":")).encode()
        event = names[0] if names[0] != ANY else ""
        record = LogRecord(key_of(stamped), event, body, self._path.admits(stamped))
        self.records.add(record)
        if record.admitted and self._exports():
            self._route(record, stamped, delay, self._faults.next_event(names, resource_of(stamped)))

    def close(self) -> None:
        """Publish nothing more."""
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()

    def _route(self, record: LogRecord, entry: Json, delay: float, fault: EventFault | None) -> None:
        of = resource_of(entry)
        if fault is None:
            self._later(delay, lambda: self._pass(record, of))
            return
        record.fault = fault.effect
        extra = fault.milliseconds / 1000
        match fault.effect:
            case "drop":
                return
            case "hold":
                fault.when_deleted.append(lambda: self._pass(record, of))
            case "swap":
                self._later(delay, lambda: self._hold(record, fault.of, extra or _SWAP_SECONDS))
            case "delay":
                self._later(delay + extra, lambda: self._pass(record, of))
            case "duplicate":
                self._later(delay, lambda: self._pass(record, of))
                again = extra or self._latency.seconds(entry)
                self._later(delay + again, lambda: self._pass(record, of))

    def _pass(self, record: LogRecord, of: str) -> None:
        """Publish an entry of this resource, and what waited to be passed by it."""
        self._publish(record)
        passed = [each for each in self._held if of.startswith(each[1])]
        self._held = [each for each in self._held if each not in passed]
        for waiting, _ in passed:
            self._publish(waiting)

    def _hold(self, record: LogRecord, by: str, seconds: float) -> None:
        held = (record, by)
        self._held.append(held)

        def alone() -> None:
            if held in self._held:
                self._held.remove(held)
                self._publish(record)

        self._later(seconds, alone)

    def _publish(self, record: LogRecord) -> None:
        if not self._path.pieces.publisher:
            # Nobody is told: the entries of a sink whose writer may not publish are gone (facts: audit logs 5).
            return
        timestamp = record.key.rsplit("|", 2)[1]
        self._topic.publish(
            record.body,
            {"logging.googleapis.com/timestamp": timestamp},
            lambda message_id: record.published.append((self._now(), message_id)),
        )

    def _later(self, seconds: float, what: Callable[[], None]) -> None:
        def run() -> None:
            self._timers.discard(timer)
            what()

        timer = asyncio.get_running_loop().call_later(seconds, run)
        self._timers.add(timer)

    def _insert_id(self) -> str:
        return "".join(self._random.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=13))


def _nanos(at: datetime) -> str:
    return at.replace(tzinfo=None).isoformat(timespec="microseconds") + "000Z"
