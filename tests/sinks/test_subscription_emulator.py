"""The subscription against Google's own Pub/Sub emulator: what the small service of the other tests only imitates."""

import pytest

from sinks.intake.delivery import Answer, Delivery, Limits
from tests.sinks.reading import LoopClock, acking, reading
from tests.sinks.services import Emulator, Events

pytestmark = pytest.mark.emulator

#: The emulator is slow at times, on a machine that does other things too.
LIMITS = Limits(backoff_min=0.05, backoff_max=0.2, probe_interval=0.5, probe_timeout=5, ack_deadline=10)


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
