"""What the tests of the two gRPC boundaries share."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.sinks.logging_server import LoggingServer
from tests.sinks.pubsub_server import PubSubServer


class LoopClock:
    """The event loop's time."""

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@pytest.fixture
def clock() -> LoopClock:
    return LoopClock()


@pytest.fixture
async def server() -> AsyncIterator[PubSubServer]:
    """A Pub/Sub service that listens."""
    serving = PubSubServer()
    await serving.start()
    yield serving
    await serving.stop()


@pytest.fixture
async def logs() -> AsyncIterator[LoggingServer]:
    """A Cloud Logging service that listens."""
    serving = LoggingServer()
    await serving.start()
    yield serving
    await serving.stop()


@pytest.fixture(autouse=True)
async def no_task_is_left() -> AsyncIterator[None]:
    """Whatever a test started has ended when it ends, the servers of the fixtures included."""
    yield
    async with asyncio.timeout(10):
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(others)
