"""What must never raise a false alarm, and what must not hide a true one."""

import asyncio
import random
from datetime import timedelta

import pytest

from sinks.intake.events import Resource
from tests.runtime.listening import OWN, UP, Listening, all_lost, canary_of, down, entry_of
from tests.runtime.virtual_time import BEGINNING

HOUR = 3600.0


def connected(**options: float) -> Listening:
    """Ears on a whole path."""
    made = Listening(**options)
    made.hearing.stream(UP)
    return made


@pytest.mark.parametrize("skew", [-HOUR, -90.0, 90.0, HOUR])
async def test_a_clock_that_is_wrong_costs_nothing(skew: float) -> None:
    ears = connected(skew=skew)
    async with ears.running():
        for _ in range(60):
            ears.inserts()
            await asyncio.sleep(60)
    assert ears.changes == [(2, OWN, "Flowing")]


@pytest.mark.parametrize("jump", [-HOUR, HOUR])
async def test_a_clock_that_jumps_costs_nothing_and_hides_nothing(jump: float) -> None:
    ears = connected()
    async with ears.running():
        for minute in range(60):
            if minute in {7, 31}:
                ears.clock.skew += timedelta(seconds=jump)
            ears.comes(entry_of(Resource.INSTANCE, "a-vm"))
            await asyncio.sleep(60)
        assert ears.changes == [(2, OWN, "Flowing")]
        ears.clock.skew -= timedelta(seconds=jump)
        ears.lost = all_lost
        await asyncio.sleep(500)
    assert ears.reasons == ["Flowing", "NoEvents"]


@pytest.mark.parametrize("seed", range(2))
async def test_one_canary_in_three_that_is_lost_is_no_deafness(seed: int) -> None:
    ears = connected()
    dice = random.Random(seed)
    runs = [0]

    def lost(_: int) -> bool:
        # Never five in a row: that is an outage.
        runs[0] = runs[0] + 1 if dice.random() < 1 / 3 and runs[0] < 4 else 0
        return runs[0] > 0

    ears.lost = lost
    async with ears.running():
        await asyncio.sleep(HOUR)
    assert set(ears.reasons) == {"Flowing"}


async def test_entries_that_are_late_by_ninety_seconds_are_no_deafness() -> None:
    ears = connected()
    ears.latency = 90
    async with ears.running():
        for _ in range(60):
            ears.inserts()
            await asyncio.sleep(60)
    assert ears.changes == [(90, OWN, "Flowing")]


async def test_ninety_seconds_late_and_one_in_three_lost_at_once() -> None:
    ears = connected()
    ears.latency = 90
    ears.lost = lambda n: n % 3 == 0
    async with ears.running():
        await asyncio.sleep(HOUR)
    assert set(ears.reasons) == {"Flowing"}


async def test_a_stream_that_is_replaced_now_and_then_hides_no_deafness_and_ends_none() -> None:
    ears = connected()
    async with ears.running():
        await asyncio.sleep(10)
        ears.lost = all_lost
        for _ in range(60):
            ears.hearing.stream(down("the stream ended; reconnecting", ""))
            await asyncio.sleep(1)
            ears.hearing.stream(UP)
            await asyncio.sleep(50)
    assert ears.reasons == ["Flowing", "NoEvents"]


async def test_a_subscription_that_is_there_again_is_believed_when_something_comes() -> None:
    ears = connected()
    async with ears.running():
        await asyncio.sleep(10)
        ears.hearing.stream(down("it does not exist", "NOT_FOUND", failures=2))
        ears.lost = all_lost
        await asyncio.sleep(100)
        ears.hearing.stream(UP)
        await asyncio.sleep(100)
        assert ears.reasons == ["Flowing", "StreamDown", "AwaitingFirstEvent"]
        await asyncio.sleep(100)
    assert ears.reasons == ["Flowing", "StreamDown", "AwaitingFirstEvent", "NoEvents"]


@pytest.mark.parametrize("seed", range(2))
async def test_a_stream_that_flaps_and_delivers_is_no_deafness(seed: int) -> None:
    ears = connected()
    dice = random.Random(seed)
    async with ears.running():
        await asyncio.sleep(10)
        for _ in range(40):
            ears.hearing.stream(down())
            await asyncio.sleep(dice.uniform(0.1, 20))
            ears.hearing.stream(UP)
            await asyncio.sleep(dice.uniform(21, 60))
    assert ears.reasons == ["Flowing"]


async def test_the_canary_of_the_leader_before_proves_nothing_for_the_next() -> None:
    ears = connected()
    ears.lost = all_lost
    async with ears.running():
        for second in range(130):
            now = BEGINNING + timedelta(seconds=second)
            # Written before the change, delivered after it: the same Pod's name, another process.
            ears.hearing.heard(canary_of(BEGINNING - timedelta(seconds=130 - second)), now)
            await asyncio.sleep(1)
    assert ears.reasons == ["NoEvents"]


async def test_a_process_that_was_stopped_for_a_while_takes_what_came_before_it_judges() -> None:
    ears = connected()
    async with ears.running():
        await asyncio.sleep(299)
        ears.inserts()
        await asyncio.sleep(1.5)
        # A canary and a mutation are out. Time passes, and nobody runs.
        ears.clock.advance(1000)
        await asyncio.sleep(300)
    assert ears.reasons == ["Flowing"]


async def test_a_restart_expects_nothing_of_the_process_before() -> None:
    before = connected()
    async with before.running():
        before.inserts(comes=False)
        await asyncio.sleep(60)
    after = connected()
    async with after.running():
        await asyncio.sleep(HOUR)
    assert after.reasons == ["Flowing"]


async def test_an_outage_of_cloud_logging_shorter_than_the_limit_is_no_deafness() -> None:
    ears = connected(interval=30)
    async with ears.running():
        await asyncio.sleep(10)
        for _ in range(20):
            ears.trouble = "Cloud Logging cannot be reached"
            await asyncio.sleep(110)
            ears.trouble = ""
            await asyncio.sleep(60)
    assert ears.reasons == ["Flowing"]
