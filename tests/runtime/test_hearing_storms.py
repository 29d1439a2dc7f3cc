"""Weeks of bad weather in virtual time: whatever broke before, what is broken now is named, and what is whole is heard.

Entries take up to a third of the limit, some canaries are lost, the stream is replaced now and then, the clock jumps.
"""

import asyncio
import random
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Final

import pytest

from controller.api.reasons import Reason
from sinks.intake.events import Event, Resource
from tests.runtime.listening import UP, Listening, down, entry_of
from tests.runtime.virtual_time import BEGINNING, elapsed

LIMIT: Final = 30.0
#: Long enough for a cause to be told, and for what was told to be taken back.
PHASE: Final = 4 * LIMIT


def _everything(_: Event) -> bool:
    return True


def _nothing(_: Event) -> bool:
    return False


def _no_canary(event: Event) -> bool:
    return event.resource is not Resource.CANARY


#: Which entries the sink exports, and what is said then.
WEATHER: Final[Mapping[str, tuple[Callable[[Event], bool], Reason]]] = {
    "whole": (_everything, Reason.FLOWING),
    "sink": (_nothing, Reason.NO_EVENTS),
    "filter without canary": (_no_canary, Reason.CANARY_MISSING),
    "filter without audit entries": (lambda event: not _no_canary(event), Reason.ACTIVITY_MISSING),
    "writer": (_everything, Reason.CANARY_NOT_WRITTEN),
    "refused": (_everything, Reason.STREAM_DOWN),
    "missing": (_nothing, Reason.STREAM_DOWN),
    "flapping": (_everything, Reason.STREAM_DOWN),
}


class Storm(Listening):
    """A path on which others and the operator do things all the time."""

    def __init__(self, seed: int) -> None:
        super().__init__(interval=2 * LIMIT, limit=LIMIT)
        self._dice = random.Random(seed)
        self._up = True
        self._waiting: list[tuple[Event, float]] = []
        self._in_a_row = 0
        self._mutations = 0
        self.exports: Callable[[Event], bool] = _everything
        self.lost = self._is_lost

    def _is_lost(self, _: int) -> bool:
        self._in_a_row = self._in_a_row + 1 if self._dice.random() < 0.25 and self._in_a_row < 2 else 0
        return self._in_a_row > 0

    def comes(self, event: Event) -> None:
        """Through the sink as it is now, and the stream as it is then."""
        if self.exports(event):
            delay = self._dice.uniform(0, LIMIT / 3)
            asyncio.get_running_loop().call_later(delay, self._arrives, event, elapsed() + delay)

    def _arrives(self, event: Event, published: float) -> None:
        if self._up:
            self.hearing.heard(event, BEGINNING + timedelta(seconds=published))
        else:
            self._waiting.append((event, published))

    def connects(self) -> None:
        """What waits is delivered."""
        if not self._up:
            self._up = True
            self.hearing.stream(UP)
            waiting, self._waiting = self._waiting, []
            for event, published in waiting:
                self._arrives(event, published)

    def breaks(self, code: str = "UNAVAILABLE", failures: int = 1) -> None:
        """The stream does."""
        self._up = False
        self.hearing.stream(down("it broke", code, failures))

    async def phase(self, weather: str) -> None:
        """Some time of it."""
        self.exports = WEATHER[weather][0]
        end = elapsed() + self._dice.uniform(PHASE, 2 * PHASE)
        while elapsed() < end:
            self._mutations += 1
            self.inserts(f"mig-{self._mutations}")
            self.comes(entry_of(Resource.INSTANCE, "a-vm"))
            match weather:
                case "writer":
                    self.trouble = "refused"
                case "refused" | "missing":
                    self.breaks("NOT_FOUND" if weather == "missing" else "PERMISSION_DENIED", failures=2)
                case "flapping":
                    self.breaks()
                    self.hearing.stream(UP)
                    await asyncio.sleep(0.2)
                    self.breaks()
                case _ if self._dice.random() < 0.1:
                    self.breaks()
                    await asyncio.sleep(self._dice.uniform(0.1, 2))
                    self.connects()
            await asyncio.sleep(self._dice.uniform(1, 6))

    async def clears(self, weather: str) -> None:
        """The next phase begins with what broke mended."""
        self.trouble = ""
        if weather == "missing":
            self._waiting.clear()
        self.connects()
        if self._dice.random() < 0.3:
            self.clock.skew += timedelta(hours=self._dice.choice((-1, 1)))


@pytest.mark.parametrize(
    ("seed", "phases"), [(0, 6), *(pytest.param(seed, 20, marks=pytest.mark.slow) for seed in range(1, 21))]
)
async def test_whatever_the_weather_was_what_is_now_is_told(seed: int, phases: int) -> None:
    dice, storm = random.Random(seed), Storm(seed)
    storm.hearing.stream(UP)
    history: list[str] = []
    async with storm.running():
        for _ in range(phases):
            weather = dice.choice(list(WEATHER))
            history.append(weather)
            await storm.phase(weather)
            assert storm.reason == WEATHER[weather][1], history
            await storm.clears(weather)
            # One thing breaks at a time.
            await storm.phase("whole")
            assert storm.reason == Reason.FLOWING, history
        storm.changes.clear()
        await storm.phase("whole")
    assert (storm.reason, storm.changes) == (Reason.FLOWING, [])
