"""Whatever breaks the stream, a working one follows: without a restart, without hammering, and the state says why."""

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import grpc
import pytest

from sinks.intake.delivery import Limits, StreamState
from tests.sinks.proxy import Wire, accepting_and_silent, front_of, wire_to
from tests.sinks.reading import LoopClock, Reader, reading
from tests.sinks.services import Embedded, Emulator, Events, restart

pytestmark = pytest.mark.slow

#: Quick, but not so quick that a busy machine or a Java process that warms up looks like a broken one.
LIMITS = Limits(
    backoff_min=0.02,
    backoff_max=0.16,
    reach_max=0.16,
    connect_timeout=1,
    probe_interval=0.3,
    probe_timeout=2,
    ack_deadline=10,
)
#: From each failed attempt to the next at least, in seconds, by LIMITS; a fixed jitter takes a quarter off.
BACK_OFF = [0.015, 0.03, 0.06, 0.12, 0.12, 0.12]
Status = grpc.StatusCode
US = "the operator's service account"


def ups_and_downs(states: list[StreamState]) -> list[tuple[bool, str]]:
    """What was told, without what is told again."""
    told = [(state.connected, state.error) for state in states]
    return [each for each, _ in itertools.groupby(told)]


def hurries(reader: Reader) -> list[tuple[float, float]]:
    """Intervals between attempts that were shorter than they may be, with what they may be."""
    return [pair for pair in zip(reader.intervals, BACK_OFF, strict=False) if pair[0] < pair[1]]


@asynccontextmanager
async def through_wire(events: Events, clock: LoopClock, limits: Limits = LIMITS) -> AsyncIterator[tuple[Wire, Reader]]:
    """A subscription that runs over a wire."""
    async with (
        wire_to(events.endpoint) as wire,
        reading(wire.endpoint, clock, limits=limits, path=events.path) as reader,
    ):
        yield wire, reader


async def one_more(reader: Reader, events: Events, body: bytes) -> None:
    """The stream works: what is published now arrives."""
    await events.publish(body)
    await reader.until_delivered(body)


async def test_a_cut_connection_is_followed_by_another(events: Events, clock: LoopClock) -> None:
    await events.make()
    async with (
        wire_to(events.endpoint) as wire,
        reading(wire.endpoint, clock, limits=LIMITS, path=events.path) as reader,
    ):
        for body in (b"1", b"2", b"3"):
            await reader.until(lambda state: state.connected)
            await one_more(reader, events, body)
            await wire.cut()
            await reader.until(lambda state: not state.connected)
        await one_more(reader, events, b"4")
        assert wire.connections == 4
    assert await events.left() == []


async def test_a_restart_of_the_service_is_survived(
    service: Embedded | Emulator, events: Events, clock: LoopClock
) -> None:
    await events.make()
    async with reading(events.endpoint, clock, limits=LIMITS, path=events.path) as reader:
        await reader.until(lambda state: state.connected)
        await restart(service)
        await reader.until(lambda state: state.connected or state.failures > 0)
        if isinstance(service, Emulator):
            await events.make()
        await one_more(reader, events, b"1")


@pytest.mark.parametrize(
    ("status", "text", "told"),
    [
        (
            Status.UNAVAILABLE,
            "Try again.",
            "Pub/Sub cannot be reached to pull {path} (Try again.); check the endpoint and the network",
        ),
        (
            Status.RESOURCE_EXHAUSTED,
            "Too many.",
            "a Pub/Sub quota is used up for {path} (Too many.); raise it, or pull with fewer clients",
        ),
        (
            Status.PERMISSION_DENIED,
            "Not you.",
            "not allowed to pull {path} (Not you.); grant roles/pubsub.subscriber on it to {us}",
        ),
        (
            Status.UNAUTHENTICATED,
            "Who?",
            "the credentials to pull {path} were refused (Who?); renew them",
        ),
        (Status.INTERNAL, "RST_STREAM", "pulling {path} failed (RST_STREAM); reconnecting"),
        (Status.CANCELLED, "by the server", "pulling {path} failed (by the server); reconnecting"),
        (None, "", "the stream of {path} ended; reconnecting"),
    ],
    ids=["unavailable", "exhausted", "denied", "unauthenticated", "internal", "cancelled", "ended"],
)
async def test_what_refuses_or_ends_every_stream_is_tried_ever_more_slowly_until_it_is_mended(
    events: Events, clock: LoopClock, status: grpc.StatusCode | None, text: str, told: str
) -> None:
    await events.make()
    async with front_of(events.endpoint) as front:
        front.answers["StreamingPull"] = None if status is None else (status, text)
        async with reading(front.endpoint, clock, limits=LIMITS, path=events.path) as reader:
            await front.until_called("StreamingPull", 8)
            assert hurries(reader) == []
            assert ups_and_downs(reader.states) == [(False, told.format(path=events.path, us=US))]
            assert front.calls["StreamingPull"] <= len(reader.attempts)
            del front.answers["StreamingPull"]
            await one_more(reader, events, b"1")
            assert reader.subscription.state.connected
    assert await events.left() == []


