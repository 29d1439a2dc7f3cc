"""Whole Pub/Subs for the tests of the subscription: the simulator's own, and Google's emulator, by real clients."""

import asyncio
import os
import signal
import socket
import subprocess
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime

import grpc
from google.api_core.exceptions import DeadlineExceeded
from google.pubsub_v1 import PublisherAsyncClient, PubsubMessage, SubscriberAsyncClient
from google.pubsub_v1.services.publisher.transports import PublisherGrpcAsyncIOTransport
from google.pubsub_v1.services.subscriber.transports import SubscriberGrpcAsyncIOTransport

from simulator.calls import CallCounts
from simulator.faults import Faults
from simulator.pubsub.broker import Broker
from simulator.pubsub.face import PubSubFace
from simulator.rpc import serving
from tests.needs import need


class Embedded:
    """The simulator's Pub/Sub in this event loop. It keeps what it has over `stop` and `start`."""

    def __init__(self) -> None:
        self.broker = Broker(lambda: datetime.fromtimestamp(1_700_000_000, UTC))
        self.calls, self.faults = CallCounts(), Faults(lambda _name: True)
        self._serving = AsyncExitStack()
        self.endpoint = ""

    async def start(self) -> None:
        """Listen, on the port of before if there was one."""
        face = PubSubFace(self.broker, self.calls, self.faults)
        port = int(self.endpoint.rpartition(":")[2] or 0)
        self.endpoint = await self._serving.enter_async_context(serving(face.handlers(), port))

    async def stop(self) -> None:
        """Break every connection and stop listening."""
        await self._serving.aclose()


class Emulator:
    """Google's emulator, a process of its own. It forgets everything when it is stopped."""

    def __init__(self) -> None:
        need("java")
        self._command = need("cloud-pubsub-emulator")
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
    """A topic with one subscription and one for its dead letters, in a project of its own."""

    def __init__(self, endpoint: str, project: str) -> None:
        self.endpoint = endpoint
        self.topic = f"projects/{project}/topics/events"
        self.dead = f"projects/{project}/topics/dead-letters"
        self.path = f"projects/{project}/subscriptions/events"
        self.dead_path = f"projects/{project}/subscriptions/dead-letters"

    async def make(self, **settings: object) -> None:
        """Topics and subscriptions; `settings` are further ones of the subscription."""
        async with self._publisher() as publisher:
            for topic in (self.topic, self.dead):
                await publisher.create_topic(name=topic)
        await self.subscribe(**settings)
        async with self._subscriber() as subscriber:
            await subscriber.create_subscription(request={"name": self.dead_path, "topic": self.dead})

    async def subscribe(self, **settings: object) -> None:
        """The subscription alone."""
        request = {"name": self.path, "topic": self.topic, "ack_deadline_seconds": 10, **settings}
        async with self._subscriber() as subscriber:
            await subscriber.create_subscription(request=request)

    async def unsubscribe(self) -> None:
        """Delete the subscription."""
        async with self._subscriber() as subscriber:
            await subscriber.delete_subscription(subscription=self.path)

    async def publish(self, *bodies: bytes) -> None:
        """A message for each body."""
        async with self._publisher() as publisher:
            for start in range(0, len(bodies), 500):
                part = [PubsubMessage(data=body) for body in bodies[start : start + 500]]
                await publisher.publish(topic=self.topic, messages=part)

    async def left(self, path: str = "", timeout: float = 1) -> list[bytes]:
        """What the subscription still delivers within the time."""
        async with self._subscriber() as subscriber:
            try:
                response = await subscriber.pull(
                    subscription=path or self.path, max_messages=1000, retry=None, timeout=timeout
                )
            except DeadlineExceeded:
                return []
            return [received.message.data for received in response.received_messages]

    @asynccontextmanager
    async def _publisher(self) -> AsyncIterator[PublisherAsyncClient]:
        async with grpc.aio.insecure_channel(self.endpoint, options=_OWN) as channel:
            yield PublisherAsyncClient(transport=PublisherGrpcAsyncIOTransport(channel=channel))

    @asynccontextmanager
    async def _subscriber(self) -> AsyncIterator[SubscriberAsyncClient]:
        async with grpc.aio.insecure_channel(self.endpoint, options=_OWN) as channel:
            yield SubscriberAsyncClient(transport=SubscriberGrpcAsyncIOTransport(channel=channel))


#: Connections are not shared with the subscription under test: some of those are broken on purpose.
_OWN = (("grpc.use_local_subchannel_pool", 1),)


async def restart(service: Embedded | Emulator) -> None:
    """Stop it, and start it again on the same port."""
    if isinstance(service, Embedded):
        await service.stop()
        await service.start()
    else:
        await asyncio.to_thread(service.stop)
        await asyncio.to_thread(service.start)
