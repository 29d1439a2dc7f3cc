"""Budgets of calls: what matters first, then who was served least lately, then in order."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from controller.core.model import Kind
from controller.runtime.pacing import Bucket, PacedCloud, calling_group, calling_priority
from tests.core.builders import PROJECT, ZONE, make_instance, make_ref
from tests.runtime.virtual_time import VirtualClock, elapsed
from tests.runtime.world import FakeCloud

Served = list[tuple[float, str]]


def make_bucket(per_minute: float = 60, burst: float = 2) -> Bucket:
    """One call a second after a burst of two."""
    return Bucket(VirtualClock(), per_minute, burst)


async def take(bucket: Bucket, name: str, served: Served, *, group: str = "", priority: int = 2) -> None:
    """Take one token, on behalf of a group."""
    calling_group.set(group)
    calling_priority.set(priority)
    await bucket.take()
    served.append((elapsed(), name))


async def test_a_burst_goes_at_once_and_the_rest_evenly() -> None:
    bucket, served = make_bucket(), Served()
    await asyncio.gather(*(take(bucket, str(i), served) for i in range(5)))
    assert served == [(0, "0"), (0, "1"), (1, "2"), (2, "3"), (3, "4")]


async def test_what_is_not_used_is_saved_up_to_the_burst() -> None:
    bucket, served = make_bucket(), Served()
    await asyncio.gather(*(take(bucket, str(i), served) for i in range(2)))
    await asyncio.sleep(600)
    await asyncio.gather(*(take(bucket, str(i), served) for i in range(2, 5)))
    assert served[2:] == [(600, "2"), (600, "3"), (601, "4")]


async def test_what_matters_more_goes_first() -> None:
    bucket, served = make_bucket(burst=1), Served()
    await take(bucket, "first", served)
    tasks = [
        asyncio.create_task(take(bucket, name, served, priority=priority))
        for name, priority in [("resync", 3), ("event", 1), ("resync", 3), ("event", 1)]
    ]
    await asyncio.gather(*tasks)
    assert [name for _, name in served[1:]] == ["event", "event", "resync", "resync"]


async def test_groups_take_turns() -> None:
    bucket, served = make_bucket(burst=1), Served()
    await take(bucket, "first", served)
    asked = ["a1", "a2", "a3", "b1", "b2", "c1"]
    await asyncio.gather(*[asyncio.create_task(take(bucket, name, served, group=name[0])) for name in asked])
    assert [name for _, name in served[1:4]] == ["a1", "b1", "c1"]
    assert sorted(name for _, name in served[1:]) == asked


async def test_a_group_that_asks_for_much_does_not_hold_up_one_that_asks_for_little() -> None:
    bucket, served = make_bucket(burst=1), Served()
    busy = [asyncio.create_task(take(bucket, f"busy{i}", served, group="busy")) for i in range(20)]
    await asyncio.sleep(3.5)
    await asyncio.create_task(take(bucket, "quiet", served, group="quiet"))
    assert served[-1] == (4.0, "quiet")
    await asyncio.gather(*busy)


async def test_a_caller_that_gives_up_costs_nobody_a_token() -> None:
    bucket, served = make_bucket(burst=1), Served()
    await take(bucket, "first", served)
    gives_up = asyncio.create_task(take(bucket, "gives up", served))
    waits = asyncio.create_task(take(bucket, "waits", served))
    await asyncio.sleep(0.5)
    gives_up.cancel()
    await waits
    assert served == [(0, "first"), (1, "waits")]


async def test_closing_serves_nobody_any_more() -> None:
    bucket, served = make_bucket(burst=1), Served()
    await take(bucket, "first", served)
    waits = asyncio.create_task(take(bucket, "waits", served))
    await asyncio.sleep(0.5)
    bucket.close()
    with pytest.raises(asyncio.CancelledError):
        await waits
    await asyncio.sleep(60)
    assert len(served) == 1


async def test_a_bucket_that_was_never_used_can_be_closed() -> None:
    make_bucket().close()


REF, VM = make_ref(Kind.MIG), make_instance()
Call = Callable[[PacedCloud], Awaitable[object]]
READS: dict[str, Call] = {
    "get": lambda cloud: cloud.get(REF),
    "get_instance": lambda cloud: cloud.get_instance(PROJECT, ZONE, "n"),
    "list_instances": lambda cloud: cloud.list_instances(PROJECT, ZONE, "n"),
}
WRITES: dict[str, Call] = {
    "insert": lambda cloud: cloud.insert(REF, {}, "r"),
    "delete": lambda cloud: cloud.delete(REF, "r"),
    "list_managed_instances": lambda cloud: cloud.list_managed_instances(REF),
    "set_metadata": lambda cloud: cloud.set_metadata(VM, {}),
}


@pytest.mark.parametrize("method", READS)
async def test_reads_share_their_budget(method: str) -> None:
    port = FakeCloud()
    cloud = PacedCloud(port, VirtualClock(), reads_per_minute=60, writes_per_minute=1)
    await asyncio.gather(*(READS[method](cloud) for _ in range(32)))
    assert (port.count(method), elapsed()) == (32, 2)
    cloud.close()


@pytest.mark.parametrize("method", WRITES)
async def test_writes_share_theirs(method: str) -> None:
    port = FakeCloud()
    cloud = PacedCloud(port, VirtualClock(), reads_per_minute=1, writes_per_minute=60)
    await asyncio.gather(*(WRITES[method](cloud) for _ in range(32)))
    assert (port.count(method), elapsed()) == (32, 2)
    cloud.close()


async def test_operations_are_asked_for_at_any_time() -> None:
    port = FakeCloud()
    cloud = PacedCloud(port, VirtualClock(), reads_per_minute=1, writes_per_minute=1)
    await asyncio.gather(*(cloud.get_operation(REF, "op") for _ in range(100)))
    assert (port.count("get_operation"), elapsed()) == (100, 0)
