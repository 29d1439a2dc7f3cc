"""The only place where time is read, and the only source of jitter."""

import asyncio
import time
from datetime import UTC, datetime, timedelta
from random import Random


class SystemClock:
    """The port `Clock` over the machine's clocks."""

    def now(self) -> datetime:
        """The wall clock, aware, in UTC."""
        return datetime.now(UTC)  # noqa: TID251 - the one reader of the wall clock; all others are given a clock

    def monotonic(self) -> float:
        """Seconds of a clock that never jumps."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


class RandomJitter:
    """The port `Jitter`. The same seed gives the same sequence."""

    def __init__(self, seed: int | None = None) -> None:
        self._random = Random(seed)

    def around(self, base: timedelta, share: float) -> timedelta:
        """`base` plus or minus a random share of it."""
        return base * (1 + share * self._random.uniform(-1, 1))
