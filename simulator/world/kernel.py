"""What all parts of the world share: clock, dice, ids, the log, the guests, and the tasks that are its passing time."""

import asyncio
from collections.abc import Coroutine

from simulator.seams import GuestHost, LogWriter, Now
from simulator.timing import Dice, Span, Timings
from simulator.world.history import History
from simulator.world.names import Ids
from simulator.world.settings import WorldSettings

__all__ = ["Kernel", "NoGuests"]


class NoGuests:
    """A guest host for worlds whose VMs run nothing."""

    def powered_on(self, instance_id: str) -> None:
        """Nothing boots."""

    def powered_off(self, instance_id: str) -> None:
        """Nothing stops."""


class Kernel:
    """Shared by the parts of one world; the parts own their resources and never reach into each other's."""

    def __init__(self, now: Now, timings: Timings, log: LogWriter, settings: WorldSettings, seed: int) -> None:
        self.now = now
        self.timings = timings
        self.log = log
        self.settings = settings
        self.dice = Dice(seed, timings.scale)
        self.ids = Ids(self.dice.random)
        self.guests: GuestHost = NoGuests()
        self.history = History(now)
        self.failures: list[BaseException] = []
        #: Time has stopped: nothing is written any more.
        self.closed = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._turns: dict[str, int] = {}

    def spawn(self, work: Coroutine[object, object, None]) -> "asyncio.Task[None]":
        """Let something happen in the world's own time; kept until done, an unexpected error is kept in `failures`."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def pause(self, span: Span, at_least: float = 0.0) -> None:
        """Let a drawn duration pass; `at_least` keeps what repeats itself from spinning in a world without waiting."""
        await asyncio.sleep(max(at_least, self.dice.seconds(span)))

    def first_of_two(self, question: str, choice: str, first: str) -> bool:
        """Answer a two-way setting: whether `choice` names `first`; "alternate" answers yes, no, yes, ..."""
        if choice != "alternate":
            return choice == first
        turn = self._turns.get(question, 0)
        self._turns[question] = turn + 1
        return turn % 2 == 0

    async def close(self) -> None:
        """Stop time: cancel everything that is under way and wait for its end."""
        self.closed = True
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.failures.append(error)
            asyncio.get_running_loop().call_exception_handler(
                {"message": "a part of the simulated world failed", "exception": error, "task": task}
            )
