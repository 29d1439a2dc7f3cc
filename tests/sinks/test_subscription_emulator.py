"""The subscription against Google's own Pub/Sub emulator: what the small service of the other tests only imitates."""

import asyncio
import os
import signal
import socket
import subprocess
from collections.abc import Iterator

import grpc
import pytest
from google.api_core.exceptions import DeadlineExceeded
from google.pubsub_v1 import PublisherAsyncClient, PubsubMessage, SubscriberAsyncClient
from google.pubsub_v1.services.publisher.transports import PublisherGrpcAsyncIOTransport
from google.pubsub_v1.services.subscriber.transports import SubscriberGrpcAsyncIOTransport

from sinks.intake.delivery import Answer, Delivery, Limits
from tests.needs import need
from tests.sinks.conftest import LoopClock
from tests.sinks.test_subscription import acking, reading

pytestmark = pytest.mark.emulator

LIMITS = Limits(backoff_min=0.05, backoff_max=0.2, probe_interval=0.5, probe_timeout=5, ack_deadline=10)


class Emulator:
    """The emulator's process."""

    def __init__(self, command: str) -> None:
        self._command = command
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.endpoint = f"127.0.0.1:{free.getsockname()[1]}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it listens."""
        port = self.endpoint.rpartition(":")[2]
        self._process = subprocess.Popen(  # noqa: S603 - the command is the one that is installed
            [self._command, "--host=127.0.0.1", f"--port={port}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        with grpc.insecure_channel(self.endpoint) as channel:
            grpc.channel_ready_future(channel).result(60)

    def stop(self) -> None:
        """Kill it; returns when it is gone."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None


class Events:
    """A topic with one subscription, in a project of its own."""

    def __init__(self, endpoint: str, project: str) -> None:
        self.endpoint = endpoint
        self.topic = f"projects/{project}/topics/events"
        self.path = f"projects/{project}/subscriptions/events"

    async def make(self) -> None:
        """Topic and subscription."""
        async with grpc.aio.insecure_channel(self.endpoint) as channel:
            publisher = PublisherAsyncClient(transport=PublisherGrpcAsyncIOTransport(channel=channel))
            await publisher.create_topic(name=self.topic)
            subscriber = SubscriberAsyncClient(transport=SubscriberGrpcAsyncIOTransport(channel=channel))
            await subscriber.create_subscription(
                request={"name": self.path, "topic": self.topic, "ack_deadline_seconds": 10}
            )

    async def publish(self, *bodies: bytes) -> None:
        """A message for each body."""
        async with grpc.aio.insecure_channel(self.endpoint) as channel:
            publisher = PublisherAsyncClient(transport=PublisherGrpcAsyncIOTransport(channel=channel))
            await publisher.publish(topic=self.topic, messages=[PubsubMessage(data=body) for body in bodies])

    async def left(self) -> list[bytes]:
        """What the subscription still delivers within a second."""
        async with grpc.aio.insecure_channel(self.endpoint) as channel:
            subscriber = SubscriberAsyncClient(transport=SubscriberGrpcAsyncIOTransport(channel=channel))
            try:
                response = await subscriber.pull(subscription=self.path, max_messages=1000, retry=None, timeout=1)
            except DeadlineExceeded:
                return []
            return [received.message.data for received in response.received_messages]


@pytest.fixture(scope="module")
def emulator() -> Iterator[Emulator]:
    need("java")
    running = Emulator(need("cloud-pubsub-emulator"))
    running.start()
    try:
        yield running
    finally:
        running.stop()


@pytest.fixture
def events(emulator: Emulator, request: pytest.FixtureRequest) -> Events:
    return Events(emulator.endpoint, request.node.name.replace("_", "-"))


async def test_messages_are_delivered_acked_and_never_again(events: Events, clock: LoopClock) -> None:
    await events.make()
    bodies = {str(number).encode() for number in range(200)}
    async with reading(events.endpoint, clock, limits=LIMITS, path=events.path) as reader:
        await events.publish(*bodies)
        await reader.until(lambda _: len(reader.deliveries) == 200)
    assert {delivery.data for delivery in reader.deliveries} == bodies
    assert {delivery.delivery_attempt for delivery in reader.deliveries} == {0}
    assert await events.left() == []


async def test_what_is_nacked_comes_again(events: Events, clock: LoopClock) -> None:
    await events.make()
    seen: dict[bytes, int] = {}

    def handle(delivery: Delivery) -> Answer:
        seen[delivery.data] = seen.get(delivery.data, 0) + 1
        return Answer.ACK if seen[delivery.data] > 1 else Answer.NACK

    async with reading(events.endpoint, clock, handle, limits=LIMITS, path=events.path) as reader:
        await events.publish(b"n", b"m")
        await reader.until(lambda _: seen == {b"n": 2, b"m": 2})
    assert await events.left() == []


async def test_a_missing_subscription_is_named_then_found(events: Events, clock: LoopClock) -> None:
    async with reading(events.endpoint, clock, limits=LIMITS, path=events.path) as reader:
        missing = await reader.until(lambda state: state.failures >= 2)
        await events.make()
        await events.publish(b"m-1")
        await reader.until(lambda _: [delivery.data for delivery in reader.deliveries] == [b"m-1"])
    assert missing.error.startswith(f"{events.path} does not exist (Subscription does not exist")


async def test_a_restart_of_the_emulator_is_survived(emulator: Emulator, events: Events, clock: LoopClock) -> None:
    await events.make()
    async with reading(events.endpoint, clock, limits=LIMITS, path=events.path) as reader:
        await reader.until(lambda state: state.connected)
        await asyncio.to_thread(emulator.stop)
        await reader.until(lambda state: state.failures >= 1)
        await asyncio.to_thread(emulator.start)
        await events.make()
        await events.publish(b"m-1")
        await reader.until(lambda _: [delivery.data for delivery in reader.deliveries] == [b"m-1"])


async def test_close_returns_at_once_with_its_acks_sent(events: Events, clock: LoopClock) -> None:
    await events.make()
    async with reading(events.endpoint, clock, acking, limits=LIMITS, path=events.path) as reader:
        await reader.until(lambda state: state.connected)
        await events.publish(b"m-1")
        await reader.until(lambda _: len(reader.deliveries) == 1)
        began = clock.monotonic()
        await reader.subscription.close(5)
        assert clock.monotonic() - began < 2
    assert await events.left() == []
