"""One look at a time for each key; nothing that was asked for is lost, and nobody is looked at too often."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

import pytest

from controller.core.model import Cause, Key, Kind, Scope, Wake
from controller.core.plan import Recheck
from controller.runtime.mailbox import Limits, Mailboxes, Next
from tests.runtime.virtual_time import BEGINNING, NoJitter, VirtualClock, elapsed

ONE, OTHER = Key(Kind.GROUP, "default", "one"), Key(Kind.GROUP, "default", "other")
LIMITS = Limits(looks_per_second=2, burst=3, workers=2, retry_first=1, retry_max=8)

Look = Callable[[Key, Wake], Awaitable[Next]]


def wake(name: str = "", scope: Scope = Scope.INSTANCES, kind: str = "test") -> Wake:
    """A wake that names an instance, or none."""
    cause = Cause(kind, BEGINNING)
    return Wake(scope, cause, {name: cause} if name else {})


class Recorder:
    """Handles looks by noting them; `answers` are given in their order, an exception is raised."""

    def __init__(self, *answers: Next | Exception, seconds: float = 0.0) -> None:
        self.looks: list[tuple[float, Key, frozenset[str]]] = []
        self.scopes: list[Scope] = []
        self.running = 0
        self.most = 0
        self._answers = list(answers)
        self._seconds = seconds

    async def __call__(self, key: Key, wake: Wake) -> Next:
        """Look."""
        self.looks.append((elapsed(), key, frozenset(wake.instances)))
        self.scopes.append(wake.scope)
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(self._seconds)
        self.running -= 1
        answer = self._answers.pop(0) if self._answers else Next()
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def times(self) -> list[float]:
        """When looks began."""
        return [at for at, *_ in self.looks]

    @property
    def names(self) -> list[set[str]]:
        """The instances that each look was for."""
        return [set(names) for *_, names in self.looks]


def open_boxes(look: Look, limits: Limits = LIMITS) -> Mailboxes:
    """Mailboxes that this handler serves."""
    return Mailboxes(look, VirtualClock(), NoJitter(), limits)


async def test_posts_that_wait_are_one_look() -> None:
    looks = Recorder()
    boxes = open_boxes(looks)
    for name in "abc":
        boxes.post(ONE, wake(name))
    await asyncio.sleep(60)
    assert looks.looks == [(0.0, ONE, frozenset("abc"))]


async def test_what_is_posted_during_a_look_is_the_next_look() -> None:
    looks = Recorder(seconds=1)
    boxes = open_boxes(looks)
    boxes.post(ONE, wake("a"))
    await asyncio.sleep(0.5)
    boxes.post(ONE, wake("b"))
    boxes.post(ONE, wake("c"))
    await asyncio.sleep(60)
    assert looks.looks == [(0.0, ONE, frozenset("a")), (1.0, ONE, frozenset("bc"))]
    assert looks.most == 1


async def test_keys_do_not_wait_for_one_another() -> None:
    looks = Recorder(seconds=1)
    boxes = open_boxes(looks)
    boxes.post(ONE, wake("a"))
    boxes.post(OTHER, wake("b"))
    await asyncio.sleep(60)
    assert looks.looks == [(0.0, ONE, frozenset("a")), (0.0, OTHER, frozenset("b"))]


async def test_no_more_looks_run_than_there_are_workers_and_none_is_lost() -> None:
    looks = Recorder(seconds=1)
    boxes = open_boxes(looks)
    keys = [Key(Kind.GROUP, "default", str(i)) for i in range(5)]
    for key in keys:
        boxes.post(key, wake("a"))
    await asyncio.sleep(60)
    assert [key for _, key, _ in looks.looks] == keys
    assert (looks.most, looks.times) == (2, [0.0, 0.0, 1.0, 1.0, 2.0])


async def test_what_is_posted_while_a_key_waits_for_a_worker_is_the_same_look() -> None:
    looks = Recorder(seconds=1)
    boxes = open_boxes(looks, Limits(workers=1))
    boxes.post(OTHER, wake("x"))
    boxes.post(ONE, wake("a"))
    await asyncio.sleep(0.5)
    boxes.post(ONE, wake("b"))
    await asyncio.sleep(60)
    assert looks.looks == [(0.0, OTHER, frozenset("x")), (1.0, ONE, frozenset("ab"))]


async def test_a_flood_of_posts_is_looked_at_with_a_burst_and_then_at_the_capped_rate() -> None:
    looks = Recorder()
    boxes = open_boxes(looks)
    for i in range(400):
        boxes.post(ONE, wake(str(i)))
        await asyncio.sleep(0.01)
    await asyncio.sleep(60)
    assert looks.times == [0.0, 0.01, 0.02, *(pytest.approx(0.5 * i, abs=0.011) for i in range(1, 9))]
    assert set.union(*looks.names) == {str(i) for i in range(400)}


async def test_the_rate_of_one_key_does_not_cost_another() -> None:
    looks = Recorder()
    boxes = open_boxes(looks)
    for i in range(10):
        boxes.post(ONE, wake(str(i)))
        await asyncio.sleep(0)
        await asyncio.sleep(0.001)
    boxes.post(OTHER, wake("b"))
    await asyncio.sleep(60)
    assert [at for at, key, _ in looks.looks if key == OTHER] == [pytest.approx(0.01)]


FAILED = Next(retry=wake("a"))


async def test_a_failed_look_is_repeated_behind_a_back_off_that_doubles_to_its_bound() -> None:
    looks = Recorder(*[FAILED] * 5)
    boxes = open_boxes(looks)
    boxes.post(ONE, wake("a"))
    await asyncio.sleep(600)
    assert looks.times == [0, 1, 3, 7, 15, 23]
    assert looks.names == [{"a"}] * 6


async def test_a_look_that_raises_is_a_bug_and_is_repeated_all_the_same() -> None:
    looks = Recorder(ValueError("a bug"), ValueError("again"))
    boxes = open_boxes(looks)
    boxes.post(ONE, wake("a"))
    await asyncio.sleep(600)
    assert looks.looks == [(0, ONE, frozenset("a")), (1, ONE, frozenset("a")), (3, ONE, frozenset("a"))]


async def test_a_failure_that_names_its_wait_is_not_repeated_earlier() -> None:
    looks = Recorder(Next(retry=wake("a"), retry_after=300.0))
    boxes = open_boxes(looks)
    boxes.post(ONE, wake("a"))
    await asyncio.sleep(600)
    assert looks.times == [0, 300]


async def test_a_fresh_event_does_not_wait_for_the_back_off_and_does_not_replace_it() -> None:
    looks = Recorder(FAILED)
    boxes = open_boxes(looks)
    boxes.post(ONE, wake("a"))
    await asyncio.sleep(0.4)
    boxes.post(ONE, wake("b"))
    await asyncio.sleep(60)
    assert looks.looks == [(0, ONE, frozenset("a")), (0.4, ONE, frozenset("b")), (1, ONE, frozenset("a"))]


async def test_the_back_off_begins_anew_after_a_retry_that_went_well() -> None:
    looks = Recorder(FAILED, FAILED, Next(), FAILED)
    boxes = open_boxes(looks)
    boxes.post(ONE, wake("a"))
    await asyncio.sleep(60)
    boxes.post(ONE, wake("b"))
    await asyncio.sleep(60)
    assert looks.times == [0, 1, 3, 60, 61]


async def test_events_that_keep_failing_do_not_put_off_a_retry() -> None:
    looks = Recorder(FAILED, *[Next(retry=wake("b"))] * 4)
    boxes = open_boxes(looks)
    boxes.post(ONE, wake("a"))
    for _ in range(4):
        await asyncio.sleep(0.9)
        boxes.post(ONE, wake("b"))
    await asyncio.sleep(60)
    assert looks.looks[2] == (1.0, ONE, frozenset("ab"))


async def test_a_failure_that_passes_soon_does_not_wait_for_one_that_does_not() -> None:
    looks = Recorder(Next(retry=wake("a"), retry_after=300.0), Next(retry=wake("b")))
    boxes = open_boxes(looks)
    boxes.post(ONE, wake("a"))
    await asyncio.sleep(10)
    boxes.post(ONE, wake("b"))
    await asyncio.sleep(600)
    assert looks.looks[2] == (12.0, ONE, frozenset("ab"))


def recheck(seconds: float, name: str) -> Recheck:
    """A timer for one instance."""
    return Recheck(BEGINNING + timedelta(seconds=seconds), "timer", Scope.INSTANCES, (name,))


async def test_timers_look_when_they_are_due() -> None:
    looks = Recorder(Next(rechecks=(recheck(5, "x"), recheck(7, "y"))))
    boxes = open_boxes(looks)
    boxes.post(ONE, wake("a"))
    await asyncio.sleep(60)
    assert looks.looks[:2] == [(0, ONE, frozenset("a")), (5, ONE, frozenset("x"))]


async def test_a_look_replaces_the_timers_of_the_one_before_it() -> None:
    looks = Recorder(Next(rechecks=(recheck(5, "x"),)), Next(rechecks=(recheck(9, "y"),)))
    boxes = open_boxes(looks)
    boxes.post(ONE, wake("a"))
    await asyncio.sleep(1)
    boxes.post(ONE, wake("b"))
    await asyncio.sleep(60)
    assert looks.looks[2:] == [(9, ONE, frozenset("y"))]


async def test_a_timer_that_is_overdue_looks_at_once() -> None:
    looks = Recorder(Next(rechecks=(recheck(-5, "x"),)))
    boxes = open_boxes(looks)
    boxes.post(ONE, wake("a"))
    await asyncio.sleep(60)
    assert looks.times == [0, 0]


async def test_a_look_that_changed_what_the_next_one_needs_is_followed_at_once() -> None:
    looks = Recorder(Next(again=wake("b", Scope.SPEC)))
    boxes = open_boxes(looks)
    boxes.post(ONE, wake("a"))
    await asyncio.sleep(60)
    assert looks.looks == [(0, ONE, frozenset("a")), (0, ONE, frozenset("b"))]


async def test_a_forgotten_key_is_not_looked_at_any_more() -> None:
    looks = Recorder(Next(rechecks=(recheck(5, "x"),), retry=wake("a")))
    boxes = open_boxes(looks)
    boxes.post(ONE, wake("a"))
    await asyncio.sleep(0.5)
    boxes.forget(ONE)
    await asyncio.sleep(60)
    assert looks.times == [0]
    boxes.forget(OTHER)


async def test_a_key_that_comes_back_after_it_was_forgotten_is_looked_at_again() -> None:
    looks = Recorder(FAILED)
    boxes = open_boxes(looks)
    boxes.post(ONE, wake("a"))
    await asyncio.sleep(0.5)
    boxes.forget(ONE)
    boxes.post(ONE, wake("b"))
    await asyncio.sleep(60)
    assert looks.looks == [(0, ONE, frozenset("a")), (0.5, ONE, frozenset("b"))]


async def test_how_many_keys_wait_or_run_is_known() -> None:
    boxes = open_boxes(Recorder(seconds=1))
    assert boxes.waiting == 0
    boxes.post(ONE, wake("a"))
    boxes.post(OTHER, wake("b"))
    assert boxes.waiting == 2
    await asyncio.sleep(60)
    assert boxes.waiting == 0


def tasks() -> set[asyncio.Task[object]]:
    """All tasks but the test's own."""
    return asyncio.all_tasks() - {asyncio.current_task()}


