"""The canaries that are out: written to Cloud Logging, and not come back. Told apart by the moment they bear."""

from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Final

from sinks.intake.events import Event, moment

#: The oldest one tells since when, the last ones are those that may come.
_MOST: Final = 100


@dataclass(frozen=True, slots=True)
class Return:
    """A canary came back."""

    #: When the last one before it that came back was written; None: none did.
    before: float | None
    written: float
    #: How many in between did not come.
    lost: int


class Canaries:
    """Of one process of one cluster: several clusters, and earlier processes of this one, may share the path."""

    def __init__(self, cluster: str, writer: str) -> None:
        self._cluster = cluster
        self._writer = writer
        #: What a canary bears -> when it was written (or could first come back), on the monotonic clock.
        self._out: dict[datetime, float] = {}
        #: When the last one that came back was written.
        self._answered: float | None = None

    def written(self, at: datetime, now: float) -> None:
        """One was written that bears this moment."""
        if len(self._out) >= _MOST:
            del self._out[next(islice(self._out, 1, None))]
        self._out[at] = now

    def came(self, event: Event) -> Return | None:
        """What a canary that came back tells; None: it is no such one.

        Those before it are lost, or late: they prove nothing any more.
        """
        at = moment(event.at)
        if (event.name, event.writer) != (self._cluster, self._writer) or at not in self._out:
            return None
        written, order = self._out[at], list(self._out)
        lost = order.index(at)
        for each in order[: lost + 1]:
            del self._out[each]
        before, self._answered = self._answered, written
        return Return(before, written, lost)

    def excuse(self, since: float, now: float) -> None:
        """None could come back in between: that time does not count."""
        self._out = {at: written + now - max(written, since) for at, written in self._out.items()}

    def forget(self) -> None:
        """Those that are out are lost."""
        self._out.clear()

    def answered(self, now: float) -> float | None:
        """How long ago the last one that came back was written, in seconds."""
        return None if self._answered is None else now - self._answered

    def outlived(self, moment: float) -> int:
        """How many are out that were written before this moment."""
        return sum(written < moment for written in self._out.values())

    def oldest(self, now: float) -> float | None:
        """The age of the oldest one that is out, in seconds."""
        return now - min(self._out.values()) if self._out else None
