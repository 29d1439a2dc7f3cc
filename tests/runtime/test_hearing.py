"""Whether events reach us: the verdict on the event path."""

import asyncio
from contextlib import suppress
from datetime import timedelta

from controller.core.verdicts import Verdict
from controller.runtime.hearing import Hearing
from controller.runtime.metrics import Metrics
from sinks.intake.delivery import StreamState
from tests.runtime.virtual_time import VirtualClock, elapsed

UP = StreamState(connected=True, since=0.0)
DOWN = StreamState(connected=False, since=0.0, error="NOT_FOUND: the subscription does not exist; create it")
FLOWING = Verdict("True", "Flowing", "events arrive")
WAITING = Verdict("Unknown", "AwaitingFirstEvent", "no event has been expected to be here yet")
NO_EVENTS = Verdict(
    "False",
    "NoEvents",
    "a tpu-node-group-canary entry did not come back within 120 s: check that the log sink exists and its filter "
    "admits it, and that the sink's writer identity may publish to the topic",
)


class Listening:
    """Hearing of the operator `me`, with what it did and when."""

    def __init__(self) -> None:
        self.canaries: list[float] = []
        self.changes: list[tuple[float, str]] = []
        self.metrics = Metrics()
        self.hearing = Hearing(
            VirtualClock(),
            self.metrics,
            lambda: self.canaries.append(elapsed()),
            lambda: self.changes.append((elapsed(), self.hearing.verdict.reason)),
            writer="me",
            interval=timedelta(minutes=5),
            limit=timedelta(minutes=2),
        )

    async def listen(self, seconds: float) -> None:
        """Run for so long."""
        task = asyncio.create_task(self.hearing.run())
        await asyncio.sleep(seconds)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def test_before_anything_is_expected_nothing_is_known() -> None:
    listening = Listening()
    assert listening.hearing.verdict == WAITING


async def test_a_canary_is_written_at_the_start_and_every_five_minutes() -> None:
    listening = Listening()
    await listening.listen(901)
    assert listening.canaries == [0, 300, 600, 900]


async def test_a_canary_that_comes_back_proves_the_path() -> None:
    listening = Listening()
    listening.hearing.stream(UP)
    listening.hearing.canary("me")
    assert (listening.hearing.verdict, listening.changes) == (FLOWING, [(0, "Flowing")])


async def test_one_that_does_not_is_told_after_the_limit() -> None:
    listening = Listening()
    listening.hearing.stream(UP)
    await listening.listen(130)
    assert listening.hearing.verdict == NO_EVENTS
    assert listening.changes == [(121, "NoEvents")]
    assert listening.metrics.registry.get_sample_value("tpu_events_flowing") == 0


async def test_later_canaries_do_not_put_the_verdict_off() -> None:
    listening = Listening()
    listening.hearing.stream(UP)
    listening.hearing.canary("me")
    await listening.listen(1000)
    assert listening.changes == [(0, "Flowing"), (121, "NoEvents")]


async def test_hearing_again_ends_it() -> None:
    listening = Listening()
    listening.hearing.stream(UP)
    await listening.listen(130)
    listening.hearing.canary("me")
    assert (listening.hearing.verdict, listening.changes[-1]) == (FLOWING, (130, "Flowing"))
    assert listening.metrics.registry.get_sample_value("tpu_events_flowing") == 1


async def test_the_canary_of_another_replica_does_not_prove_our_own() -> None:
    listening = Listening()
    listening.hearing.stream(UP)
    listening.hearing.canary("another")
    assert listening.hearing.verdict == WAITING


async def test_a_stream_that_broke_is_told_at_once_with_its_cause() -> None:
    listening = Listening()
    listening.hearing.stream(UP)
    listening.hearing.canary("me")
    listening.hearing.stream(DOWN)
    assert listening.hearing.verdict == Verdict("False", "StreamDown", DOWN.error)
    assert listening.metrics.registry.get_sample_value("tpu_subscriber_up") == 0
    listening.hearing.stream(UP)
    assert listening.hearing.verdict == FLOWING
    assert [reason for _, reason in listening.changes] == ["Flowing", "StreamDown", "Flowing"]


async def test_a_stream_that_has_not_connected_yet_is_no_trouble() -> None:
    listening = Listening()
    listening.hearing.stream(StreamState(connected=False, since=0.0))
    assert (listening.hearing.verdict, listening.changes) == (WAITING, [])


async def test_what_stays_as_it_was_is_not_told_again() -> None:
    listening = Listening()
    for _ in range(3):
        listening.hearing.stream(DOWN)
    assert listening.changes == [(0, "StreamDown")]