async def test_closing_lets_a_running_look_finish_and_starts_nothing_more() -> None:
    looks = Recorder(Next(again=wake("x"), rechecks=(recheck(0, "y"),), retry=wake("z")), seconds=1)
    boxes = open_boxes(looks)
    boxes.post(ONE, wake("a"))
    await asyncio.sleep(0.5)
    boxes.post(ONE, wake("b"))
    await boxes.close(grace=5)
    assert (elapsed(), looks.running, tasks()) == (1, 0, set())
    boxes.post(ONE, wake("c"))
    await asyncio.sleep(60)
    assert looks.names == [{"a"}]


async def test_closing_does_not_wait_for_a_look_that_hangs() -> None:
    boxes = open_boxes(Recorder(seconds=1e6))
    boxes.post(ONE, wake("a"))
    await asyncio.sleep(0.5)
    await boxes.close(grace=5)
    assert (elapsed(), tasks()) == (5.5, set())


async def test_closing_ends_those_that_wait_for_their_rate_or_for_a_worker() -> None:
    looks = Recorder()
    boxes = open_boxes(looks, Limits(looks_per_second=0.001, burst=1))
    boxes.post(ONE, wake("a"))
    await asyncio.sleep(0.5)
    boxes.post(ONE, wake("b"))
    await asyncio.sleep(0.5)
    await boxes.close(grace=1)
    assert (looks.names, tasks()) == ([{"a"}], set())


async def test_the_oldest_event_is_known_while_its_look_waits_runs_or_has_failed() -> None:
    recorder = Recorder(RuntimeError("broken"), seconds=1)
    boxes = open_boxes(recorder)

    def seen() -> tuple[datetime | None, float]:
        return boxes.oldest_event, boxes.saturation

    assert seen() == (None, 0)
    boxes.post(ONE, wake())
    assert seen() == (None, 0)
    event = Cause("instance.deleted", BEGINNING - timedelta(seconds=9), "key")
    boxes.post(OTHER, Wake(Scope.INSTANCES, Cause("spec", BEGINNING), {"vm": event}))
    assert seen() == (event.at, 0)
    await asyncio.sleep(0.5)
    assert seen() == (event.at, 1)
    await asyncio.sleep(30)
    assert seen() == (None, 0)
