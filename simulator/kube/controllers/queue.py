"""A controller's queue: keys to look at, each once, now or later; the world is read when the look happens.

Looks are synchronous, as the store's writes are, so nothing comes in between what a look reads and what it writes.
"""

import asyncio
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


class Queue(Generic[Key]):
    """Calls `look(key)` soon after `add(key)`. A look returns the seconds until the next one, None for none.

    Several `add`s before a look are one; the earliest time wins. An unexpected error goes to the event loop's handler
    and the key is tried again a second later.
    """

    def __init__(self, look: Callable[[Key], float | None]) -> None:
        self._look = look
        self._timers: dict[Key, asyncio.TimerHandle] = {}
        self._stopped = False

    def add(self, key: Key, after: float = 0) -> None:
        """Look at `key` in so many seconds, unless an earlier look is due."""
        if self._stopped:
            return
        loop = asyncio.get_running_loop()
        present = self._timers.get(key)
        if present is not None:
            if present.when() <= loop.time() + after:
                return
            present.cancel()
        self._timers[key] = loop.call_later(after, self._run, key)

    def stop(self) -> None:
        """Look at nothing any more."""
        self._stopped = True
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _run(self, key: Key) -> None:
        self._timers.pop(key, None)
        try:
            again = self._look(key)
        except Exception as error:  # noqa: BLE001 - a controller outlives the failure of one look
            context = {"message": f"the look at {key!r} failed", "exception": error}
            asyncio.get_running_loop().call_exception_handler(context)
            again = 1.0
        if again is not None:
            self.add(key, again)
