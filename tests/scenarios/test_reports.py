"""Field reports about operators like this one, repeated on it: each test bears its number and its address."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.faults import HURRY, IMPATIENT, SLICE, assert_tokens_were_single, plan, until_ready
from tests.scenarios.harness import Bench, Calls, bench, differences, until

pytestmark = pytest.mark.slow

_TIMES = 20
#: Kind and resource of what the operator watches.
_WATCHED = (
    ("TPUNodeGroup", "tpunodegroups"),
    ("WorkloadPolicy", "workloadpolicies"),
    ("InstanceTemplate", "instancetemplates"),
    ("ManagedInstanceGroup", "managedinstancegroups"),
    ("Node", "nodes"),
)


async def test_b22_a_dead_holders_record_stops_the_operator_no_longer_than_it_lives_and_no_peer_pauses_it(
    tmp_path: Path,
) -> None:
    """https://github.com/nolar/kopf/issues/734."""
    lease: dict[str, Any] = {"lease_duration": "4s", "lease_renew_deadline": "3s", "lease_retry": "500ms"}
    async with bench(tmp_path, *HURRY) as world:
        await world.start_operator(identity="the-dead", **IMPATIENT, **lease)
        await world.kill_operator()
        died = asyncio.get_running_loop().time()
        await world.start_operator(wait=False, identity="the-living", **IMPATIENT, **lease)
        await world.said("metrics and health")
        status, said = await world.ask_operator("/readyz")
        assert (status, "waits for the lease" in said) == (503, True)
        await world.said("operating", patience=20)
        assert asyncio.get_running_loop().time() - died < 20
        await world.cluster.create(SLICE)
        await until_ready(world, "slice")
        called = (await world.control.calls()).of_operator("kubernetes")
        assert [method for method in called if "peering" in method] == []


@pytest.mark.timeout(900)  # twenty starts of a process, and twenty breaks of each watch
async def test_b23_restarts_and_broken_watches_of_a_ready_group_write_nothing(tmp_path: Path) -> None:
    """https://github.com/zalando-incubator/kopf/issues/223."""
    async with bench(tmp_path, *HURRY) as world:
        await world.start_operator(**IMPATIENT)
        await world.cluster.create(SLICE)
        await until_ready(world, "slice")
        # Two tokens given, and taken away again.
        await until("the scrubbing", world.control.calls, lambda calls: calls.effective()["instances.setMetadata"] == 4)
        for value in ("before", None):
            await _touch_all(world, value)
        state, before, tokens = await world.control.state(), await world.control.calls(), world.witness.tokens
        for number in range(_TIMES):
            await (world.kill_operator() if number % 2 else world.stop_operator())
            await world.start_operator(**IMPATIENT)
            await _looked_since_its_start(world)
        await _break_all_watches(world)
        ended = (await world.control.calls()).since(before)
        assert ended.effective() == {}
        assert world.witness.tokens == tokens
        assert differences(state, await world.control.state()) == []
        assert_tokens_were_single(world)


async def _looked_since_its_start(world: Bench) -> None:
    """Wait until this process has looked at the group, and at all of its children."""

    async def metrics() -> str:
        return (await world.ask_operator("/metrics"))[1]

    kinds = ("TPUNodeGroup", "WorkloadPolicy", "InstanceTemplate", "ManagedInstanceGroup")
    await until(
        "looks at all kinds",
        metrics,
        lambda seen: all(f'tpu_look_seconds_count{{kind="{kind}"}}' in seen for kind in kinds),
    )


async def _break_all_watches(world: Bench) -> None:
    """Twenty times each: a watch tells of one change, and breaks."""
    for _, resource in _WATCHED:
        await plan(world, f"watch {resource}", "error-after", 410, nth="every")
    await world.stop_operator()
    await world.start_operator(**IMPATIENT)
    await until("the watches", lambda: _watches_since(world, Calls([])), lambda seen: min(seen.values()) > 0)
    for number in range(_TIMES):
        so_far = await world.control.calls()
        await _touch_all(world, str(number))
        await until("the watches to begin anew", _counting(world, so_far), lambda seen: min(seen.values()) > 0)
    await world.control("DELETE", "faults")
    await _touch_all(world, None)
    await until("whole watches", lambda: world.ask_operator("/readyz"), lambda seen: seen[0] == 200)


async def _touch_all(world: Bench, value: str | None) -> None:
    """Change something of an object of each kind that is nobody's concern."""
    for kind, _ in _WATCHED:
        metadata = (await world.cluster.list(kind))[0]["metadata"]
        touched = {"metadata": {"annotations": {"example.com/touched": value}}}
        await world.cluster.patch(kind, metadata.get("namespace", ""), metadata["name"], touched)


def _counting(world: Bench, so_far: Calls) -> Callable[[], Awaitable[dict[str, int]]]:
    return lambda: _watches_since(world, so_far)


async def _watches_since(world: Bench, so_far: Calls) -> dict[str, int]:
    """The operator's watches that began, by resource."""
    began = (await world.control.calls()).since(so_far).of_operator("kubernetes")
    return {resource: began.get(f"watch {resource}", 0) for _, resource in _WATCHED}
