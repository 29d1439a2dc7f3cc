"""Ack discipline, on our own Pub/Sub and on Google's emulator: each message has its effect once, whatever happens.

The numbers are those of the field reports that a test answers.
"""

import json
import logging
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from sinks.intake.delivery import Answer, Delivery, Limits
from tests.runtime.test_intake import Taking, entry
from tests.sinks.reading import LoopClock, reading
from tests.sinks.services import Embedded, Emulator, Events, restart
from tests.sinks.test_supervision import LIMITS

DEAD_LETTERS = 5


def bodies(count: int) -> list[bytes]:
    """So many different messages."""
    return [f"m-{number}".encode() for number in range(count)]


class Effects:
    """A handler that counts what it has done for each message, and does nothing twice."""

    def __init__(self, fails: Callable[[bytes, int], bool] = lambda _body, _time: False) -> None:
        self._fails = fails
        self.tried: Counter[bytes] = Counter()
        self.done: list[bytes] = []

    def __call__(self, delivery: Delivery) -> Answer:
        body = delivery.data
        self.tried[body] += 1
        if self._fails(body, self.tried[body]):
            raise RuntimeError(f"{body!r} fails")
        if body not in self.done:
            self.done.append(body)
        return Answer.ACK


async def test_b1_one_bad_message_of_ten_is_nacked_and_handled_later_and_nine_are_acked(
    events: Events, clock: LoopClock
) -> None:
    """B1: https://github.com/aws/aws-node-termination-handler/issues/360"""
    await events.make()
    effects = Effects(lambda body, tries: body == b"m-4" and tries == 1)
    await events.publish(*bodies(10))
    async with reading(events.endpoint, clock, effects, LIMITS, events.path) as reader:
        await reader.until(lambda _: len(effects.done) == 10)
        counts = reader.subscription.counts
    assert effects.tried == Counter({**dict.fromkeys(bodies(10), 1), b"m-4": 2})
    assert effects.done[-1] == b"m-4"
    assert (counts.acked, counts.nacked, counts.handler_errors) == (10, 1, 1)
    assert await events.left() == []


async def test_b10_every_way_to_answer_gives_its_place_to_the_next_message(
    embedded: Embedded, clock: LoopClock, caplog: pytest.LogCaptureFixture
) -> None:
    """B10: https://github.com/googleapis/python-pubsub/issues/365"""
    events = Events(embedded.endpoint, "b10")
    await events.make()
    subscription = embedded.broker.subscription(events.path)
    outstanding: list[int] = []
    tried: Counter[bytes] = Counter()

    def handle(delivery: Delivery) -> Answer:
        outstanding.append(subscription.outstanding)
        tried[delivery.data] += 1
        number = int(delivery.data.removeprefix(b"m-"))
        if tried[delivery.data] > 1 or number % 3 == 0:
            return Answer.ACK
        if number % 3 == 1:
            return Answer.NACK
        raise RuntimeError("no")

    caplog.set_level(logging.CRITICAL)
    limits = replace(LIMITS, max_outstanding_messages=5)
    await events.publish(*bodies(100))
    async with reading(events.endpoint, clock, handle, limits, events.path) as reader:
        await reader.until(lambda _: reader.subscription.counts.acked == 100)
    assert set(tried) == set(bodies(100))
    assert max(outstanding) <= 5
    assert subscription.outstanding == 0
    assert await events.left() == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "limits",
    [replace(LIMITS, max_outstanding_messages=20), replace(LIMITS, max_outstanding_bytes=20_000)],
    ids=["messages", "bytes"],
)
async def test_what_an_overloaded_process_holds_is_bounded(
    embedded: Embedded, clock: LoopClock, limits: Limits
) -> None:
    events = Events(embedded.endpoint, "overloaded")
    await events.make()
    subscription = embedded.broker.subscription(events.path)
    outstanding: list[int] = []

    def slow(_: Delivery) -> Answer:
        outstanding.append(subscription.outstanding)
        time.sleep(0.002)
        return Answer.ACK

    await events.publish(*(body.ljust(1000, b".") for body in bodies(400)))
    async with reading(events.endpoint, clock, slow, limits, events.path) as reader:
        await reader.until(lambda _: reader.subscription.counts.acked == 400)
    assert 10 < max(outstanding) <= 21


@pytest.mark.slow
async def test_b11_a_close_in_the_middle_of_a_burst_loses_nothing_and_repeats_nothing(
    events: Events, clock: LoopClock
) -> None:
    """B11: https://github.com/googleapis/python-pubsub/issues/150"""
    await events.make()
    burst = bodies(600)
    first, second = Effects(), Effects()

    def slowly(delivery: Delivery) -> Answer:
        time.sleep(0.001)
        return first(delivery)

    await events.publish(*burst)
    async with reading(events.endpoint, clock, slowly, LIMITS, events.path) as reader:
        await reader.until(lambda _: len(first.done) >= 100)
        began = clock.monotonic()
        await reader.subscription.close(5)
        assert clock.monotonic() - began < 5
    async with reading(events.endpoint, clock, second, LIMITS, events.path) as reader:
        await reader.until(lambda _: len(first.done) + len(second.done) >= len(burst))
    assert sorted([*first.done, *second.done]) == sorted(burst)
    assert len(first.done) < len(burst)
    assert await events.left() == []


