"""What the tests of the two gRPC boundaries share."""

import itertools
from collections.abc import AsyncIterator, Iterator
from typing import Final

import grpc
import pytest

from tests.sinks.leaks import possessions, until_nothing_is_left_of
from tests.sinks.logging_server import LoggingServer
from tests.sinks.pubsub_server import PubSubServer
from tests.sinks.reading import LoopClock
from tests.sinks.services import Embedded, Emulator, Events

_PROJECTS: Final = itertools.count(1)


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


@pytest.fixture(scope="session")
def emulator() -> Iterator[Emulator]:
    """Google's emulator, shared: each test has a project of its own in it."""
    running = Emulator()
    running.start()
    try:
        yield running
    finally:
        running.stop()


@pytest.fixture
async def embedded() -> AsyncIterator[Embedded]:
    """The simulator's Pub/Sub."""
    serving = Embedded()
    await serving.start()
    yield serving
    serving.broker.close()
    await serving.stop()


@pytest.fixture(params=["embedded", pytest.param("emulator", marks=pytest.mark.emulator)])
def service(request: pytest.FixtureRequest) -> Embedded | Emulator:
    """Each test that takes this runs against both."""
    found: Embedded | Emulator = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def events(service: Embedded | Emulator) -> Events:
    """Topic and subscription are yet to be made."""
    return Events(service.endpoint, f"project-{next(_PROJECTS)}")


@pytest.fixture
async def logs() -> AsyncIterator[LoggingServer]:
    """A Cloud Logging service that listens."""
    serving = LoggingServer()
    await serving.start()
    yield serving
    await serving.stop()


@pytest.fixture(autouse=True)
async def nothing_is_left() -> AsyncIterator[None]:
    """No task, thread or socket of a test outlives it, the servers of the fixtures included."""
    # gRPC has one poller, a thread with a pair of sockets, for as long as there is any channel: let there be one.
    async with grpc.aio.insecure_channel("127.0.0.1:1"):
        before = possessions()
        yield
        await until_nothing_is_left_of(before)
