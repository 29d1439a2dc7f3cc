"""Everything that can go wrong with the connection, in any order, under load: each message has its effect once."""

import asyncio
import logging
import random
import time
from collections import Counter
from dataclasses import replace

import pytest

from simulator.pubsub.broker import Broker
from sinks.intake.delivery import Answer, Delivery
from tests.sinks.proxy import Front, Wire, front_of, wire_to
from tests.sinks.reading import LoopClock, Reader, reading
from tests.sinks.services import Embedded, Events
from tests.sinks.test_supervision import LIMITS, Status

pytestmark = pytest.mark.slow

#: How long trouble lasts, in seconds, and how long there is none after it.
SPAN = (0.02, 0.6)
TROUBLES = 25
REFUSALS = (
    None,
    (Status.UNAVAILABLE, "away"),
    (Status.RESOURCE_EXHAUSTED, "much"),
    (Status.PERMISSION_DENIED, "no"),
    (Status.INTERNAL, "RST_STREAM"),
    (Status.CANCELLED, "not by us"),
    (Status.DEADLINE_EXCEEDED, "late"),
)


class Moody:
    """A handler that refuses, fails and dawdles now and then, and does nothing twice."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self.done: Counter[bytes] = Counter()
        self.repeated = 0

    def __call__(self, delivery: Delivery) -> Answer:
        mood = self._dice.random()
        if mood < 0.05:
            return Answer.NACK
        if mood < 0.1:
            raise RuntimeError("a mood")
        if mood < 0.12:
            time.sleep(0.01)
        if delivery.data in self.done:
            self.repeated += 1
        else:
            self.done[delivery.data] += 1
        return Answer.ACK


async def trouble(dice: random.Random, wire: Wire, front: Front) -> None:
    """One kind of trouble for a while; all is well at its end."""
    kind = dice.choice(["cut", "swallow", "refuse", "answers", "stall", "double"])
    match kind:
        case "cut":
            await wire.cut()
        case "swallow":
            wire.swallow()
        case "refuse":
            await wire.refuse()
            await wire.cut()
        case "answers":
            front.answers["StreamingPull"] = dice.choice(REFUSALS)
            await wire.cut()
        case "stall":
            front.stall()
        case "double":
            front.doubles = True
    await asyncio.sleep(dice.uniform(*SPAN))
    front.answers.clear()
    front.stall(stalled=False)
    front.doubles = False
    await wire.mend()
    await asyncio.sleep(dice.uniform(*SPAN))


async def publishing(dice: random.Random, events: Events, bodies: list[bytes]) -> None:
    """All of them, in portions, over the time of the troubles."""
    rest = list(bodies)
    while rest:
        count = dice.randrange(1, 200)
        await events.publish(*rest[:count])
        rest = rest[count:]
        await asyncio.sleep(dice.uniform(0, SPAN[1]))


async def settled(reader: Reader, moody: Moody, bodies: list[bytes], events: Events, broker: Broker) -> None:
    """Everything has had its effect, and nothing is left to deliver."""
    await reader.until(lambda _: len(moody.done) == len(bodies), patience=120)
    await reader.until(lambda state: state.connected)
    assert set(moody.done) == set(bodies)
    # What was acked into a dead connection comes again, and is acked again.
    async with asyncio.timeout(60):
        while broker.subscription(events.path).outstanding:  # noqa: ASYNC110 - the broker tells nobody
            await asyncio.sleep(0.05)
    assert set(moody.done.values()) == {1}
    assert await events.left() == []


@pytest.mark.parametrize("seed", [1, 2, random.SystemRandom().randrange(10**6)])
async def test_each_message_has_its_effect_once_whatever_happens_to_the_connection(
    embedded: Embedded, clock: LoopClock, caplog: pytest.LogCaptureFixture, seed: int
) -> None:
    print(f"seed {seed}")  # noqa: T201 - to repeat it
    caplog.set_level(logging.CRITICAL)
    dice = random.Random(seed)
    events = Events(embedded.endpoint, "chaos")
    await events.make()
    bodies = [f"m-{number}".encode() for number in range(3_000)]
    moody = Moody(random.Random(seed))
    limits = replace(LIMITS, max_outstanding_messages=100, probe_timeout=0.5, connect_timeout=0.5)
    async with (
        front_of(embedded.endpoint) as front,
        wire_to(front.endpoint) as wire,
        reading(wire.endpoint, clock, moody, limits, events.path) as reader,
    ):
        publisher = asyncio.create_task(publishing(dice, events, bodies))
        for _ in range(TROUBLES):
            await trouble(dice, wire, front)
        await publisher
        await settled(reader, moody, bodies, events, embedded.broker)
    print(f"{len(reader.attempts)} streams, {moody.repeated} messages came again after their effect")  # noqa: T201
