"""`kill -9` of the operator right after a call took effect, before it heard so: restarted, every life ends the same.

The moment is exact: the simulator lets the call take effect and withholds the answer until the operator is dead.
"""

import copy
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.api.manifests import changed
from tests.scenarios.groups import Json, sample
from tests.scenarios.harness import Bench, Calls, bench, differences, until

#: The same slice under a short name.
SLICE: Json = changed(sample("01-reservation-bulk-2x2x2.yaml"), {"metadata.name": "slice"})
GROUPS = "tpunodegroups.tpu.google.com"
MADE = {"resourcePolicies.insert": 1, "instanceTemplates.insert": 1, "instanceGroupManagers.insert": 1}
UNMADE = {"resourcePolicies.delete": 1, "instanceTemplates.delete": 1, "instanceGroupManagers.delete": 1}


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[Bench]:
    """A world in a hurry: what is tested here are moments, not durations."""
    async with bench(tmp_path, "--timings", "0.3", "--log-latency", "0.3") as made:
        yield made


@asynccontextmanager
async def killed_after(stage: Bench, method: str, nth: int = 1) -> AsyncIterator[None]:
    """What is done inside makes the nth call of this method: once that has taken effect, kill and start anew."""
    before = await stage.control.calls()
    fault = await stage.control("POST", "faults", {"method": method, "nth": nth, "effect": "hold-after"})
    yield

    async def effects() -> int:
        return (await stage.control.calls()).since(before).count(method, effect="changed")

    await until(f"call {nth} of {method} to take effect", effects, lambda seen: seen >= nth)
    await stage.kill_operator()
    await stage.control("DELETE", f"faults/{fault['id']}")
    await stage.start_operator()


def made_and_unmade(calls: Calls) -> dict[str, int]:
    """How often something was made or deleted in Compute Engine with effect."""
    return {method: n for method, n in calls.effective().items() if method.endswith((".insert", ".delete"))}


async def ends_as_ever(stage: Bench, before: Json) -> None:
    """The slice becomes Ready, is deleted, and nothing is left of it, nor was anything made or minted twice."""
    await stage.until_ready("default", "slice")
    assert made_and_unmade(await stage.control.calls()) == MADE
    ids = {vm["id"] for vm in (await stage.control.instances()).values()}
    assert {
        node["metadata"]["labels"]["tpu.google.com/instance-id"] for node in await stage.cluster.list("Node")
    } == ids
    await stage.cluster.delete("TPUNodeGroup", "default", "slice")
    await leaves_nothing(stage, before)


async def leaves_nothing(stage: Bench, before: Json) -> None:
    """The world becomes what it was, by one effective call for each thing, and no VM ever had two live tokens."""
    await stage.until_world_is(before)
    assert made_and_unmade(await stage.control.calls()) == MADE | UNMADE
    assert stage.witness.doubles == []
    assert {instance: names for instance, names in stage.witness.live.items() if names} == {}


async def test_a_crash_after_the_token_was_made_mints_another_and_leaves_neither(stage: Bench) -> None:
    before = await stage.control.state()
    async with killed_after(stage, "create secrets"):
        await stage.cluster.create(SLICE)
    await ends_as_ever(stage, before)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "nth"),
    [
        ("patch tpunodegroups", 1),
        ("patch workloadpolicies/status", 1),
        ("instanceTemplates.insert", 1),
        ("create managedinstancegroups", 1),
        ("instanceGroupManagers.insert", 1),
        ("create secrets", 2),
        ("instances.setMetadata", 1),
        ("instances.setMetadata", 2),
        ("delete secrets", 1),
    ],
    ids=str,
)
async def test_a_crash_on_the_way_to_ready_changes_nothing(stage: Bench, method: str, nth: int) -> None:
    before = await stage.control.state()
    async with killed_after(stage, method, nth):
        await stage.cluster.create(SLICE)
    await ends_as_ever(stage, before)


@pytest.mark.slow
@pytest.mark.parametrize(
    "method",
    [
        "instanceGroupManagers.delete",
        "patch managedinstancegroups",
        "delete nodes",
        "instanceTemplates.delete",
    ],
)
async def test_a_crash_on_the_way_to_gone_changes_nothing(stage: Bench, method: str) -> None:
    before = await stage.control.state()
    await stage.cluster.create(SLICE)
    await stage.until_ready("default", "slice")
    async with killed_after(stage, method):
        await stage.cluster.delete("TPUNodeGroup", "default", "slice")
    await leaves_nothing(stage, before)


@pytest.mark.slow
async def test_a_restart_beside_a_ready_slice_changes_nothing(stage: Bench) -> None:
    await stage.cluster.create(SLICE)
    await stage.until_ready("default", "slice")
    await until(
        "both tokens to be scrubbed", stage.control.calls, lambda seen: seen.count("instances.setMetadata") == 4
    )
    ready = await stage.control.state()
    await stage.kill_operator()
    calls = await stage.control.calls()
    await stage.start_operator()
    await until(
        "the operator to look at the slice",
        stage.control.calls,
        lambda seen: seen.since(calls).count("instanceGroupManagers.listManagedInstances"),
    )
    assert await stage.stop_operator() == 0
    assert differences(_but_for_events(ready), _but_for_events(await stage.control.state())) == []
    assert (await stage.control.calls()).since(calls).effective() == {}


def _but_for_events(state: Json) -> Json:
    """The state without what the slice says of events: a new process has heard of none yet."""
    group = copy.deepcopy(state["kubernetes"][f"{GROUPS}/default/slice"])
    conditions = group["status"]["conditions"]
    group["status"]["conditions"] = [each for each in conditions if each["type"] != "EventsFlowing"]
    return {**state, "kubernetes": {**state["kubernetes"], f"{GROUPS}/default/slice": group}}


@pytest.mark.slow
async def test_a_slice_deleted_while_nobody_operates_is_gone_after_the_restart(stage: Bench) -> None:
    before = await stage.control.state()
    await stage.cluster.create(SLICE)
    await stage.until_ready("default", "slice")
    await stage.kill_operator()
    await stage.cluster.delete("TPUNodeGroup", "default", "slice")
    await stage.start_operator()
    await leaves_nothing(stage, before)


@pytest.mark.slow
async def test_a_slice_applied_while_nobody_operates_is_ready_after_the_start(world: Bench) -> None:
    before = await world.control.state()
    await world.cluster.create(SLICE)
    await world.start_operator()
    await ends_as_ever(world, before)
