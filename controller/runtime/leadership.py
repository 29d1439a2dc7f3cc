"""Two replicas, one Lease: who may act, with a deadline of our own clock that is checked before every mutation.

Safety rests on two rules and no wall clock. The leader counts its time from *before* it sent the renewal that took
effect, and stops `renew_deadline` after it. A follower counts from when it *saw* the record change, and takes over only
after `lease_duration` without a change, which is longer. So a leader whose renewals hang, or whose clock is skewed,
has stopped before another begins. Times in the record are for people; nobody compares them.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol, TypeVar

import structlog

from controller.core.failures import Conflict, Failure, Gone, Retry
from controller.runtime.ports import Clock, Jitter

log = structlog.get_logger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """What the Lease says. `holder` is "" when it was released. `version` is its resourceVersion."""

    holder: str
    duration: timedelta
    acquired: datetime
    renewed: datetime
    transitions: int
    version: str = ""


class LeaseStore(Protocol):
    """The one Lease. Each call raises a `core.failures.Failure` and nothing else."""

    async def read(self) -> LeaseRecord | None:
        """The record, None when there is no Lease."""
        ...

    async def create(self, record: LeaseRecord) -> LeaseRecord:
        """Create it; raises Conflict when somebody was first."""
        ...

    async def update(self, record: LeaseRecord) -> LeaseRecord:
        """Replace it under `record.version`; raises Conflict when it changed, Gone when it is not there."""
        ...


class NotLeader(Exception):  # noqa: N818 - reads as what happened: "except NotLeader"
    """Raised by `Leadership.check`: this replica may not act (any more)."""


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """Seconds, each smaller than the one before it: a takeover takes at most duration + retry."""

    duration: float = 15.0
    renew_deadline: float = 10.0
    call_timeout: float = 4.0
    retry: float = 2.0

    def __post_init__(self) -> None:
        if not self.duration > self.renew_deadline > self.call_timeout >= self.retry > 0:
            raise ValueError("The lease needs duration > renew deadline > call timeout >= retry period > 0.")


class Leadership:
    """`await acquire()`, then `check()` before every mutation; when `lost` is set, end the process.

    `identity` is the Pod's name: a Lease that this identity holds already (the container was restarted) is taken at
    once, so no two processes may share one. So is one whose holder `is_dead`: it says so only of a process that it can
    see to have ended. `await release()` after all work has stopped.
    """

    def __init__(
        self,
        store: LeaseStore,
        clock: Clock,
        jitter: Jitter,
        identity: str,
        times: LeaseTimes | None = None,
        *,
        is_dead: Callable[[str], bool] = lambda _holder: False,
    ) -> None:
        if not identity:
            raise ValueError("The leader's identity is empty: give the name of the Pod.")
        self._store = store
        self._clock = clock
        self._jitter = jitter
        self._identity = identity
        self._times = times or LeaseTimes()
        self._is_dead = is_dead
        self._held: LeaseRecord | None = None
        self._deadline = 0.0
        self._renewing: asyncio.Task[None] | None = None
        self.lost = asyncio.Event()

    @property
    def is_leader(self) -> bool:
        """True while this replica may act."""
        return self._held is not None and not self.lost.is_set() and self._clock.monotonic() < self._deadline

    def check(self) -> None:
        """Raises NotLeader unless the last renewal that took effect is recent enough."""
        if not self.is_leader:
            raise NotLeader(f"{self._identity} does not hold the lease: another replica may be acting.")

    async def acquire(self) -> None:
        """Wait until this replica leads, then keep renewing in the background. Failures are waited out."""
        seen: LeaseRecord | None = None
        seen_at = self._clock.monotonic()
        while self._held is None:
            try:
                current = await self._timed(self._store.read())
                if current is None or seen is None or current.version != seen.version:
                    seen, seen_at = current, self._clock.monotonic()
                if self._is_free(current, seen_at):
                    await self._take(current)
                    continue
            except Conflict:
                log.info("another replica was first to take the lease", identity=self._identity)
            except Failure as failure:
                log.warning("lease could not be read or taken", failure=str(failure))
            await self._clock.sleep(self._pause())
        log.info("leads", identity=self._identity)
        self._renewing = asyncio.create_task(self._keep(), name="lease renewal")

    async def release(self) -> None:
        """Stop renewing and give the lease up, so that the other replica need not wait. Best effort."""
        if self._renewing is not None:
            self._renewing.cancel()
            with suppress(asyncio.CancelledError):
                await self._renewing
            self._renewing = None
        held, self._held = self._held, None
        if held is None or self.lost.is_set():
            return
        try:
            now = self._clock.now()
            await self._timed(self._store.update(replace(held, holder="", duration=timedelta(seconds=1), renewed=now)))
        except Failure as failure:
            log.info("lease not given up; it runs out by itself", failure=str(failure))

    def _is_free(self, current: LeaseRecord | None, seen_at: float) -> bool:
        if current is None or current.holder in {"", self._identity} or self._is_dead(current.holder):
            return True
        return self._clock.monotonic() - seen_at >= max(self._times.duration, current.duration.total_seconds())

    async def _take(self, current: LeaseRecord | None) -> None:
        begun = self._clock.monotonic()
        now = self._clock.now()
        duration = timedelta(seconds=self._times.duration)
        if current is None:
            taken = await self._timed(self._store.create(LeaseRecord(self._identity, duration, now, now, 0)))
        else:
            same = current.holder == self._identity
            wanted = LeaseRecord(
                holder=self._identity,
                duration=duration,
                acquired=current.acquired if same else now,
                renewed=now,
                transitions=current.transitions + (0 if same else 1),
                version=current.version,
            )
            taken = await self._timed(self._store.update(wanted))
        self._held, self._deadline = taken, begun + self._times.renew_deadline

    async def _keep(self) -> None:
        """Renew until the lease is lost, by a taker, by silence or by a bug of ours."""
        try:
            await self._renew_in_time()
            log.error("lease not renewed in time", identity=self._identity)
        except NotLeader as loss:
            log.error("lease lost", loss=str(loss))  # noqa: TRY400 - the loss is no error of the code
        except Exception:
            log.exception("renewing the lease failed in a way that is not known")
        self.lost.set()

    async def _renew_in_time(self) -> None:
        while (left := self._deadline - self._clock.monotonic()) > 0:
            await self._clock.sleep(min(self._pause(), left))
            if self._clock.monotonic() >= self._deadline:
                # Slept too long: the process was stopped, or its machine was. What was refused in between by `check`
                # is not taken up again, so a late renewal would lead without doing its work.
                return
            try:
                await self._renew()
            except Failure as failure:
                log.warning("lease not renewed", failure=str(failure))

    async def _renew(self) -> None:
        held = self._held
        assert held is not None
        begun = self._clock.monotonic()
        try:
            renewed = await self._timed(self._store.update(replace(held, renewed=self._clock.now())))
        except (Conflict, Gone):
            await self._take(await self._still_ours())
        else:
            self._held, self._deadline = renewed, begun + self._times.renew_deadline

    async def _still_ours(self) -> LeaseRecord | None:
        """The record as it is now: changed by an update of ours whose answer was lost, or by hand, or taken."""
        current = await self._timed(self._store.read())
        if current is not None and current.holder != self._identity:
            holder = current.holder or "nobody"
            raise NotLeader(f"{self._identity} lost the lease: {holder} holds it now.")
        return current

    async def _timed(self, call: Awaitable[T]) -> T:
        """The call, bounded, also by the deadline of the lease that is held: a black hole must not lead for ever."""
        limit = self._times.call_timeout
        if self.is_leader:
            limit = min(limit, self._deadline - self._clock.monotonic())
        try:
            async with asyncio.timeout(limit):
                return await call
        except TimeoutError as error:
            raise Retry("The lease got no answer in time. It is tried again.", "timeout") from error

    def _pause(self) -> float:
        return self._jitter.around(timedelta(seconds=self._times.retry), 0.2).total_seconds()
