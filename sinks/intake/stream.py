"""One streaming pull, from its first request to its end: messages in, answers out, leases kept, silence noticed."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from datetime import UTC
from typing import Any, Final

import grpc
from google.pubsub_v1.types import StreamingPullResponse

from sinks.intake.delivery import Answer, Counts, Delivery, Limits
from sinks.intake.held import Held
from sinks.intake.outbox import Outbox
from sinks.intake.pulse import Pulse
from sinks.intake.trouble import StreamEndedError

_LOG: Final = logging.getLogger(__name__)  # noqa: TID251 - sinks do not know how the program logs
#: The handler may have the event loop for so long at a stretch, in seconds.
_SLICE: Final = 0.01

Handler = Callable[[Delivery], Answer]


class Stream:
    """One streaming pull on a client (`SubscriberAsyncClient`). Run it once."""

    def __init__(
        self, client: Any, path: str, outbox: Outbox, handle: Handler, alive: Callable[[], None], limits: Limits
    ) -> None:
        self._client = client
        self._path = path
        self._outbox = outbox
        self._handle = handle
        self._alive = alive
        self._limits = limits
        self._requests = outbox.requests()
        self._held = Held(limits)
        self._draining = asyncio.Event()
        self._patience = 0.0
        self.pulse = Pulse(client, path, self._requests, limits)
        self.counts = Counts()

    async def run(self, settle: float) -> None:
        """Pull until the stream ends, and raise why. Returns only after `drain`, with nothing held.

        A server that refuses streams has `settle` seconds to say so before this one counts as alive.
        """
        call: Any = None
        try:
            call = await self._client.streaming_pull(
                requests=self._requests,
                retry=None,
                timeout=None,
                metadata=(("x-goog-request-params", f"subscription={self._path}"),),
            )
            self.counts.streams += 1
            await _first_of(
                self._read(call), self._settle_held(), self._watch(settle), self._keep_leases(), self._lose_patience()
            )
        finally:
            self._requests.stop()
            if call is not None:
                call.cancel()
            self._nack_held()

    def drain(self, patience: float) -> None:
        """Handle nothing more: send the answers that are out, hand back what comes, and end the stream.

        The server has `patience` seconds to end its side.
        """
        self._patience = patience
        self._draining.set()
        self._nack_held()
        self._requests.finish()

    async def _read(self, call: Any) -> None:
        """Take in what comes: a message that waits here has its lease kept, one that waits in gRPC has not."""
        while (response := await call.read()) is not grpc.aio.EOF:
            received = StreamingPullResponse.pb(response).received_messages
            self.pulse.beat(brought=len(received))
            self._alive()
            self._held.put(received)
            if self._draining.is_set():
                self._nack_held()
            await self._held.room()
        if not self._draining.is_set():
            raise StreamEndedError

    async def _settle_held(self) -> None:
        """An answer to everything held, in slices: other work goes on meanwhile."""
        loop = asyncio.get_running_loop()
        while True:
            await self._held.something()
            end = loop.time() + _SLICE
            while self._held and loop.time() < end:
                self._settle(self._held.pop())
            await asyncio.sleep(0)

    def _settle(self, received: Any) -> None:
        self.counts.deliveries += 1
        match self._answer(received):
            case Answer.ACK:
                self.counts.acked += 1
                self._outbox.ack(received.ack_id)
            case Answer.NACK:
                self.counts.nacked += 1
                self._outbox.extend(received.ack_id, 0)

    def _answer(self, received: Any) -> Answer:
        message = received.message
        try:
            return self._handle(
                Delivery(
                    data=message.data,
                    message_id=message.message_id,
                    published=message.publish_time.ToDatetime(tzinfo=UTC),
                    delivery_attempt=received.delivery_attempt,
                )
            )
        except Exception:  # noqa: BLE001 - one message that cannot be handled must not stop the others
            self.counts.handler_errors += 1
            _LOG.exception("Message %s of %s could not be handled; it is nacked.", message.message_id, self._path)
            return Answer.NACK

    def _nack_held(self) -> None:
        while self._held:
            self.counts.nacked += 1
            self._outbox.extend(self._held.pop().ack_id, 0)

    async def _keep_leases(self) -> None:
        """Extend the lease of what waits for its turn."""
        while True:
            await asyncio.sleep(self._limits.ack_deadline / 3)
            for received in self._held:
                self._outbox.extend(received.ack_id, self._limits.ack_deadline)

    async def _lose_patience(self) -> None:
        """End after the time that a drained stream has."""
        await self._draining.wait()
        await asyncio.sleep(self._patience)

    async def _watch(self, settle: float) -> None:
        # Cancelling a refused stream meanwhile would be no help: Google's emulator may then deliver to it when its
        # subscription is made.
        await asyncio.sleep(settle)
        await self.pulse.probe()
        self._alive()
        await self.pulse.watch()


async def _first_of(*works: Coroutine[Any, Any, None]) -> None:
    """Run all until the first ends, end the others, and raise what it raised."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()
