"""Compute Engine answers with errors after all, is slow, or does not answer at all: each life ends the same."""

import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.scenarios.faults import (
    HURRY,
    IMPATIENT,
    SINGLES,
    SLICE,
    assert_tokens_were_single,
    fired,
    forget_faults,
    lives,
    nodes_of,
    plan,
    until_ready,
)
from tests.scenarios.harness import Bench, bench, until

KINDS = ("resourcePolicies", "instanceTemplates", "instanceGroupManagers")
#: Called in every life.
CALLED = frozenset(
    {
        *(f"{kind}.{verb}" for kind in KINDS for verb in ("insert", "get", "delete")),
        "instanceGroupManagers.listManagedInstances",
        "instances.get",
        "instances.setMetadata",
    }
)
#: Called when something asks for it: an operation is read when its event came, VMs are listed when they are many.
SOMETIMES = ("instances.list", "zoneOperations.get", "regionOperations.get", "globalOperations.get")


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[Bench]:
    async with bench(tmp_path, *HURRY) as made:
        yield made


@pytest.fixture
async def stage(world: Bench) -> Bench:
    await world.start_operator(**IMPATIENT)
    return world


async def test_a_creation_that_is_answered_with_an_error_and_takes_effect_makes_one_of_each(stage: Bench) -> None:
    for kind in KINDS:
        await plan(stage, f"{kind}.insert", "error-after", 500)
    await lives(stage, SLICE)
    assert await fired(stage) == {f"{kind}.insert" for kind in KINDS}


@pytest.mark.slow
@pytest.mark.parametrize("code", [500, 412, 404])
async def test_the_first_call_of_every_method_fails(stage: Bench, code: int) -> None:
    for effect in ("error-before", "error-after"):
        for method in (*CALLED, *SOMETIMES):
            await plan(stage, method, effect, code)
        await lives(stage, SLICE)
        assert await fired(stage) >= CALLED
        await forget_faults(stage)


@pytest.mark.slow
@pytest.mark.timeout(180)
async def test_a_rate_limit_is_waited_out_until_the_next_minute(stage: Bench) -> None:
    """A refusal for its rate is believed, also where the call took effect all the same."""
    await plan(stage, "resourcePolicies.insert", "error-before", 429)
    await plan(stage, "instanceTemplates.insert", "error-after", 403)
    before = await stage.control.state()
    await stage.cluster.create(SLICE)
    said = await stage.until_reason("default", "slice", "ReconcileError")
    assert "tried again in the next minute" in said["message"]
    await until_ready(stage, "slice", 100)
    await stage.cluster.delete("TPUNodeGroup", "default", "slice")
    await stage.until_world_is(before)
    effective = (await stage.control.calls()).effective()
    assert [effective[f"{kind}.insert"] for kind in KINDS] == [1, 1, 1]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2])
async def test_any_third_of_the_first_calls_fails(stage: Bench, seed: int) -> None:
    print(f"seed {seed}")  # noqa: T201 - pytest shows it when the test failed
    drawn = random.Random(seed)
    for manifest in (SLICE, SINGLES):
        for method in sorted((*CALLED, *SOMETIMES)):
            # What is refused for good is not made: that is no passing trouble.
            codes = [500, 503, 409, 412] if method.endswith(".insert") else [400, 404, 412, 500, 503]
            for nth in range(1, 5):
                if drawn.random() < 1 / 3:
                    effect = drawn.choice(["error-before", "error-after"])
                    await plan(stage, method, effect, drawn.choice(codes), nth=nth)
        await lives(stage, manifest)
        await forget_faults(stage)


@pytest.mark.slow
async def test_one_wrong_404_of_a_resource_that_is_being_deleted_leaks_nothing(stage: Bench) -> None:
    before = await stage.control.state()
    await stage.cluster.create(SLICE)
    await until_ready(stage, "slice")
    for kind in KINDS:
        await plan(stage, f"{kind}.get", "error-after", 404)
    await stage.cluster.delete("TPUNodeGroup", "default", "slice")
    await stage.until_world_is(before)
    assert await fired(stage) == {f"{kind}.get" for kind in KINDS}


@pytest.mark.slow
async def test_one_wrong_404_of_a_vm_costs_no_node(stage: Bench) -> None:
    await stage.cluster.create(SLICE)
    await until_ready(stage, "slice")
    nodes = {name: node["metadata"]["uid"] for name, node in (await nodes_of(stage, "slice")).items()}
    fault = await plan(stage, "instances.get", "error-after", 404)
    await stage.control.strike(min(nodes), "reset")
    await until("the wrong answer", lambda: fired(stage), bool)
    await stage.control("DELETE", f"faults/{fault}")
    await until_ready(stage, "slice")
    assert {name: node["metadata"]["uid"] for name, node in (await nodes_of(stage, "slice")).items()} == nodes


@pytest.mark.slow
async def test_slow_calls_delay_and_do_no_more(stage: Bench) -> None:
    for method in ("instances.setMetadata", "instances.get"):
        await plan(stage, method, "latency", nth="every", milliseconds=1000)
    await plan(stage, "create secrets", "latency", nth="every", milliseconds=1000)
    before = await stage.control.state()
    for manifest in (SLICE, SINGLES):
        await stage.cluster.create(manifest)
    for manifest in (SLICE, SINGLES):
        await until_ready(stage, manifest["metadata"]["name"], 30)
        await stage.cluster.delete("TPUNodeGroup", "default", manifest["metadata"]["name"])
    await stage.until_world_is(before)
    assert_tokens_were_single(stage)


@pytest.mark.slow
async def test_a_call_without_an_answer_holds_up_its_group_for_one_timeout_and_others_not_at_all(world: Bench) -> None:
    await world.start_operator(**IMPATIENT, call_timeout="5s")
    before = await world.control.state()
    fault = await plan(world, "instances.setMetadata", "hold-after")
    await world.cluster.create(SINGLES)
    await until("the call to be held", lambda: fired(world), bool)
    await world.cluster.create(SLICE)
    await until_ready(world, "slice", 5)
    await until_ready(world, "singles", 20)
    await world.control("DELETE", f"faults/{fault}")
    for name in ("slice", "singles"):
        await world.cluster.delete("TPUNodeGroup", "default", name)
    await world.until_world_is(before)
    assert_tokens_were_single(world)
