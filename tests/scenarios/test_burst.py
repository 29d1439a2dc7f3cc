"""B11: an operator that is told to end in the middle of a burst of events. What it has not taken it gives back at once.

https://github.com/googleapis/python-pubsub/issues/150
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc
import pytest
from google.api_core.exceptions import DeadlineExceeded
from google.pubsub_v1 import PublisherAsyncClient, PubsubMessage, SubscriberAsyncClient
from google.pubsub_v1.services.publisher.transports import PublisherGrpcAsyncIOTransport
from google.pubsub_v1.services.subscriber.transports import SubscriberGrpcAsyncIOTransport

from tests.runtime.test_intake import entry
from tests.scenarios.harness import Bench, until

pytestmark = pytest.mark.slow

BATCH = 500
#: The lease of a streamed message, in seconds: what is not given back comes again only after it.
LEASE = 10


class Burst:
    """Entries of a VM that nobody here has, published without a pause."""

    def __init__(self, stage: Bench, channel: grpc.aio.Channel) -> None:
        self.subscription = stage.ready["env"]["TPU_NODE_GROUP_SUBSCRIPTION"]
        self._topic = self.subscription.replace("/subscriptions/", "/topics/")
        self._publisher = PublisherAsyncClient(transport=PublisherGrpcAsyncIOTransport(channel=channel))
        self._subscriber = SubscriberAsyncClient(transport=SubscriberGrpcAsyncIOTransport(channel=channel))
        self.published = 0

    async def run(self, ended: asyncio.Event) -> None:
        """Publish until then."""
        while not ended.is_set():
            numbers = range(self.published, self.published + BATCH)
            entries = (entry(insert_id=f"burst-{number}", name="somebody-elses-vm") for number in numbers)
            messages = [PubsubMessage(data=json.dumps(each).encode()) for each in entries]
            await self._publisher.publish(topic=self._topic, messages=messages)
            self.published += BATCH

    async def left(self) -> set[str]:
        """The insert ids of what the subscription delivers now; acked."""
        found: set[str] = set()
        while ids := await self._pull():
            found |= ids
        return found

    async def _pull(self) -> set[str]:
        try:
            answer = await self._subscriber.pull(
                subscription=self.subscription, max_messages=1000, retry=None, timeout=1
            )
        except DeadlineExceeded:
            return set()
        received = answer.received_messages
        if received:
            await self._subscriber.acknowledge(
                subscription=self.subscription, ack_ids=[each.ack_id for each in received]
            )
        ids = {json.loads(each.message.data)["insertId"] for each in received}
        return {each for each in ids if each.startswith("burst-")}


@asynccontextmanager
async def burst_at(stage: Bench) -> AsyncIterator[Burst]:
    """On a connection of its own."""
    async with grpc.aio.insecure_channel(stage.ready["env"]["TPU_NODE_GROUP_PUBSUB_ENDPOINT"]) as channel:
        yield Burst(stage, channel)


async def foreign(stage: Bench) -> int:
    """How many of them the operator has taken."""
    found = re.search(r"^tpu_events_foreign_total (\S+)", (await stage.ask_operator("/metrics"))[1], re.MULTILINE)
    return int(float(found[1])) if found else 0


async def test_b11_an_operator_that_ends_in_the_middle_of_a_burst_gives_back_what_it_has_not_taken(
    stage: Bench,
) -> None:
    ended = asyncio.Event()
    async with burst_at(stage) as burst:
        publishing = asyncio.create_task(burst.run(ended))
        await until("the burst to arrive", lambda: foreign(stage), lambda seen: seen > BATCH)
        assert await stage.stop_operator() == 0
        ended.set()
        await publishing
        at_once = await burst.left()
        await asyncio.sleep(LEASE + 1)
        late = await burst.left()
    # What it has taken is acked and never comes again; everything else is there, and nothing hangs on a lease.
    assert late == set()
    assert 0 < len(at_once) < burst.published
