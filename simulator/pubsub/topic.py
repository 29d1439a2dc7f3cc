"""The topic that the log sink exports to, whichever Pub/Sub it lives in: ours, or Google's emulator."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from google.api_core.exceptions import GoogleAPICallError

from simulator.pubsub.broker import Broker

#: Called with the message id once the message is published.
Published = Callable[[str], None]


class EventTopic(Protocol):
    """Where admitted entries go. Publishing never waits and never fails for the caller."""

    def publish(self, data: bytes, attributes: Mapping[str, str], published: Published) -> None:
        """Publish one message; in the order of the calls."""
        ...


class EmbeddedTopic:
    """A topic of our own broker: published when the call returns."""

    def __init__(self, broker: Broker, name: str) -> None:
        self._broker = broker
        self._name = name

    def publish(self, data: bytes, attributes: Mapping[str, str], published: Published) -> None:
        """See `EventTopic`."""
        published(self._broker.publish(self._name, data, attributes))


class ClientTopic:
    """A topic behind a real PublisherAsyncClient (`client.publish`): one task publishes in order."""

    def __init__(self, client: Any, name: str) -> None:
        self._client = client
        self._name = name
        self._queue: asyncio.Queue[tuple[bytes, Mapping[str, str], Published]] = asyncio.Queue()
        self._task = asyncio.create_task(self._run())

    def publish(self, data: bytes, attributes: Mapping[str, str], published: Published) -> None:
        """See `EventTopic`."""
        self._queue.put_nowait((data, attributes, published))

    async def close(self) -> None:
        """Stop publishing; what waits is lost."""
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    async def _run(self) -> None:
        while True:
            batch = [await self._queue.get()]
            while not self._queue.empty():
                batch.append(self._queue.get_nowait())
            messages = [{"data": data, "attributes": dict(attributes)} for data, attributes, _ in batch]
            try:
                response = await self._client.publish(topic=self._name, messages=messages, timeout=30.0)
            except GoogleAPICallError as error:
                # The client has retried what can be; the entries are lost, as a sink without permission loses them.
                context = {"message": "the log sink could not publish", "exception": error}
                asyncio.get_running_loop().call_exception_handler(context)
                continue
            for (_, _, published), message_id in zip(batch, response.message_ids, strict=True):
                published(message_id)
