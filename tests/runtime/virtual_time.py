"""An event loop whose time passes only while everybody waits: minutes of back-off take no time and are exact."""

import asyncio
import selectors
from datetime import UTC, datetime, timedelta
from typing import Any, Final

BEGINNING: Final = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
_FIRST: Final = 1000.0


class _Selector(selectors.DefaultSelector):
    """Never waits: tells the loop how long it would have."""

    loop: "VirtualLoop"

    def select(self, timeout: float | None = None) -> Any:
        events = super().select(0)
        if not events and timeout is None:
            raise RuntimeError("nothing will ever happen in this test")
        if not events and timeout:
            self.loop.pass_time(timeout)
        return events


class VirtualLoop(asyncio.SelectorEventLoop):
    """Time begins at 1000."""

    def __init__(self) -> None:
        self._virtual = _FIRST
        selector = _Selector()
        selector.loop = self
        super().__init__(selector)

    def time(self) -> float:
        """The time that has passed."""
        return self._virtual

    def pass_time(self, seconds: float) -> None:
        """Nobody has anything to do for so long."""
        self._virtual += max(0.0, seconds)


def elapsed() -> float:
    """Seconds since the test's loop began."""
    return round(asyncio.get_running_loop().time() - _FIRST, 6)


class VirtualClock:
    """The port `Clock` on the loop's time; it can be set ahead without waiting."""

    def __init__(self) -> None:
        self._ahead = 0.0

    def now(self) -> datetime:
        """BEGINNING and what has passed since."""
        return BEGINNING + timedelta(seconds=self.monotonic() - _FIRST)

    def monotonic(self) -> float:
        """The loop's time; the first moment outside of a loop."""
        try:
            return asyncio.get_running_loop().time() + self._ahead
        except RuntimeError:
            return _FIRST + self._ahead

    def advance(self, seconds: float) -> None:
        """So much time has passed, and nobody was woken."""
        self._ahead += seconds

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


class NoJitter:
    """The port `Jitter`: always the whole base."""

    def around(self, base: timedelta, share: float) -> timedelta:
        """`base` as it is."""
        del share
        return base
