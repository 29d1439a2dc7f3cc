"""Blocking calls that may be left behind: who gives one up never waits for it again, not even when the process ends.

A session's timeout is for each piece of an answer, so a server that sends one byte now and then holds a call for ever.
The threads of `asyncio.to_thread` are joined at the end; these are not.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


async def in_thread(call: Callable[[], T]) -> T:
    """What the call returns or raises, once it does."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()

    def settle(how: Callable[..., None], value: object) -> None:
        if not answer.done():
            how(value)

    def work() -> None:
        outcome: tuple[Callable[..., None], object]
        try:
            outcome = answer.set_result, call()
        except Exception as error:  # noqa: BLE001 - it is raised where the answer is awaited
            outcome = answer.set_exception, error
        # Whoever gave it up may have ended the loop too.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, *outcome)

    threading.Thread(target=work, name="doctor", daemon=True).start()
    return await answer
