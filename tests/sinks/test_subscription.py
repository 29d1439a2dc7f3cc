"""The subscription against a small service on loopback, through Google's client: happy path, trouble and the end."""

import asyncio
import logging
import random
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from google.api_core.exceptions import PermissionDenied

from sinks.intake.delivery import Answer, Counts, Delivery, Limits, StreamState
from sinks.intake.subscription import Subscription, client_for
from sinks.intake.trouble import NoConnectionError
from tests.sinks.pubsub_server import SUBSCRIPTION, PubSubServer
from tests.sinks.reading import QUICK, LoopClock, acking, reading

ABSENT = NoConnectionError("no connection")
DENIED: Exception = PermissionDenied("no")  # type: ignore[no-untyped-call]


async def test_a_message_is_delivered_as_it_was_published_and_acked(server: PubSubServer, clock: LoopClock) -> None:
    async with reading(server.endpoint, clock) as reader:
        await server.publish(b"m-1", attempt=3)
        await server.until(lambda: server.acked == ["ack-m-1"])
    assert reader.deliveries == [
        Delivery(
            data=b"m-1",
            message_id="m-1",
            published=datetime(2026, 1, 2, 3, 4, 5, 250_000, tzinfo=UTC),
            delivery_attempt=3,
        )
    ]
    assert reader.subscription.counts == Counts(deliveries=1, acked=1, streams=1)


async def test_the_first_request_states_the_bounds(server: PubSubServer, clock: LoopClock) -> None:
    limits = replace(QUICK, max_outstanding_messages=7, max_outstanding_bytes=8_000, ack_deadline=45)
    async with reading(server.endpoint, clock, limits=limits):
        await server.until(lambda: len(server.openings) == 1)
    (first,) = server.openings
    assert (
        first.subscription,
        first.stream_ack_deadline_seconds,
        first.max_outstanding_messages,
        first.max_outstanding_bytes,
    ) == (SUBSCRIPTION, 45, 7, 8_000)


async def test_each_answer_is_sent_in_its_form(server: PubSubServer, clock: LoopClock) -> None:
    answers = {b"a": Answer.ACK, b"n": Answer.NACK}
    async with reading(server.endpoint, clock, lambda delivery: answers[delivery.data]) as reader:
        await server.publish(b"a", b"n")
        await server.until(lambda: len(server.acked) + len(server.deadlines) == 2)
    assert (server.acked, server.deadlines) == (["ack-a"], [("ack-n", 0)])
    assert reader.subscription.counts == Counts(deliveries=2, acked=1, nacked=1, streams=1)


async def test_a_handler_that_raises_costs_its_own_message_only(
    server: PubSubServer, clock: LoopClock, caplog: pytest.LogCaptureFixture
) -> None:
    def handle(delivery: Delivery) -> Answer:
        if delivery.data == b"bad":
            raise RuntimeError("no such thing")
        return Answer.ACK

    with caplog.at_level(logging.ERROR):
        async with reading(server.endpoint, clock, handle) as reader:
            await server.publish(b"m-1", b"bad", b"m-2")
            await server.until(lambda: len(server.acked) + len(server.deadlines) == 3)
    assert (server.acked, server.deadlines) == (["ack-m-1", "ack-m-2"], [("ack-bad", 0)])
    assert reader.subscription.counts == Counts(deliveries=3, acked=2, nacked=1, handler_errors=1, streams=1)
    assert [record.getMessage() for record in caplog.records] == [
        f"Message bad of {SUBSCRIPTION} could not be handled; it is nacked."
    ]


async def test_acks_travel_together(server: PubSubServer, clock: LoopClock) -> None:
    async with reading(server.endpoint, clock):
        await server.publish(*(str(number).encode() for number in range(300)))
        await server.until(lambda: len(server.acked) == 300)
    assert server.requests <= 5


async def test_a_stream_that_the_server_ends_is_followed_by_another(server: PubSubServer, clock: LoopClock) -> None:
    async with reading(server.endpoint, clock) as reader:
        await server.publish(b"m-1")
        await server.until(lambda: server.acked == ["ack-m-1"])
        server.end_streams()
        await server.until(lambda: len(server.openings) == 2)
        await server.publish(b"m-2")
        await server.until(lambda: server.acked == ["ack-m-1", "ack-m-2"])
    assert [(state.connected, state.error) for state in reader.states] == [
        (True, ""),
        (False, f"the stream of {SUBSCRIPTION} ended; reconnecting"),
        (True, ""),
    ]