@pytest.mark.parametrize("status", [Status.PERMISSION_DENIED, Status.UNAVAILABLE], ids=["denied", "unavailable"])
async def test_what_is_taken_away_in_the_middle_and_given_back_is_told_and_mended(
    events: Events, clock: LoopClock, status: grpc.StatusCode
) -> None:
    await events.make()
    async with (
        front_of(events.endpoint) as front,
        wire_to(front.endpoint) as wire,
        reading(wire.endpoint, clock, limits=LIMITS, path=events.path) as reader,
    ):
        await one_more(reader, events, b"1")
        front.answers["StreamingPull"] = (status, "no")
        await wire.cut()
        await reader.until(lambda state: state.failures >= 3 and "(no)" in state.error)
        del front.answers["StreamingPull"]
        await one_more(reader, events, b"2")
        again = await reader.until(lambda state: state.connected)
        assert again.gap > 0


async def test_a_subscription_that_is_deleted_and_made_again_is_found_again(events: Events, clock: LoopClock) -> None:
    await events.make()
    async with reading(events.endpoint, clock, limits=LIMITS, path=events.path) as reader:
        await one_more(reader, events, b"1")
        await events.unsubscribe()
        gone = await reader.until(lambda state: state.failures >= 2)
        await events.subscribe()
        await one_more(reader, events, b"2")
        await reader.until(lambda state: state.connected)
    assert gone.error.startswith(f"{events.path} does not exist (Subscription does not exist")
    assert gone.error.endswith("); create it with terraform/, or correct the name of the subscription")


async def test_a_black_hole_is_found_by_a_call_that_stays_unanswered_and_left(events: Events, clock: LoopClock) -> None:
    await events.make()
    limits = replace(LIMITS, probe_timeout=0.7)
    async with (
        wire_to(events.endpoint) as wire,
        reading(wire.endpoint, clock, limits=limits, path=events.path) as reader,
    ):
        await one_more(reader, events, b"1")
        wire.swallow()
        silent = await reader.until(lambda state: not state.connected)
        hopeless = await reader.until(lambda state: state.failures >= 3)
        await wire.mend()
        await one_more(reader, events, b"2")
        again = await reader.until(lambda state: state.connected)
        assert again.gap > limits.probe_timeout
    assert silent.error == (
        f"the connection for {events.path} no longer answers; reconnecting (check the network if this repeats)"
    )
    assert hopeless.error == (
        f"Pub/Sub cannot be reached to pull {events.path} (no connection within 1 s); check the endpoint and the "
        "network"
    )


async def test_what_a_black_hole_has_swallowed_comes_again(events: Events, clock: LoopClock) -> None:
    await events.make()
    limits = replace(LIMITS, probe_timeout=0.7)
    async with (
        wire_to(events.endpoint) as wire,
        reading(wire.endpoint, clock, limits=limits, path=events.path) as reader,
    ):
        await one_more(reader, events, b"1")
        wire.swallow()
        await events.publish(b"swallowed")
        await reader.until(lambda state: not state.connected)
        await wire.mend()
        await reader.until_delivered(b"swallowed")
    assert await events.left() == []


