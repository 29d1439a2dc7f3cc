"""Tells the story while it happens: asks the world what is new, and puts it in order with what the cluster showed."""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta

from controller.demo.control import Control
from controller.demo.history import History, history_of
from controller.demo.options import GROUP_NAME
from controller.demo.screen import Screen
from controller.demo.steps import (
    Rank,
    Step,
    condense,
    joined_before_revoked,
    of_acts,
    of_announcements,
    of_lives,
    of_node,
)
from controller.demo.witness import Ready

#: How often the world is asked, in seconds.
PERIOD = 0.25
#: ... and how many times longer than the answer took it is left alone then: a big world takes long to tell.
RESPECT = 5
#: Audit records reach the log in batches: told so much later, everything is there and in order.
LAG = timedelta(seconds=0.75)


class Narrator:
    """Collects steps from all sides and hands them to the screen, each once, in the order of time."""

    def __init__(self, control: Control, screen: Screen, now: Callable[[], datetime]) -> None:
        self._control = control
        self._screen = screen
        self._now = now
        self._heard: list[Step] = []
        self._told: set[Step] = set()

    def say(self, text: str) -> None:
        """What the user or fate does."""
        self._heard.append(Step(self._now(), text))

    def ready(self, at: datetime, ready: Ready) -> None:
        """The group's Ready condition changed."""
        message = " ".join(ready.message.split())
        self._heard.append(Step(at, f"Ready={ready.status}, {ready.reason}: {message}", rank=Rank.CONDITION))

    def node(self, at: datetime, what: str, name: str) -> None:
        """A Node changed."""
        self._heard.append(of_node(at, what, name))

    def gone(self, at: datetime) -> None:
        """The group is no more."""
        self._heard.append(Step(at, f"{GROUP_NAME} is gone", rank=Rank.END))

    async def follow(self) -> None:
        """Tell what is new, again and again, until cancelled. A silent screen asks nothing: looking costs time too."""
        if self._screen.silent:
            await asyncio.Event().wait()
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            await self.catch_up(LAG)
            await asyncio.sleep(max(PERIOD, RESPECT * (loop.time() - began)))

    async def catch_up(self, lag: timedelta = timedelta(0)) -> History:
        """Tell everything up to now, or up to `lag` ago; the history that it was told from."""
        until = self._now() - lag
        history = history_of(await self._control.world())
        causes = {each.token.id: each.act.cause for each in history.injections if each.act}
        seen = [*of_lives(history.lives, causes), *of_acts(history.acts), *of_announcements(history.announcements)]
        # What is younger waits for the next time, so that the order stays right.
        heard = joined_before_revoked(self._heard, history.lives, history.acts)
        fresh = [step for step in (*seen, *heard) if step.at <= until and step not in self._told]
        self._heard = [step for step in self._heard if step.at > until]
        self._told.update(fresh)
        self._screen.tell(condense(fresh, self._screen.zero))
        return history
