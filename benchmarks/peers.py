"""Three consumers of a subscription: the operator's event path, and the two clients of google-cloud-pubsub without it.

Each counts messages until it has had all, and notes when: at the look, or at the ack of a client that does no more.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

import grpc
from google.api_core import exceptions
from google.cloud.pubsub_v1 import SubscriberClient
from google.pubsub_v1.types import StreamingPullRequest, StreamingPullResponse

from benchmarks.pipeline import Pipeline
from sinks.intake.delivery import Limits
from sinks.intake.subscription import client_for

#: The attribute that tells when a message was published, in nanoseconds of the monotonic clock of the machine.
STAMP: Final = "stamp"


class Tally:
    """Counts arrivals, and how late each was. A client's threads may add at the same time."""

    def __init__(self, expected: int) -> None:
        self._expected = expected
        self._loop = asyncio.get_running_loop()
        #: When each arrived, and how long after its publication, in nanoseconds.
        self.times: list[int] = []
        self.lags: list[int] = []
        self.full = asyncio.Event()

    def add(self, stamp: int) -> None:
        """One more, published at this moment."""
        now = time.monotonic_ns()
        self.times.append(now)
        self.lags.append(now - stamp)
        if len(self.lags) >= self._expected:
            self._loop.call_soon_threadsafe(self.full.set)


async def operator(endpoint: str, subscription: str, tally: Tally) -> None:
    """The product: Subscription, Intake, Mailboxes."""
    pipeline = Pipeline(client_for(endpoint), subscription, tally.add)
    running = asyncio.create_task(pipeline.subscription.run())
    try:
        await tally.full.wait()
    finally:
        await pipeline.subscription.close(grace=5)
        await pipeline.mailboxes.close(grace=5)
        await running


async def raw(endpoint: str, subscription: str, tally: Tally) -> None:
    """SubscriberAsyncClient.streaming_pull, whose messages are acked and nothing else."""
    client = await client_for(endpoint)()
    acks: asyncio.Queue[list[str]] = asyncio.Queue()
    call = await client.streaming_pull(requests=_requests(subscription, acks))
    try:
        while not tally.full.is_set() and (response := await call.read()) is not grpc.aio.EOF:
            received = StreamingPullResponse.pb(response).received_messages
            acks.put_nowait([each.ack_id for each in received])
            for each in received:
                tally.add(int(each.message.attributes[STAMP]))
            await asyncio.sleep(0)
    finally:
        call.cancel()
        await client.transport.close()


async def _requests(subscription: str, acks: asyncio.Queue[list[str]]) -> AsyncIterator[StreamingPullRequest]:
    limits = Limits()
    yield StreamingPullRequest(
        subscription=subscription,
        stream_ack_deadline_seconds=limits.ack_deadline,
        max_outstanding_messages=limits.max_outstanding_messages,
        max_outstanding_bytes=limits.max_outstanding_bytes,
    )
    while True:
        yield StreamingPullRequest(ack_ids=await acks.get())


async def threads(endpoint: str, subscription: str, tally: Tally) -> None:
    """SubscriberClient.subscribe, the client's own threads; the callback acks and nothing else."""
    os.environ["PUBSUB_EMULATOR_HOST"] = endpoint

    def callback(message: Any) -> None:
        message.ack()
        tally.add(int(message.attributes[STAMP]))

    with SubscriberClient() as client:
        future = client.subscribe(subscription, callback)
        try:
            await tally.full.wait()
        finally:
            future.cancel()
            with contextlib.suppress(exceptions.Cancelled):
                await asyncio.to_thread(future.result, 10)


PEERS: Final[dict[str, Callable[[str, str, Tally], Awaitable[None]]]] = {
    "operator": operator,
    "raw": raw,
    "threads": threads,
}
