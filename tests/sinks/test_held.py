"""What a stream holds is bounded, whatever the server sends."""

import asyncio
from typing import Any

import pytest
from google.pubsub_v1.types import ReceivedMessage

from sinks.intake.delivery import Limits
from sinks.intake.held import Held


def received(body: bytes) -> Any:
    """A message without an envelope."""
    return ReceivedMessage.pb()(message={"data": body})


SIZE = received(b"x" * 1000).ByteSize()


@pytest.mark.parametrize(
    "limits",
    [Limits(max_outstanding_messages=3), Limits(max_outstanding_bytes=2 * SIZE + 1)],
    ids=["messages", "bytes"],
)
async def test_there_is_no_room_beyond_the_bound_until_one_is_taken(limits: Limits) -> None:
    held = Held(limits)
    held.put([received(b"x" * 1000)] * 2)
    await held.room()
    held.put([received(b"x" * 1000)])
    waiting = asyncio.create_task(held.room())
    await asyncio.sleep(0)
    assert not waiting.done()
    held.pop()
    await waiting


async def test_they_come_out_in_their_order_and_something_says_that_there_is_one() -> None:
    held = Held(Limits())
    waiting = asyncio.create_task(held.something())
    held.put([])
    await asyncio.sleep(0)
    assert not waiting.done()
    held.put(received(body) for body in (b"1", b"2"))
    await waiting
    assert [message.message.data for message in held] == [b"1", b"2"]
    assert [held.pop().message.data for _ in range(2)] == [b"1", b"2"]
    assert len(held) == 0