async def test_a_restart_of_the_service_is_survived(server: PubSubServer, clock: LoopClock) -> None:
    async with reading(server.endpoint, clock) as reader:
        await reader.until(lambda state: state.connected)
        await server.stop()
        broken = await reader.until(lambda state: state.failures >= 2)
        await server.start()
        await server.publish(b"m-1")
        await server.until(lambda: server.acked == ["ack-m-1"])
    assert broken.code == "UNAVAILABLE"
    assert broken.error.startswith(f"Pub/Sub cannot be reached to pull {SUBSCRIPTION} (")
    assert broken.error.endswith("); check the endpoint and the network")


async def test_a_missing_subscription_is_named_with_what_to_do_and_found_when_it_is_made(
    server: PubSubServer, clock: LoopClock
) -> None:
    server.exists = False
    async with reading(server.endpoint, clock) as reader:
        missing = await reader.until(lambda state: state.failures >= 3)
        server.exists = True
        await server.publish(b"m-1")
        await server.until(lambda: server.acked == ["ack-m-1"])
    assert (missing.connected, missing.code) == (False, "NOT_FOUND")
    assert missing.error == (
        f"{SUBSCRIPTION} does not exist (Subscription does not exist); create it with terraform/, "
        "or correct the name of the subscription"
    )


async def test_a_connection_that_answers_nothing_is_left_for_a_new_one(server: PubSubServer, clock: LoopClock) -> None:
    async with reading(server.endpoint, clock) as reader:
        await reader.until(lambda state: state.connected)
        server.mute = True
        silent = await reader.until(lambda state: state.failures >= 1)
        server.mute = False
        await reader.until(lambda state: state.connected)
        await server.until(lambda: len(server.openings) >= 2)
    # Nobody has answered.
    assert silent.code == ""
    assert silent.error == (
        f"the connection for {SUBSCRIPTION} no longer answers; reconnecting (check the network if this repeats)"
    )


async def test_an_idle_stream_shows_signs_of_life(server: PubSubServer, clock: LoopClock) -> None:
    async with reading(server.endpoint, clock, limits=replace(QUICK, keep_alive=0.02)):
        await server.until(lambda: server.requests >= 3)
    assert (server.acked, server.deadlines) == ([], [])


async def test_the_back_off_doubles_to_its_bound_and_takes_a_random_half_off() -> None:
    pauses: list[float] = []
    enough = asyncio.Event()

    class Noting(LoopClock):
        def monotonic(self) -> float:
            return 0.0

        async def sleep(self, seconds: float) -> None:
            pauses.append(seconds)
            if len(pauses) == 6:
                enough.set()
                await asyncio.Event().wait()

    async def refuse() -> object:
        raise ConnectionError("no")

    states: list[StreamState] = []
    limits = Limits(backoff_min=1, reach_max=10)
    subscription = Subscription(refuse, SUBSCRIPTION, acking, states.append, limits, Noting(), jitter=lambda: 0.5)
    running = asyncio.create_task(subscription.run())
    await enough.wait()
    await subscription.close(1)
    await running
    assert pauses == [0.75, 1.5, 3.0, 6.0, 7.5, 7.5]
    assert states[-1].error == f"pulling {SUBSCRIPTION} failed (no); reconnecting"


async def test_close_sends_the_acks_that_are_out(server: PubSubServer, clock: LoopClock) -> None:
    async with reading(server.endpoint, clock, limits=replace(QUICK, ack_interval=0.5)) as reader:
        await reader.until(lambda state: state.connected)
        await server.publish(b"m-1")
        await reader.until(lambda _: reader.deliveries != [])
        assert server.acked == []
    assert server.acked == ["ack-m-1"]


