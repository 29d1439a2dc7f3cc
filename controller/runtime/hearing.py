"""Whether events reach us at all, for each project: gathers what was expected and what came, and asks the judge.

A canary that is written to Cloud Logging must come back through the subscription: that measures the whole path (log,
sink, filter, topic, subscription), also where nothing happens. Entries of what we did, and of what a resync found, must
come too (`awaited.py`). The verdicts go into the groups' condition EventsFlowing, and never affect Ready.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import structlog

from controller.api.reasons import Reason
from controller.core.deaf_words import Names
from controller.core.deafness import SUSPICIOUS, Evidence, judge, suspicious
from controller.core.verdicts import Verdict
from controller.runtime.awaited import Awaited, is_audit
from controller.runtime.backlog import Backlog
from controller.runtime.canaries import Canaries
from controller.runtime.holding import Holding
from controller.runtime.metrics import Metrics
from controller.runtime.ports import Clock
from sinks.intake.delivery import StreamState
from sinks.intake.events import Event, Resource

log = structlog.get_logger(__name__)

_CHECK: Final = 1.0
#: So many canaries in a row that do not come are an outage: what was awaited meanwhile is lost for all we know.
_OUTAGE: Final = 2
_FINE: Final = frozenset({Reason.FLOWING, Reason.AWAITING_FIRST_EVENT})


@dataclass(frozen=True, slots=True)
class Path:
    """Whose path is listened to, and when it counts as broken."""

    #: The project that canaries are written in.
    project: str
    #: `projects/p/subscriptions/s`.
    subscription: str
    #: A canary names them: paths may be shared.
    cluster: str
    writer: str
    #: How often a canary is written, and how late an entry may be.
    interval: timedelta
    limit: timedelta


@dataclass(frozen=True, slots=True)
class Ways:
    """How to reach what listening needs."""

    #: Writes one canary entry that bears this moment; best effort.
    write: Callable[[datetime], None]
    #: Why entries cannot be written, "" while they can.
    trouble: Callable[[], str]
    #: The projects of the groups.
    projects: Callable[[], Iterable[str]]
    #: The verdict on a project has changed: its groups must say so.
    on_change: Callable[[str], None]


class Hearing:
    """Sends canaries and judges what is heard."""

    def __init__(
        self, clock: Clock, metrics: Metrics, awaited: Awaited, backlog: Backlog, path: Path, ways: Ways
    ) -> None:
        self._clock = clock
        self._metrics = metrics
        self._awaited = awaited
        self._backlog = backlog
        self._path = path
        self._ways = ways
        self._limit = path.limit.total_seconds()
        self._canaries = Canaries(path.cluster, path.writer)
        self._holding = Holding(self._limit * SUSPICIOUS / 2)
        #: Projects of which something came (a canary, of the own one) since the stream was known to be down.
        self._proven: set[str] = set()
        #: When the last audit entry of each project came, and the last entry of any, on the monotonic clock.
        self._audit: dict[str, float] = {}
        self._anything: float | None = None
        #: Since when entries cannot be written.
        self._troubled: float | None = None
        self._verdicts: dict[str, Verdict] = {}
        #: When the words of a verdict changed last.
        self._said: dict[str, float] = {}

    def verdict(self, project: str) -> Verdict:
        """What EventsFlowing says of this project."""
        found = self._verdicts.get(project)
        return found if found is not None else self._judge(project, self._clock.monotonic())

    @property
    def details(self) -> list[str]:
        """What readiness tells of it, a line for each project that is not heard as it should be."""
        told = [(project, said) for project, said in sorted(self._verdicts.items()) if said.reason not in _FINE]
        return [f"events of {project}: {said.reason}: {said.message}" for project, said in told]

    def stream(self, state: StreamState) -> None:
        """The subscription's stream connected, or broke."""
        self._metrics.subscriber_up.set(1 if state.connected else 0)
        if self._holding.changed(state, self._clock.monotonic()):
            self._metrics.subscriber_restarts.inc()
        self._update()

    def heard(self, event: Event, published: datetime) -> None:
        """An entry came, whatever it is."""
        now = self._clock.monotonic()
        self._anything = now
        self._holding.heard()
        self._backlog.came(published, now)
        if event.resource is Resource.CANARY:
            self._canary(event, published)
        elif is_audit(event):
            if event.project in self._verdicts:
                # Anybody may make up projects; only those of groups are kept.
                self._audit[event.project] = now
                if event.project != self._path.project:
                    self._proven.add(event.project)
            self._awaited.heard(event, now, self._limit / 2)

    async def run(self) -> None:
        """Send canaries and judge, until cancelled."""
        written = -float("inf")
        checked = self._clock.monotonic()
        while True:
            now = self._clock.monotonic()
            if now - checked > self._limit * SUSPICIOUS:
                # This process was stopped, or had no time: what came meanwhile could not be taken.
                self._canaries.excuse(checked, now)
                self._awaited.excuse(checked, now)
            checked = now
            if now - written >= self._pause(now):
                written = now
                self._write(now)
            self._update()
            await self._clock.sleep(min(_CHECK, self._limit / 10))

    def _write(self, now: float) -> None:
        at = self._clock.now()
        self._canaries.written(at, now)
        self._backlog.wrote(at, now)
        self._ways.write(at)

    def _pause(self, now: float) -> float:
        """Sooner while something is late: whether it is lost alone, and when entries come again, must be known."""
        interval = self._path.interval.total_seconds()
        late = any(suspicious(self._evidence(project, now), self._limit) for project in self._projects())
        return min(interval, self._limit * SUSPICIOUS) if late else interval

    def _canary(self, event: Event, published: datetime) -> None:
        """Another's canary proves the path too, but not our own writing."""
        came = self._canaries.came(event)
        if came is None:
            return
        if came.lost >= _OUTAGE and came.before is not None:
            self._awaited.forget_between(self._path.project, came.before - self._limit * SUSPICIOUS, came.written)
        self._proven.add(self._path.project)
        self._backlog.canary(event, published)
        if self.verdict(self._path.project).reason != Reason.FLOWING:
            self._update()

    def _projects(self) -> set[str]:
        return {self._path.project, *self._ways.projects()}

    def _update(self) -> None:
        now = self._clock.monotonic()
        self._note_trouble(now)
        if (broken := self._holding.held_again(now)) is not None:
            self._hear_anew(broken, now)
        self._backlog.check(now, self._limit)
        projects = self._projects()
        for gone in self._verdicts.keys() - projects:
            del self._verdicts[gone]
            self._audit.pop(gone, None)
            self._proven.discard(gone)
            self._metrics.events_flowing.remove(gone)
            self._awaited.forget(gone)
        for project in projects:
            self._tell(project, self._judge(project, now), now)

    def _note_trouble(self, now: float) -> None:
        if self._ways.trouble():
            self._troubled = self._troubled if self._troubled is not None else now
        elif self._troubled is not None:
            # What waited to be written is written only now.
            self._canaries.excuse(self._troubled, now)
            self._troubled = None

    def _hear_anew(self, broken: float, now: float) -> None:
        """The stream is held again: what was published meanwhile comes now, or is gone with the subscription."""
        self._canaries.excuse(broken, now)
        self._awaited.excuse(broken, now)
        if self._holding.was_missing:
            self._canaries.forget()
            self._awaited.forget()
        if any(verdict.reason == Reason.STREAM_DOWN for verdict in self._verdicts.values()):
            # That it is held is no proof that something comes.
            self._proven.clear()
            self._write(now)

    def _tell(self, project: str, verdict: Verdict, now: float) -> None:
        before = self._verdicts.get(project)
        if before == verdict:
            return
        same = before is not None and (before.status, before.reason) == (verdict.status, verdict.reason)
        if same and now - self._said.get(project, now) < self._limit:
            # Other words for the same trouble: not with each attempt.
            return
        self._verdicts[project], self._said[project] = verdict, now
        if verdict.status == "False":
            log.warning("events do not arrive", project=project, reason=verdict.reason, cause=verdict.message)
        elif before is not None and before.status == "False":
            log.info("events arrive again", project=project, reason=verdict.reason)
        self._metrics.flowing(project, deaf=verdict.status == "False")
        if before is not None or verdict.status != "Unknown":
            self._ways.on_change(project)

    def _judge(self, project: str, now: float) -> Verdict:
        return judge(self._evidence(project, now), Names(project, self._path.subscription), self._limit)

    def _evidence(self, project: str, now: float) -> Evidence:
        own = project == self._path.project
        audit = self._audit.get(project)
        return Evidence(
            own=own,
            stream=self._holding.seen(now),
            canary=self._canaries.oldest(now),
            answered=self._canaries.answered(now),
            outlived=0 if audit is None else self._canaries.outlived(audit - self._limit / 2),
            proven=project in self._proven,
            trouble=self._ways.trouble(),
            trouble_for=now - self._troubled if self._troubled is not None else 0.0,
            audit=None if audit is None else now - audit,
            anything=None if self._anything is None else now - self._anything,
            missed=self._awaited.missed(project, now),
            late=self._backlog.late,
            behind=self._backlog.lasting,
        )
