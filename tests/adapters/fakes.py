"""What the adapters are given in tests: a clock that moves only when told or slept on, and no jitter."""

import asyncio
from datetime import UTC, datetime, timedelta


class FakeClock:
    """Time that moves when somebody sleeps. A sleep gives way once, so that other tasks run."""

    def __init__(self, now: datetime = datetime(2026, 12, 1, 10, 0, 50, tzinfo=UTC), monotonic: float = 1000.0) -> None:
        self._now = now
        self._monotonic = monotonic

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    def advance(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)
        self._monotonic += seconds

    async def sleep(self, seconds: float) -> None:
        self.advance(seconds)
        await asyncio.sleep(0)


class NoJitter:
    """`base` as it is."""

    def around(self, base: timedelta, share: float) -> timedelta:
        del share
        return base