async def test_close_hands_back_what_is_not_handled(server: PubSubServer, clock: LoopClock) -> None:
    closing: list[asyncio.Task[None]] = []

    def handle(_: Delivery) -> Answer:
        if not closing:
            closing.append(asyncio.create_task(reader.subscription.close(5)))
        return Answer.ACK

    # Slow handling of many, so that the end comes in the midst of them.
    def slow(delivery: Delivery) -> Answer:
        until = clock.monotonic() + 0.002
        while clock.monotonic() < until:
            pass
        return handle(delivery)

    async with reading(server.endpoint, clock, slow) as reader:
        await reader.until(lambda state: state.connected)
        bodies = [str(number).encode() for number in range(100)]
        await server.publish(*bodies)
        await server.until(lambda: len(server.acked) + len(server.deadlines) == 100)
        await closing[0]
    nacked = [ack_id for ack_id, seconds in server.deadlines if seconds == 0]
    assert sorted([*server.acked, *nacked]) == sorted(f"ack-{body.decode()}" for body in bodies)
    assert len(server.acked) == len(reader.deliveries) < 100


async def test_close_is_bounded_when_the_server_does_not_end_its_side(server: PubSubServer, clock: LoopClock) -> None:
    server.deaf_to_half_close = True
    async with reading(server.endpoint, clock) as reader:
        await reader.until(lambda state: state.connected)
        await server.publish(b"m-1")
        await server.until(lambda: server.acked == ["ack-m-1"])
        began = clock.monotonic()
        await reader.subscription.close(0.4)
        assert clock.monotonic() - began < 1


async def test_close_is_quick_while_the_service_is_away(clock: LoopClock) -> None:
    async with reading("127.0.0.1:1", clock, limits=Limits(backoff_min=60, backoff_max=60)) as reader:
        await reader.until(lambda state: state.failures == 1)
        began = clock.monotonic()
        await reader.subscription.close(5)
        assert clock.monotonic() - began < 1


async def test_a_cancelled_run_leaves_nothing(server: PubSubServer, clock: LoopClock) -> None:
    states: list[StreamState] = []
    subscription = Subscription(client_for(server.endpoint), SUBSCRIPTION, acking, states.append, QUICK, clock)
    running = asyncio.create_task(subscription.run())
    await server.until(lambda: len(server.openings) == 1)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_a_listener_that_raises_does_not_end_the_pulling(server: PubSubServer, clock: LoopClock) -> None:
    def listen(_: StreamState) -> None:
        raise RuntimeError("no")

    subscription = Subscription(client_for(server.endpoint), SUBSCRIPTION, acking, listen, QUICK, clock)
    running = asyncio.create_task(subscription.run())
    await server.publish(b"m-1")
    await server.until(lambda: server.acked == ["ack-m-1"])
    await subscription.close(5)
    await running


async def test_a_cancellation_that_is_not_ours_is_a_failure_like_any_other(
    server: PubSubServer, clock: LoopClock
) -> None:
    """GRPC raises CancelledError of a call that it cancelled by itself: to end over it would be to go deaf."""
    real, tries = client_for(server.endpoint), 0

    async def factory() -> object:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise asyncio.CancelledError
        return await real()

    async with reading(factory, clock) as reader:
        await server.publish(b"m-1")
        await server.until(lambda: server.acked == ["ack-m-1"])
    assert reader.states[0].error == f"pulling {SUBSCRIPTION} failed (CancelledError); reconnecting"


@pytest.mark.parametrize(
    ("error", "seconds", "most"),
    [
        (NoConnectionError("no"), Limits().connect_timeout, 4.0),
        (NoConnectionError("no"), 0.0, 4.0),
        (DENIED, 0.1, 10.0),
    ],
    ids=["black hole", "refused connection", "refused stream"],
)
async def test_after_many_minutes_of_an_outage_its_end_is_still_found_soon_and_nobody_is_hammered_meanwhile(
    error: Exception, seconds: float, most: float
) -> None:
    """With the limits as shipped, on a clock that jumps over the pauses."""
    begun: list[float] = []
    enough = asyncio.Event()
    dice = random.Random(7)

    class Jumping(LoopClock):
        now = 0.0

        def monotonic(self) -> float:
            return self.now

        async def sleep(self, seconds: float) -> None:
            self.now += seconds
            if len(begun) > 300:
                enough.set()
                await asyncio.Event().wait()

    clock = Jumping()

    async def attempt() -> object:
        begun.append(clock.now)
        clock.now += seconds
        raise error

    subscription = Subscription(attempt, SUBSCRIPTION, acking, lambda _: None, Limits(), clock, jitter=dice.random)
    running = asyncio.create_task(subscription.run())
    await enough.wait()
    await subscription.close(1)
    await running
    intervals = [later - earlier for earlier, later in pairwise(begun)][10:]
    assert max(intervals) <= most
    assert min(intervals) >= most / 2
