"""What a process still has: tasks, threads and sockets. A test that leaves more of them than it found has a leak."""

import asyncio
import threading
from pathlib import Path


def sockets() -> set[str]:
    """The inodes of the sockets that this process has open."""
    found = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            target = str(descriptor.readlink())
        except FileNotFoundError:
            continue
        if target.startswith("socket:"):
            found.add(target)
    return found


def possessions() -> set[str]:
    """Everything there is now, the task that asks aside."""
    tasks = {f"task {task!r}" for task in asyncio.all_tasks() - {asyncio.current_task()}}
    threads = {f"thread {thread.name} {thread.ident}" for thread in threading.enumerate()}
    return tasks | threads | sockets()


async def until_nothing_is_left_of(before: set[str]) -> None:
    """Wait until there is nothing that was not there before. Fails with what there is."""
    await asyncio.get_running_loop().shutdown_default_executor()
    try:
        async with asyncio.timeout(10):
            while possessions() - before:  # noqa: ASYNC110 - nobody tells that a socket is closed
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise AssertionError(f"left behind: {sorted(possessions() - before)}") from None
