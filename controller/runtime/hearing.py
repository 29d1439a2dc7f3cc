"""Whether events reach us at all: a canary that is written to Cloud Logging must come back through the subscription.

It measures the whole path (log, sink, filter, topic, subscription), also on a cluster where nothing happens. The
verdict is written into every group's condition EventsFlowing, and never affects Ready.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from controller.api.constants import LOG_CANARY
from controller.api.reasons import Reason
from controller.core.verdicts import Verdict
from controller.runtime.metrics import Metrics
from controller.runtime.ports import Clock
from sinks.intake.delivery import StreamState

#: Writes one canary entry; best effort.
WriteCanary = Callable[[], None]

_CHECK: Final = 1.0


class Hearing:
    """Sends canaries and judges what is heard. `on_change`: the verdict changed, the groups must say so."""

    def __init__(
        self,
        clock: Clock,
        metrics: Metrics,
        write_canary: WriteCanary,
        on_change: Callable[[], None],
        *,
        writer: str,
        interval: timedelta,
        limit: timedelta,
    ) -> None:
        self._clock = clock
        self._metrics = metrics
        self._write_canary = write_canary
        self._on_change = on_change
        self._writer = writer
        self._interval = interval
        self._limit = limit
        self._stream = StreamState(connected=False, since=0.0)
        #: When the oldest canary that has not come back was written.
        self._outstanding: datetime | None = None
        self._heard_once = False
        self._verdict = self._judge(None)

    @property
    def verdict(self) -> Verdict:
        """What EventsFlowing says."""
        return self._verdict

    def stream(self, state: StreamState) -> None:
        """The subscription's stream connected, or broke."""
        self._stream = state
        self._metrics.subscriber_up.set(1 if state.connected else 0)
        self._update()

    def canary(self, writer: str) -> None:
        """A canary came back. Another replica's proves the path too, but not our own writing."""
        if writer == self._writer:
            self._outstanding = None
            self._heard_once = True
            self._update()

    async def run(self) -> None:
        """Send canaries and judge, until cancelled."""
        due = self._clock.monotonic()
        while True:
            if self._clock.monotonic() >= due:
                due = self._clock.monotonic() + self._interval.total_seconds()
                self._write_canary()
                self._outstanding = self._outstanding or self._clock.now()
            self._update()
            await self._clock.sleep(min(_CHECK, self._limit.total_seconds() / 4))

    def _update(self) -> None:
        verdict = self._judge(self._outstanding)
        changed = (verdict.status, verdict.reason) != (self._verdict.status, self._verdict.reason)
        if changed:
            self._verdict = verdict
            self._metrics.events_flowing.set(0 if verdict.status == "False" else 1)
            self._on_change()

    def _judge(self, outstanding: datetime | None) -> Verdict:
        late = outstanding is not None and self._clock.now() - outstanding > self._limit
        if not self._stream.connected and self._stream.error:
            return Verdict("False", Reason.STREAM_DOWN, self._stream.error)
        if late:
            message = (
                f"a {LOG_CANARY} entry did not come back within {self._limit.total_seconds():g} s: check that the log "
                "sink exists and its filter admits it, and that the sink's writer identity may publish to the topic"
            )
            return Verdict("False", Reason.NO_EVENTS, message)
        if not self._heard_once:
            return Verdict("Unknown", Reason.AWAITING_FIRST_EVENT, "no event has been expected to be here yet")
        return Verdict("True", Reason.FLOWING, "events arrive")
