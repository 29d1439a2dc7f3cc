"""A Pub/Sub to talk to through the real async clients: ours, and Google's emulator where it is installed."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import grpc
import pytest
import pytest_asyncio
from google.pubsub_v1 import PublisherAsyncClient, PubsubMessage, StreamingPullRequest, SubscriberAsyncClient
from google.pubsub_v1.services.publisher.transports import PublisherGrpcAsyncIOTransport
from google.pubsub_v1.services.subscriber.transports import SubscriberGrpcAsyncIOTransport

from simulator.calls import CallCounts
from simulator.faults import Faults
from simulator.pubsub.broker import Broker
from simulator.pubsub.emulator import Emulator
from simulator.pubsub.face import PubSubFace
from simulator.rpc import serving
from tests.needs import need

_projects = itertools.count(1)


@dataclass
class PubSub:
    publisher: PublisherAsyncClient
    subscriber: SubscriberAsyncClient
    project: str

    @property
    def topic(self) -> str:
        return f"projects/{self.project}/topics/events"

    @property
    def dead(self) -> str:
        return f"projects/{self.project}/topics/dead"

    @property
    def subscription(self) -> str:
        return f"projects/{self.project}/subscriptions/reader"

    @property
    def dead_subscription(self) -> str:
        return f"projects/{self.project}/subscriptions/dead-reader"

    async def topics(self) -> None:
        for name in (self.topic, self.dead):
            await self.publisher.create_topic(name=name)

    async def subscribe(self, **settings: object) -> None:
        request = {"name": self.subscription, "topic": self.topic, **settings}
        await self.subscriber.create_subscription(request=request)

    async def publish(self, *texts: str) -> None:
        await self.publisher.publish(topic=self.topic, messages=[PubsubMessage(data=text.encode()) for text in texts])

    @asynccontextmanager
    async def stream(self, **first: object) -> AsyncIterator[tuple[Any, "asyncio.Queue[dict[str, Any]]"]]:
        """An open streaming pull, and the queue of its further requests."""
        requests: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

        async def send() -> AsyncIterator[StreamingPullRequest]:
            yield StreamingPullRequest(subscription=self.subscription, stream_ack_deadline_seconds=10, **first)
            while True:
                yield StreamingPullRequest(await requests.get())

        call: Any = await self.subscriber.streaming_pull(requests=send())
        try:
            yield call, requests
        finally:
            call.cancel()


async def receive(call: Any, count: int) -> list[Any]:
    """So many messages of a stream."""
    received: list[Any] = []
    while len(received) < count:
        response = await asyncio.wait_for(call.read(), 20)
        received += response.received_messages
    return received


def clients(endpoint: str, project: str) -> tuple[PubSub, grpc.aio.Channel]:
    channel = grpc.aio.insecure_channel(endpoint)
    return (
        PubSub(
            PublisherAsyncClient(transport=PublisherGrpcAsyncIOTransport(channel=channel)),
            SubscriberAsyncClient(transport=SubscriberGrpcAsyncIOTransport(channel=channel)),
            project,
        ),
        channel,
    )


@dataclass
class Embedded:
    endpoint: str
    calls: CallCounts
    faults: Faults
    broker: Broker


@pytest.fixture
async def embedded() -> AsyncIterator[Embedded]:
    broker = Broker(lambda: datetime.fromtimestamp(1_700_000_000, UTC))
    calls, faults = CallCounts(), Faults(lambda _name: True)
    async with serving(PubSubFace(broker, calls, faults).handlers()) as endpoint:
        yield Embedded(endpoint, calls, faults, broker)
        broker.close()


@pytest.fixture
async def ours(embedded: Embedded) -> AsyncIterator[PubSub]:
    pubsub, channel = clients(embedded.endpoint, "my-project")
    yield pubsub
    await channel.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def emulator_endpoint() -> AsyncIterator[str]:
    need("cloud-pubsub-emulator")
    need("java")
    emulator = await Emulator.start()
    yield emulator.endpoint
    await emulator.stop()


@pytest.fixture(params=["embedded", pytest.param("emulator", marks=pytest.mark.emulator)])
def endpoint(request: pytest.FixtureRequest) -> str:
    if request.param == "embedded":
        embedded: Embedded = request.getfixturevalue("embedded")
        return embedded.endpoint
    emulator: str = request.getfixturevalue("emulator_endpoint")
    return emulator


@pytest.fixture
async def pubsub(endpoint: str) -> AsyncIterator[PubSub]:
    """Each test that takes this runs against both: the emulator is the oracle. Each has a project of its own."""
    pubsub, channel = clients(endpoint, f"project-{next(_projects)}")
    yield pubsub
    await channel.close()
