"""One leader at a time: with skewed clocks, hanging calls, lost answers, restarts and a clean hand-over."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from structlog.typing import EventDict

from controller.core.failures import Conflict, Gone, Retry
from controller.runtime.leadership import Leadership, LeaseRecord, LeaseTimes, NotLeader
from tests.adapters.fakes import FakeClock, NoJitter

NOW = datetime(2026, 12, 1, 10, 0, 50, tzinfo=UTC)
FIFTEEN = timedelta(seconds=15)


class MemoryLease:
    """The Lease of an API server: versions, conflicts, and what a test breaks."""

    def __init__(self, record: LeaseRecord | None = None) -> None:
        self.record = record
        self.updates = 0
        self.before_update: Callable[[], Awaitable[None]] | None = None
        self.after_update: Callable[[], Awaitable[None]] | None = None

    async def read(self) -> LeaseRecord | None:
        return self.record

    async def create(self, record: LeaseRecord) -> LeaseRecord:
        if self.record is not None:
            raise Conflict("it exists")
        self.record = replace(record, version="1")
        return self.record

    async def update(self, record: LeaseRecord) -> LeaseRecord:
        self.updates += 1
        if self.before_update is not None:
            await self.before_update()
        if self.record is None:
            raise Gone("it is not there")
        if record.version != self.record.version:
            raise Conflict("it changed")
        self.record = replace(record, version=str(int(record.version) + 1))
        written = self.record
        if self.after_update is not None:
            await self.after_update()
        return written


def held_by(holder: str, version: str = "7", renewed: datetime = NOW) -> LeaseRecord:
    return LeaseRecord(holder, FIFTEEN, NOW, renewed, 3, version)


class SteppedClock(FakeClock):
    """A clock whose sleepers wait until the test lets time pass."""

    def __init__(self) -> None:
        super().__init__()
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    async def sleep(self, seconds: float) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((self.monotonic() + seconds, future))
        await future

    async def passes(self, seconds: float) -> None:
        """Time passes; whoever is due wakes and does what it does until it sleeps again."""
        await settle()
        self.advance(seconds)
        due = [future for at, future in self._sleepers if at <= self.monotonic()]
        self._sleepers = [(at, future) for at, future in self._sleepers if at > self.monotonic()]
        for future in due:
            if not future.done():
                future.set_result(None)
        await settle()


async def settle() -> None:
    """Let every task that can run do so (none of them waits for anything outside)."""
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.fixture
async def started() -> AsyncIterator[list[Leadership]]:
    """Leaderships whose renewal must be ended after the test."""
    leaders: list[Leadership] = []
    yield leaders
    for leader in leaders:
        await leader.release()


def test_times_that_allow_two_leaders_are_refused() -> None:
    with pytest.raises(ValueError, match="duration > renew deadline > call timeout >= retry period > 0"):
        LeaseTimes(duration=10.0, renew_deadline=10.0)


def test_an_empty_identity_is_refused() -> None:
    with pytest.raises(ValueError, match="give the name of the Pod"):
        Leadership(MemoryLease(), FakeClock(), NoJitter(), "")


async def test_a_lease_that_is_not_there_is_created_and_held(started: list[Leadership]) -> None:
    store, clock = MemoryLease(), SteppedClock()
    leader = Leadership(store, clock, NoJitter(), "pod-a")
    started.append(leader)
    with pytest.raises(NotLeader, match="pod-a does not hold the lease"):
        leader.check()
    await leader.acquire()
    leader.check()
    assert store.record == LeaseRecord("pod-a", FIFTEEN, NOW, NOW, 0, "1")


async def test_renewals_move_the_deadline(started: list[Leadership]) -> None:
    store, clock = MemoryLease(), SteppedClock()
    leader = Leadership(store, clock, NoJitter(), "pod-a")
    started.append(leader)
    await leader.acquire()
    for _ in range(20):
        await clock.passes(2.0)
        leader.check()
    assert store.record is not None
    assert (store.record.renewed, store.record.acquired) == (NOW + timedelta(seconds=40), NOW)


async def test_a_lease_of_another_is_taken_only_after_it_stood_still_for_its_whole_duration(
    started: list[Leadership],
) -> None:
    # Renewed an hour ago by the wall clock: that says nothing, the other's clock may be wrong.
    store, clock = MemoryLease(held_by("pod-b", renewed=NOW - timedelta(hours=1))), SteppedClock()
    leader = Leadership(store, clock, NoJitter(), "pod-a")
    started.append(leader)
    waiting = asyncio.create_task(leader.acquire())
    await settle()
    for _ in range(7):
        await clock.passes(2.0)
    assert not waiting.done()
    await clock.passes(2.0)
    await waiting
    assert store.record == LeaseRecord("pod-a", FIFTEEN, clock.now(), clock.now(), 4, "8")


async def test_a_lease_that_keeps_moving_is_never_taken(started: list[Leadership]) -> None:
    # Renewed at a time far in the past by the wall clock, yet it moves.
    store, clock = MemoryLease(held_by("pod-b")), SteppedClock()
    leader = Leadership(store, clock, NoJitter(), "pod-a")
    started.append(leader)
    waiting = asyncio.create_task(leader.acquire())
    await settle()
    for version in range(8, 40):
        store.record = held_by("pod-b", str(version), NOW - timedelta(hours=1))
        await clock.passes(2.0)
    assert not waiting.done()
    waiting.cancel()


@pytest.mark.parametrize("holder", ["", "pod-a"])
async def test_a_released_lease_and_that_of_a_restarted_container_are_taken_at_once(
    holder: str, started: list[Leadership]
) -> None:
    store, clock = MemoryLease(held_by(holder)), SteppedClock()
    leader = Leadership(store, clock, NoJitter(), "pod-a")
    started.append(leader)
    await leader.acquire()
    assert store.record is not None
    assert (store.record.holder, store.record.transitions) == ("pod-a", 3 if holder else 4)


async def test_the_lease_of_a_process_that_was_seen_to_end_is_taken_at_once(started: list[Leadership]) -> None:
    store, clock = MemoryLease(held_by("host_1_23")), SteppedClock()
    leader = Leadership(store, clock, NoJitter(), "host_1_24", is_dead=lambda holder: holder == "host_1_23")
    started.append(leader)
    await leader.acquire()
    assert store.record is not None
    assert store.record.holder == "host_1_24"


async def test_whoever_comes_second_waits(started: list[Leadership]) -> None:
    store, clock = MemoryLease(held_by("")), SteppedClock()

    async def another_is_first() -> None:
        store.before_update = None
        store.record = held_by("pod-b", "8")

    store.before_update = another_is_first
    leader = Leadership(store, clock, NoJitter(), "pod-a")
    started.append(leader)
    waiting = asyncio.create_task(leader.acquire())
    await settle()
    assert not waiting.done()
    waiting.cancel()


async def test_a_leader_whose_renewals_fail_stops_before_a_follower_may_begin(started: list[Leadership]) -> None:
    store, clock = MemoryLease(), SteppedClock()
    leader = Leadership(store, clock, NoJitter(), "pod-a")
    started.append(leader)
    await leader.acquire()
    began = clock.monotonic()

    async def no_answer() -> None:
        raise Retry("no answer")

    store.before_update = no_answer
    while leader.is_leader:
        await clock.passes(0.5)
    assert clock.monotonic() - began == 10.0
    assert leader.lost.is_set()
    with pytest.raises(NotLeader):
        leader.check()


async def test_check_is_exact_even_while_a_renewal_hangs(started: list[Leadership]) -> None:
    store, clock = MemoryLease(), SteppedClock()
    leader = Leadership(store, clock, NoJitter(), "pod-a")
    started.append(leader)
    await leader.acquire()

    async def black_hole() -> None:
        await asyncio.Event().wait()

    store.before_update = black_hole
    await clock.passes(2.0)
    clock.advance(7.9)
    leader.check()
    clock.advance(0.1)
    with pytest.raises(NotLeader):
        leader.check()
    store.before_update = None


async def test_a_call_without_an_answer_is_given_up(started: list[Leadership]) -> None:
    store = MemoryLease(held_by(""))
    hung = asyncio.Event()

    async def black_hole_once() -> None:
        store.before_update = None
        hung.set()
        await asyncio.Event().wait()

    store.before_update = black_hole_once
    times = LeaseTimes(duration=15.0, renew_deadline=10.0, call_timeout=0.02, retry=0.01)
    leader = Leadership(store, FakeClock(), NoJitter(), "pod-a", times)
    started.append(leader)
    await leader.acquire()
    assert hung.is_set()
    leader.check()


async def test_the_deadline_counts_from_before_the_renewal_was_sent(started: list[Leadership]) -> None:
    store, clock = MemoryLease(held_by("")), SteppedClock()

    async def takes_three_seconds() -> None:
        clock.advance(3.0)

    store.after_update = takes_three_seconds
    leader = Leadership(store, clock, NoJitter(), "pod-a")
    started.append(leader)
    await leader.acquire()
    clock.advance(6.9)
    leader.check()
    clock.advance(0.2)
    assert not leader.is_leader


async def test_a_process_that_was_stopped_past_its_deadline_does_not_renew_although_nobody_took_over(
    started: list[Leadership],
) -> None:
    store, clock = MemoryLease(held_by("")), SteppedClock()
    leader = Leadership(store, clock, NoJitter(), "pod-a")
    started.append(leader)
    await leader.acquire()
    updates = store.updates
    await clock.passes(20.0)
    assert leader.lost.is_set()
    assert store.updates == updates


async def test_a_renewal_whose_answer_was_lost_is_found_and_goes_on(started: list[Leadership]) -> None:
    store, clock = MemoryLease(), SteppedClock()
    leader = Leadership(store, clock, NoJitter(), "pod-a")
    started.append(leader)
    await leader.acquire()

    async def lost_answer() -> None:
        store.after_update = None
        raise Retry("reset")

    store.after_update = lost_answer
    for _ in range(10):
        await clock.passes(2.0)
        leader.check()
    assert not leader.lost.is_set()


async def test_a_lease_that_another_took_is_lost_at_the_next_renewal(
    started: list[Leadership], logged: list[EventDict]
) -> None:
    store, clock = MemoryLease(), SteppedClock()
    leader = Leadership(store, clock, NoJitter(), "pod-a")
    started.append(leader)
    await leader.acquire()
    store.record = held_by("pod-b", "9")
    await clock.passes(2.0)
    assert leader.lost.is_set()
    assert [line["loss"] for line in logged if line["event"] == "lease lost"] == [
        "pod-a lost the lease: pod-b holds it now."
    ]
    await leader.release()
    assert store.record == held_by("pod-b", "9")


async def test_a_lease_that_was_deleted_is_made_anew(started: list[Leadership]) -> None:
    store, clock = MemoryLease(), SteppedClock()
    leader = Leadership(store, clock, NoJitter(), "pod-a")
    started.append(leader)
    await leader.acquire()
    store.record = None
    await clock.passes(2.0)
    leader.check()
    assert store.record is not None


async def test_a_clean_shutdown_hands_the_lease_over() -> None:
    store, clock = MemoryLease(), SteppedClock()
    leader = Leadership(store, clock, NoJitter(), "pod-a")
    await leader.acquire()
    await leader.release()
    assert store.record is not None
    assert store.record.holder == ""
    assert not leader.is_leader
    follower = Leadership(store, clock, NoJitter(), "pod-b")
    await follower.acquire()
    follower.check()
    await follower.release()


async def test_of_two_replicas_one_leads_and_the_other_follows_on(started: list[Leadership]) -> None:
    store, clock = MemoryLease(), SteppedClock()
    first, second = (Leadership(store, clock, NoJitter(), name) for name in ("pod-a", "pod-b"))
    started.extend([first, second])
    waiting = [asyncio.create_task(leader.acquire()) for leader in (first, second)]
    await settle()
    for _ in range(20):
        await clock.passes(2.0)
    assert [first.is_leader, second.is_leader] == [True, False]
    await first.release()
    for _ in range(2):
        await clock.passes(2.0)
    await asyncio.gather(*waiting)
    assert [first.is_leader, second.is_leader] == [False, True]
