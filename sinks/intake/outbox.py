"""What goes out on a streaming pull: the first request, then acks and deadlines in batches, and signs of life.

It outlives a stream. What could not be sent goes out on the next one: ack ids are good on any stream.
"""

import asyncio
from typing import Final

from google.pubsub_v1.types import StreamingPullRequest

from sinks.intake.delivery import Limits

#: A service that knows this version of the protocol answers an empty request with an empty response.
_ANSWERS_SIGNS_OF_LIFE: Final = 1


class Outbox:
    """Acks and deadline changes on their way out. Used from one event loop only."""

    def __init__(self, path: str, client_id: str, limits: Limits) -> None:
        self._path = path
        self._client_id = client_id
        self._limits = limits
        self._acks: list[str] = []
        self._deadlines: list[tuple[str, int]] = []
        self._pending = asyncio.Event()

    def ack(self, ack_id: str) -> None:
        """Never deliver it again."""
        self._acks.append(ack_id)
        self._pending.set()

    def extend(self, ack_id: str, seconds: int) -> None:
        """Deliver it again after so many seconds from now unless it is acked; 0 is a nack."""
        self._deadlines.append((ack_id, seconds))
        self._pending.set()

    def requests(self) -> "Requests":
        """The requests of a new stream."""
        first = StreamingPullRequest(
            subscription=self._path,
            client_id=self._client_id,
            stream_ack_deadline_seconds=self._limits.ack_deadline,
            max_outstanding_messages=self._limits.max_outstanding_messages,
            max_outstanding_bytes=self._limits.max_outstanding_bytes,
            protocol_version=_ANSWERS_SIGNS_OF_LIFE,
        )
        return Requests(self, first)

    def take(self) -> tuple[list[str], list[tuple[str, int]]]:
        """At most a batch of what is pending: ack ids, and (ack id, seconds) of deadlines."""
        batch = self._limits.ack_batch
        acks, self._acks = self._acks[:batch], self._acks[batch:]
        deadlines, self._deadlines = self._deadlines[:batch], self._deadlines[batch:]
        if not self._acks and not self._deadlines:
            self._pending.clear()
        return acks, deadlines

    def next_request(self) -> StreamingPullRequest | None:
        """A request with a batch of what is pending, None if nothing is."""
        acks, deadlines = self.take()
        if not acks and not deadlines:
            return None
        # The bare message: the library's own would look at every id in Python.
        request = StreamingPullRequest.pb()(
            ack_ids=acks,
            modify_deadline_ack_ids=[ack_id for ack_id, _ in deadlines],
            modify_deadline_seconds=[seconds for _, seconds in deadlines],
        )
        wrapped: StreamingPullRequest = StreamingPullRequest.wrap(request)
        return wrapped

    async def something(self) -> bool:
        """Wait until something is pending; False when a sign of life is due first."""
        try:
            async with asyncio.timeout(self._limits.keep_alive):
                await self._pending.wait()
        except TimeoutError:
            return False
        return True

    def wake(self) -> None:
        """End the waiting for something to send."""
        self._pending.set()

    async def gather(self) -> None:
        """Give what is pending a little time for company."""
        await asyncio.sleep(self._limits.ack_interval)

    def forget(self) -> None:
        """The subscription is gone, and with it what its ack ids stood for."""
        self._acks.clear()
        self._deadlines.clear()


class Requests:
    """The requests of one stream, as gRPC asks for them.

    gRPC goes on asking when the stream has ended: only `finish` and `stop` end this.
    """

    def __init__(self, outbox: Outbox, first: StreamingPullRequest) -> None:
        self._outbox = outbox
        self._first: StreamingPullRequest | None = first
        self._finishing = False
        self._stopped = False
        #: When a sign of life was sent that nothing has come after, in the event loop's time.
        self.unanswered: float | None = None

    def finish(self) -> None:
        """Send what is pending, then half-close the stream."""
        self._finishing = True
        self._outbox.wake()

    def stop(self) -> None:
        """Send nothing more: what is pending belongs to the next stream."""
        self._stopped = True
        self._outbox.wake()

    def __aiter__(self) -> "Requests":
        return self

    async def __anext__(self) -> StreamingPullRequest:
        if self._first is not None:
            first, self._first = self._first, None
            return first
        while not self._stopped:
            if not self._finishing:
                if not await self._outbox.something():
                    if self.unanswered is None:
                        self.unanswered = asyncio.get_running_loop().time()
                    return StreamingPullRequest()
                await self._outbox.gather()
            request = None if self._stopped else self._outbox.next_request()
            if request is not None:
                return request
            if self._finishing:
                break
        raise StopAsyncIteration
