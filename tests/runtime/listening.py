"""The ears of an operator on a path of which every piece can break, in virtual time: hours take milliseconds."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta

from controller.core.model import Kind
from controller.core.observed import ResourceRef
from controller.core.verdicts import Verdict
from controller.runtime.awaited import Awaited
from controller.runtime.backlog import Backlog
from controller.runtime.hearing import Hearing, Path, Ways
from controller.runtime.metrics import Metrics
from sinks.intake.delivery import StreamState
from sinks.intake.events import Event, EventKind, Phase, Resource
from tests.runtime.virtual_time import BEGINNING, VirtualClock, elapsed

OWN, ANOTHER = "my-gcp-project", "another-project"
SUBSCRIPTION = "projects/my-gcp-project/subscriptions/tpu-node-group-events"
UP = StreamState(connected=True, since=0.0)


def down(error: str = "Pub/Sub cannot be reached", code: str = "UNAVAILABLE", failures: int = 1) -> StreamState:
    """A stream that broke."""
    return StreamState(connected=False, since=0.0, error=error, code=code, failures=failures)


def entry_of(
    resource: Resource = Resource.GROUP,
    name: str = "slice-mig",
    *,
    project: str = OWN,
    kind: EventKind = EventKind.INSERTED,
    operation: str = "",
) -> Event:
    """An audit entry."""
    return Event(resource, kind, project, None, name, None, Phase.FIRST, None, "2026-01-31T12:00:00Z", "key", operation)


def canary_of(at: datetime, cluster: str = "c", writer: str = "me") -> Event:
    """A canary that comes back, its moment written as Cloud Logging may: without trailing zeros."""
    text = at.isoformat().replace("+00:00", "Z")
    return Event(
        Resource.CANARY, EventKind.CANARY, OWN, None, cluster, None, Phase.ONLY, None, text, "key", writer=writer
    )


def mig(name: str = "slice-mig", project: str = OWN) -> ResourceRef:
    """A managed instance group."""
    return ResourceRef(Kind.MIG, project, "us-central1-c", name)


class SkewedClock(VirtualClock):
    """Its wall clock is wrong by `skew`."""

    def __init__(self) -> None:
        super().__init__()
        self.skew = timedelta(0)

    def now(self) -> datetime:
        """Wrong."""
        return super().now() + self.skew


class Listening:
    """The operator `me` of cluster `c`. `lost`: whether the n-th canary (from 1) is; `latency`: of every entry."""

    def __init__(self, *, interval: float = 300, limit: float = 120, skew: float = 0.0) -> None:
        self.clock = SkewedClock()
        self.clock.skew = timedelta(seconds=skew)
        self.metrics = Metrics()
        self.awaited = Awaited()
        self.latency = 2.0
        #: Between publication and receipt: a backlog in Pub/Sub.
        self.backlog = 0.0
        self.lost: Callable[[int], bool] = lambda _: False
        self.trouble = ""
        self.waiting: datetime | None = None
        self.projects = {OWN}
        self.canaries: list[float] = []
        self.changes: list[tuple[float, str, str]] = []
        path = Path(OWN, SUBSCRIPTION, "c", "me", timedelta(seconds=interval), timedelta(seconds=limit))
        ways = Ways(self._write, lambda: self.trouble, lambda: self.projects, self._changed)
        backlog = Backlog(self.clock, lambda: self.waiting)
        self.hearing = Hearing(self.clock, self.metrics, self.awaited, backlog, path, ways)

    @property
    def reason(self) -> str:
        """Of the own project."""
        return self.verdict.reason

    @property
    def verdict(self) -> Verdict:
        """Of the own project."""
        return self.hearing.verdict(OWN)

    @property
    def reasons(self) -> list[str]:
        """What was told of the own project, in order."""
        return [reason for _, project, reason in self.changes if project == OWN]

    def flowing(self, project: str = OWN) -> float | None:
        """The metric."""
        return self.metrics.registry.get_sample_value("tpu_events_flowing", {"project": project})

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """While it listens."""
        task = asyncio.create_task(self.hearing.run())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    def comes(self, event: Event) -> None:
        """An entry is written now, and comes."""
        published = BEGINNING + timedelta(seconds=elapsed() + self.latency)
        loop = asyncio.get_running_loop()
        loop.call_later(self.latency + self.backlog, self.hearing.heard, event, published)

    def inserts(self, name: str = "slice-mig", project: str = OWN, *, comes: bool = True) -> str:
        """A mutation of ours is accepted; its entry comes, or does not. The operation."""
        operation = f"operation-{name}"
        now = self.clock.monotonic()
        self.awaited.mutated(mig(name, project), "insert", operation, now, now)
        if comes:
            self.comes(entry_of(name=name, project=project, operation=operation))
        return operation

    def _write(self, at: datetime) -> None:
        self.canaries.append(elapsed())
        if not self.trouble and not self.lost(len(self.canaries)):
            self.comes(canary_of(at))

    def _changed(self, project: str) -> None:
        self.changes.append((elapsed(), project, self.hearing.verdict(project).reason))


def all_lost(_: int) -> bool:
    """Of the canaries."""
    return True