async def test_a_server_that_takes_connections_and_says_nothing_is_left_for_one_that_speaks(
    events: Events, clock: LoopClock
) -> None:
    await events.make()
    endpoint, close = await accepting_and_silent()
    async with reading(endpoint, clock, limits=replace(LIMITS, connect_timeout=0.1), path=events.path) as reader:
        mute = await reader.until(lambda state: state.failures >= 4)
    await close()
    assert ups_and_downs(reader.states) == [(False, mute.error)]
    assert "(no connection within 0.1 s)" in mute.error
    async with wire_to(events.endpoint) as wire:
        wire.swallow()
        async with reading(wire.endpoint, clock, limits=LIMITS, path=events.path) as reader:
            await reader.until(lambda state: state.failures >= 1)
            await wire.mend()
            await one_more(reader, events, b"1")


async def test_a_service_that_is_not_there_at_the_start_is_found_when_it_comes(
    events: Events, clock: LoopClock
) -> None:
    await events.make()
    async with wire_to(events.endpoint) as wire:
        await wire.refuse()
        async with reading(wire.endpoint, clock, limits=LIMITS, path=events.path) as reader:
            absent = await reader.until(lambda state: state.failures >= 3)
            await wire.mend()
            await one_more(reader, events, b"1")
    assert absent.error.startswith(f"Pub/Sub cannot be reached to pull {events.path} (")


async def test_a_stream_that_is_answered_with_nothing_while_the_connection_lives_is_replaced(
    events: Events, clock: LoopClock
) -> None:
    await events.make()
    async with front_of(events.endpoint) as front:
        front.silent.add("StreamingPull")
        limits = replace(LIMITS, quiet=1.5)
        async with reading(front.endpoint, clock, limits=limits, path=events.path) as reader:
            await reader.until(lambda state: state.connected)
            front.silent.clear()
            await one_more(reader, events, b"1")
            assert front.calls["StreamingPull"] == 2
            assert ups_and_downs(reader.states) == [(True, "")]


async def test_a_stream_that_stops_answering_signs_of_life_is_left(embedded: Embedded, clock: LoopClock) -> None:
    events = Events(embedded.endpoint, "signs-of-life")
    await events.make()
    limits = replace(LIMITS, keep_alive=0.1, pong_timeout=0.3)
    async with (
        front_of(embedded.endpoint) as front,
        reading(front.endpoint, clock, limits=limits, path=events.path) as reader,
    ):
        await front.until_answered("StreamingPull", 2)
        front.stall()
        silent = await reader.until(lambda state: state.failures >= 1)
        front.stall(stalled=False)
        await one_more(reader, events, b"1")
    assert silent.error.startswith(f"the connection for {events.path} no longer answers")


async def test_slow_answers_are_no_trouble(embedded: Embedded, clock: LoopClock) -> None:
    events = Events(embedded.endpoint, "slow")
    await events.make()
    for method in ("Subscriber.GetSubscription", "Subscriber.StreamingPull"):
        embedded.faults.plan({"method": method, "nth": "every", "effect": "latency", "ms": 700})
    async with reading(events.endpoint, clock, limits=LIMITS, path=events.path) as reader:
        for body in (b"1", b"2", b"3"):
            await one_more(reader, events, body)
    assert ups_and_downs(reader.states) == [(True, "")]
    assert reader.subscription.counts.streams == 1


async def test_a_server_that_delivers_once_and_cuts_is_not_hammered(embedded: Embedded, clock: LoopClock) -> None:
    events = Events(embedded.endpoint, "cutting")
    await events.make()
    embedded.faults.plan({"method": "Subscriber.StreamingPull", "nth": "every", "effect": "error-after"})
    async with reading(events.endpoint, clock, limits=LIMITS, path=events.path) as reader:
        for number in range(8):
            await one_more(reader, events, str(number).encode())
    assert hurries(reader) == []


async def test_a_close_in_a_black_hole_takes_no_longer_than_its_grace(embedded: Embedded, clock: LoopClock) -> None:
    events = Events(embedded.endpoint, "closing")
    await events.make()
    limits = replace(LIMITS, ack_interval=0.5)
    async with through_wire(events, clock, limits) as (wire, reader):
        await reader.until(lambda state: state.connected)
        await events.publish(b"1")
        await reader.until_delivered(b"1")
        wire.swallow()
        began = clock.monotonic()
        await reader.subscription.close(1)
        assert clock.monotonic() - began < 2
