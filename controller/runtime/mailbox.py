"""One mailbox and at most one worker a key. A post means "look again"; posts that wait are one look.

A wake is never dropped: a look that fails is put back with its scope and its instances, behind a back-off. A fresh
event does not wait for that: it gets a look of its own scope. Looks of one key are rate-capped, so that forged events
cannot amplify. There is no await between a worker's last check for a wake and the
moment it is gone, so a post cannot fall in between.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

import structlog

from controller.core.model import Key, Wake
from controller.core.plan import Recheck
from controller.runtime.ports import Clock, Jitter

log = structlog.get_logger(__name__)

#: What sums of floats may lack of a whole look: a wait for that would be too short to be one.
_ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Next:
    """What a look leaves behind: timers (they replace the key's earlier ones), what failed, what to do at once."""

    rechecks: tuple[Recheck, ...] = ()
    #: What must be looked at again after a back-off, because a call failed.
    retry: Wake | None = None
    #: The shortest wait that the failure asks for, in seconds.
    retry_after: float = 0.0
    #: The status was changed so that the next look can act.
    again: Wake | None = None


Handler = Callable[[Key, Wake], Awaitable[Next]]


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds and rates. `looks_per_second` is a cap for each key, `workers` the number of looks at one time."""

    looks_per_second: float = 20.0
    burst: float = 40.0
    workers: int = 32
    retry_first: float = 1.0
    retry_max: float = 60.0


@dataclass(slots=True)
class _Box:
    pending: Wake | None = None
    #: What the look that runs was asked for.
    running: Wake | None = None
    worker: asyncio.Task[None] | None = None
    timers: list[asyncio.TimerHandle] = field(default_factory=list)
    #: A failed look that waits for its back-off. Other looks do not touch it: it asks for what they may not read.
    retry: Wake | None = None
    retry_timer: asyncio.TimerHandle | None = None
    failures: int = 0
    #: Looks that may begin without waiting (a token bucket), as of `refilled`, a loop time.
    allowance: float = 0.0
    refilled: float = 0.0


def _take(box: _Box) -> Wake | None:
    wake, box.pending = box.pending, None
    box.running = wake
    box.allowance -= 1
    return wake


class Mailboxes:
    """All keys' mailboxes on the running event loop."""

    def __init__(self, handle: Handler, clock: Clock, jitter: Jitter, limits: Limits) -> None:
        self._handle = handle
        self._clock = clock
        self._jitter = jitter
        self._limits = limits
        self._boxes: dict[Key, _Box] = {}
        self._slots = asyncio.Semaphore(limits.workers)
        self._closed = False

    def post(self, key: Key, wake: Wake) -> None:
        """Ask for a look. Never blocks, never fails; after `close` it does nothing."""
        if self._closed:
            return
        box = self._boxes.setdefault(key, _Box())
        box.pending = wake if box.pending is None else box.pending.merge(wake)
        if box.worker is None:
            box.worker = asyncio.get_running_loop().create_task(self._work(key, box), name=f"look {key}")

    def forget(self, key: Key) -> None:
        """Drop the timers of a key whose object is gone. A worker that runs now ends by itself."""
        box = self._boxes.get(key)
        if box is None:
            return
        self._stop_timers(box)
        box.pending = None
        if box.worker is None:
            del self._boxes[key]

    @property
    def waiting(self) -> int:
        """How many keys have a look waiting or running."""
        return sum(box.pending is not None or box.worker is not None for box in self._boxes.values())

    @property
    def saturation(self) -> float:
        """Looks that run, of those that may run at once."""
        return sum(box.running is not None for box in self._boxes.values()) / self._limits.workers

    @property
    def oldest_event(self) -> datetime | None:
        """When the oldest event was published whose look is to come, runs, or has failed; None when there is none."""
        wakes = [wake for box in self._boxes.values() for wake in (box.pending, box.running, box.retry)]
        return min((at for wake in wakes if wake and (at := wake.oldest_event)), default=None)

    async def close(self, grace: float) -> None:
        """Start nothing more; let the looks that run finish within `grace` seconds, then cancel them."""
        self._closed = True
        workers = [box.worker for box in self._boxes.values() if box.worker is not None]
        for box in self._boxes.values():
            self._stop_timers(box)
            box.pending = None
        if workers:
            _, late = await asyncio.wait(workers, timeout=grace)
            for worker in late:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
        self._boxes.clear()

    async def _work(self, key: Key, box: _Box) -> None:
        loop = asyncio.get_running_loop()
        while box.pending is not None:
            if (wait := self._wait(box, loop.time())) > 0:
                await asyncio.sleep(wait)
                continue
            async with self._slots:
                # Taken only now: what was posted while this waited for a slot is the same look.
                wake = _take(box)
                if wake is None:
                    break
                following = await self._look(key, wake)
            box.running = None
            if not self._closed:
                self._schedule(key, box, following)
        box.worker = None
        if not box.timers and box.retry is None:
            # Kept until its allowance is full again: a new box would have a full one at once.
            idle = self._limits.burst / self._limits.looks_per_second
            box.timers = [loop.call_later(idle, self._drop, key, box)]

    def _drop(self, key: Key, box: _Box) -> None:
        if box.worker is None and self._boxes.get(key) is box:
            del self._boxes[key]

    async def _look(self, key: Key, wake: Wake) -> Next:
        try:
            return await self._handle(key, wake)
        except Exception:
            # The handler maps all failures that it knows; what comes here is a bug of ours, and must not stop a key.
            log.exception("look failed", key=str(key), cause=wake.cause.kind)
            return Next(retry=wake)

    def _wait(self, box: _Box, now: float) -> float:
        """Seconds until the key's rate cap allows the next look."""
        rate = self._limits.looks_per_second
        box.allowance = min(self._limits.burst, box.allowance + (now - box.refilled) * rate)
        box.refilled = now
        missing = 1 - box.allowance
        return missing / rate if missing > _ROUNDING else 0.0

    def _schedule(self, key: Key, box: _Box, following: Next) -> None:
        for timer in box.timers:
            timer.cancel()
        box.timers = [self._timer(key, recheck) for recheck in following.rechecks]
        if following.retry is not None:
            self._back_off(key, box, following.retry, following.retry_after)
        elif box.retry is None:
            box.failures = 0
        if following.again is not None:
            self.post(key, following.again)

    def _back_off(self, key: Key, box: _Box, wake: Wake, at_least: float) -> None:
        """Wait, or leave the wait that runs if it ends sooner: events that keep failing must not put a retry off."""
        loop = asyncio.get_running_loop()
        full = min(self._limits.retry_first * 2 ** min(box.failures, 20), self._limits.retry_max)
        due = loop.time() + max(self._jitter.around(timedelta(seconds=full), 0.5).total_seconds(), at_least)
        box.retry = wake if box.retry is None else box.retry.merge(wake)
        if box.retry_timer is None:
            box.failures += 1
        elif box.retry_timer.when() <= due:
            return
        else:
            box.retry_timer.cancel()
        box.retry_timer = loop.call_at(due, self._post_retry, key, box)

    def _post_retry(self, key: Key, box: _Box) -> None:
        wake, box.retry, box.retry_timer = box.retry, None, None
        if wake is not None:
            self.post(key, wake)

    def _timer(self, key: Key, recheck: Recheck) -> asyncio.TimerHandle:
        delay = max(0.0, (recheck.at - self._clock.now()).total_seconds())
        return asyncio.get_running_loop().call_later(delay, self.post, key, recheck.wake)

    @staticmethod
    def _stop_timers(box: _Box) -> None:
        for timer in box.timers:
            timer.cancel()
        box.timers = []
        box.retry = None
        if box.retry_timer is not None:
            box.retry_timer.cancel()
            box.retry_timer = None
