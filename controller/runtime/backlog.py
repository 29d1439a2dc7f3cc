"""How old the oldest event is that nobody has handled: measured from the event itself.

What waits in this process alone would read 0 just when messages pile up in Pub/Sub and none is taken. So what arrives
tells too: it is as old as what is still to come. A clock of ours that is wrong, or jumps, must not tell of a backlog:
time here goes on with the monotonic clock, and a canary that came back has shown how far it is from Google's.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from controller.runtime.ports import Clock
from sinks.intake.events import Event, moment

#: So long what came last tells of what is still to come, in seconds.
_FRESH: Final = 10.0


class Backlog:
    """`oldest`: when the oldest event was published that waits in this process, None when none does."""

    def __init__(self, clock: Clock, oldest: Callable[[], datetime | None]) -> None:
        self._clock = clock
        self._oldest = oldest
        self._began = (clock.now(), clock.monotonic())
        #: What our time is ahead of Google's.
        self._ahead = timedelta(0)
        self._written: dict[datetime, datetime] = {}
        #: The last event that came: its age, and when.
        self._last = (0.0, -float("inf"))
        self._since: float | None = None
        #: Whether what comes is older than it may be: then what is missed comes behind it.
        self.late = False
        #: Whether what comes, or waits here, has been older than it may be for long.
        self.lasting = False

    def wrote(self, at: datetime, now: float) -> None:
        """A canary was written that bears this moment of the wall clock."""
        self._written = {at: self._time(now), **dict(list(self._written.items())[:99])}

    def canary(self, event: Event, published: datetime) -> None:
        """It came back."""
        written = self._written.pop(moment(event.at), None)
        if written is not None:
            self._ahead = written - published

    def came(self, published: datetime, now: float) -> None:
        """An event came."""
        self._last = (self._age(published, now), now)

    def age(self) -> float:
        """Of the oldest event that is not handled, in seconds; 0 when there is none."""
        now = self._clock.monotonic()
        waiting = self._oldest()
        return max(0.0, self._coming(now), 0.0 if waiting is None else self._age(waiting, now))

    def check(self, now: float, limit: float) -> None:
        """Judge anew. `limit`: how old an event may be, in seconds."""
        self.late = self._coming(now) > limit
        if self.age() <= limit:
            self._since = None
        elif self._since is None:
            self._since = now
        self.lasting = self._since is not None and now - self._since > limit / 2

    def _coming(self, now: float) -> float:
        """What came just now was handled: what comes behind it is as old."""
        age, when = self._last
        return age if now - when < _FRESH else 0.0

    def _time(self, now: float) -> datetime:
        return self._began[0] + timedelta(seconds=now - self._began[1])

    def _age(self, published: datetime, now: float) -> float:
        return (self._time(now) - self._ahead - published).total_seconds()
