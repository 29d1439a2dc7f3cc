"""Two replicas, and one that was stopped for a while: at any time at most one acts."""

import asyncio
import os
import re
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from controller.demo.processes import Child
from tests.scenarios.faults import HURRY, IMPATIENT, SINGLES, SLICE, assert_tokens_were_single, until_ready
from tests.scenarios.harness import Bench, bench, log_lines, until

pytestmark = pytest.mark.slow

LEASE: dict[str, Any] = {"lease_duration": "6s", "lease_renew_deadline": "4s", "lease_retry": "500ms"}
LOST = "tpu-node-group: The lease was lost: another replica may be acting, so this one ends."


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[Bench]:
    async with bench(tmp_path, *HURRY) as made:
        yield made


@asynccontextmanager
async def a_second(world: Bench) -> AsyncIterator[tuple[Child, Path]]:
    """From here on `world.operator` is a second replica; the first one, and its log."""
    first, world.operator = world.operator, None
    assert first is not None
    log = first.log
    try:
        await world.start_operator(wait=False, identity="second", **IMPATIENT, **LEASE)
        yield first, log
    finally:
        await first.stop()


async def writes_of(world: Bench) -> list[str]:
    """The calls that may change something, as the second replica itself has counted them, and its acts."""

    async def look() -> list[str]:
        return re.findall(r'_calls_total\{[^}]*method="([^"]+)"', (await world.ask_operator("/metrics"))[1])

    # It has listed the custom resources at the least, as soon as it gets to it.
    called = await until("its first call", look, bool)
    assert world.operator is not None
    acts = [line["action"] for line in log_lines(world.operator.log) if "action" in line]
    return [method for method in called if not method.startswith(("get ", "list ", "watch "))] + acts


async def test_a_replica_that_waits_writes_nothing_and_takes_over_when_the_first_is_killed(world: Bench) -> None:
    await world.start_operator(**IMPATIENT, **LEASE)
    before = await world.control.state()
    await world.cluster.create(SLICE)
    await until_ready(world, "slice")
    async with a_second(world) as (first, _):
        await world.said("metrics and health")
        status, said = await world.ask_operator("/readyz")
        assert (status, "waits for the lease" in said) == (503, True)
        calls = await world.control.calls()
        await world.cluster.create(SINGLES)
        await until_ready(world, "singles")
        during = (await world.control.calls()).since(calls)
        assert during.effective()["instanceGroupManagers.insert"] == 1
        assert await writes_of(world) == []
        os.killpg(first.process.pid, signal.SIGKILL)
        await world.said("operating", 20)
        for name in ("slice", "singles"):
            await world.cluster.delete("TPUNodeGroup", "default", name)
        await world.until_world_is(before)
    effective = (await world.control.calls()).effective()
    assert [effective[f"instanceGroupManagers.{verb}"] for verb in ("insert", "delete")] == [2, 2]
    assert_tokens_were_single(world)


async def test_a_replica_that_was_stopped_ends_in_one_line_when_it_goes_on(world: Bench) -> None:
    await world.start_operator(**IMPATIENT, **LEASE)
    before = await world.control.state()
    await world.cluster.create(SLICE)
    await until_ready(world, "slice")
    async with a_second(world) as (first, log):
        await world.said("metrics and health")
        os.killpg(first.process.pid, signal.SIGSTOP)
        await world.said("operating", 20)
        await world.cluster.create(SINGLES)
        await until_ready(world, "singles")
        os.killpg(first.process.pid, signal.SIGCONT)
        assert await asyncio.wait_for(first.process.wait(), 10) == 1
        assert log.read_text("utf-8").splitlines()[-1] == LOST
        for name in ("slice", "singles"):
            await world.cluster.delete("TPUNodeGroup", "default", name)
        await world.until_world_is(before)
    assert_tokens_were_single(world)


async def test_a_stopped_operator_ends_although_nobody_took_its_lease(world: Bench) -> None:
    operator = await world.start_operator(**IMPATIENT, **LEASE)
    os.killpg(operator.process.pid, signal.SIGSTOP)
    await asyncio.sleep(5)
    os.killpg(operator.process.pid, signal.SIGCONT)
    assert await asyncio.wait_for(operator.process.wait(), 10) == 1
    assert operator.log.read_text("utf-8").splitlines()[-1] == LOST
    world.operator = None