@pytest.mark.slow
async def test_the_lease_of_what_waits_is_kept(events: Events, clock: LoopClock) -> None:
    """The last of them waits for 13 s, and 10 s is the lease."""
    await events.make()
    effects = Effects()

    def slow(delivery: Delivery) -> Answer:
        time.sleep(0.13)
        return effects(delivery)

    await events.publish(*bodies(100))
    async with reading(events.endpoint, clock, slow, replace(LIMITS, probe_timeout=10), events.path) as reader:
        await reader.until(lambda _: len(effects.done) == 100, patience=60)
        assert reader.subscription.counts.streams == 1
    assert effects.tried == Counter(dict.fromkeys(bodies(100), 1))
    assert await events.left() == []


@pytest.mark.slow
async def test_b13_a_process_that_was_busy_for_longer_than_the_lease_has_each_effect_once(
    events: Events, clock: LoopClock
) -> None:
    """B13: https://github.com/googleapis/python-pubsub/issues/593"""
    await events.make()
    taking = Taking()
    answers: list[Answer] = []

    def handle(delivery: Delivery) -> Answer:
        if not answers:
            # Nothing else runs meanwhile: no lease is extended, no ack is sent.
            time.sleep(12)
        answers.append(taking.intake.handle(delivery))
        return answers[-1]

    entries = [json.dumps(entry(insert_id=f"i{number}")).encode() for number in range(5)]
    await events.publish(*entries)
    async with reading(events.endpoint, clock, handle, LIMITS, events.path) as reader:
        await reader.until(lambda _: set(reader.bodies) == set(entries), patience=60)
        await reader.until(lambda state: state.connected)
        await events.publish(json.dumps(entry(insert_id="last")).encode())
        await reader.until(lambda _: len(taking.posts) == 6, patience=60)
    assert await events.left(timeout=3) == []
    assert len(taking.posts) == 6


async def test_what_cannot_be_read_is_nacked_into_the_dead_letters_with_log_line_and_metric(
    events: Events, clock: LoopClock, capsys: pytest.CaptureFixture[str]
) -> None:
    await events.make(dead_letter_policy={"dead_letter_topic": events.dead, "max_delivery_attempts": DEAD_LETTERS})
    taking = Taking()
    async with reading(events.endpoint, clock, taking.intake.handle, LIMITS, events.path) as reader:
        await events.publish(b"{no entry", json.dumps(entry()).encode())
        dead = await events.left(events.dead_path, timeout=20)
        attempts = [each.delivery_attempt for each in reader.deliveries if each.data == b"{no entry"]
        counts = reader.subscription.counts
    assert dead == [b"{no entry"]
    assert attempts == list(range(1, DEAD_LETTERS + 1))
    assert (len(taking.posts), counts.acked, counts.nacked) == (1, 1, DEAD_LETTERS)
    assert unreadable(taking) == DEAD_LETTERS
    assert taking.count("tpu_events_dead_lettered_total") == 1
    assert capsys.readouterr().out.count("message cannot be read") == DEAD_LETTERS
    assert await events.left() == []


async def test_what_cannot_be_read_is_told_and_acked_where_nothing_takes_dead_letters(
    events: Events, clock: LoopClock, capsys: pytest.CaptureFixture[str]
) -> None:
    await events.make()
    taking = Taking()
    async with reading(events.endpoint, clock, taking.intake.handle, LIMITS, events.path) as reader:
        await events.publish(b"{no entry")
        await reader.until(lambda _: reader.subscription.counts.acked == 1)
    assert [(each.data, each.delivery_attempt) for each in reader.deliveries] == [(b"{no entry", 0)]
    assert unreadable(taking) == 1
    assert capsys.readouterr().out.count("message cannot be read") == 1
    assert await events.left() == []


def unreadable(taking: Taking) -> float:
    """What the metric counts, over all reasons."""
    return sum(
        sample.value
        for metric in taking.world.env.metrics.registry.collect()
        for sample in metric.samples
        if sample.name == "tpu_events_unreadable_total"
    )


@pytest.mark.slow
async def test_thousands_are_each_handled_and_acked_once(embedded: Embedded, clock: LoopClock) -> None:
    events = Events(embedded.endpoint, "thousands")
    await events.make()
    many = bodies(5_000)
    seen: Counter[bytes] = Counter()

    def handle(delivery: Delivery) -> Answer:
        seen[delivery.data] += 1
        return Answer.ACK

    async with reading(events.endpoint, clock, handle, LIMITS, events.path) as reader:
        await events.publish(*many)
        await reader.until(lambda _: len(seen) == len(many))
    assert seen == Counter(dict.fromkeys(many, 1))
    assert embedded.broker.subscription(events.path).outstanding == 0
    assert await events.left() == []


@pytest.mark.slow
async def test_a_server_that_dies_in_the_middle_of_a_burst_costs_no_effect_and_doubles_none(
    service: Embedded | Emulator, clock: LoopClock
) -> None:
    events = Events(service.endpoint, "dying")
    await events.make()
    burst = bodies(400)
    effects = Effects()

    def slowly(delivery: Delivery) -> Answer:
        time.sleep(0.001)
        return effects(delivery)

    async with reading(events.endpoint, clock, slowly, LIMITS, events.path) as reader:
        await events.publish(*burst)
        await reader.until(lambda _: len(effects.done) >= 50)
        await restart(service)
        if isinstance(service, Emulator):
            # It has forgotten everything: the publisher says it all again.
            await events.make()
            await events.publish(*burst)
        await reader.until(lambda _: len(effects.done) == len(burst), patience=60)
    assert sorted(effects.done) == sorted(burst)
