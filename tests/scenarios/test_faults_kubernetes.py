"""The Kubernetes API answers with errors, also after it acted, and breaks its watches: each life ends the same."""

import random
from collections.abc import AsyncIterator, Awaitable, Callable
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
    plan,
    until_ready,
    vms_of,
)
from tests.scenarios.harness import Bench, bench, until

CHILDREN = ("workloadpolicies", "instancetemplates", "managedinstancegroups")
WATCHED = ("nodes", "configmaps", "tpunodegroups", *CHILDREN)
#: Calls that change something, each made in every life.
CALLED = frozenset(
    {
        "create secrets",
        "delete secrets",
        "patch nodes",
        "delete nodes",
        "patch tpunodegroups",
        "patch tpunodegroups/status",
        *(f"{verb} {kind}" for kind in CHILDREN for verb in ("create", "patch", "delete")),
        *(f"patch {kind}/status" for kind in CHILDREN),
    }
)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[Bench]:
    async with bench(tmp_path, *HURRY) as made:
        yield made


@pytest.fixture
async def stage(world: Bench) -> Bench:
    await world.start_operator(**IMPATIENT)
    return world


@pytest.mark.slow
@pytest.mark.parametrize("code", [409, 429, 500])
async def test_the_first_call_of_every_method_fails(stage: Bench, code: int) -> None:
    for effect in ("error-before", "error-after"):
        for method in (*CALLED, "create events", "get configmaps"):
            await plan(stage, method, effect, code)
        await lives(stage, SLICE)
        assert await fired(stage) >= CALLED
        await forget_faults(stage)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2])
async def test_any_third_of_the_first_calls_fails(stage: Bench, seed: int) -> None:
    print(f"seed {seed}")  # noqa: T201 - pytest shows it when the test failed
    drawn = random.Random(seed)
    for manifest in (SLICE, SINGLES):
        for method in sorted((*CALLED, "create events", "get configmaps", "list secrets")):
            for nth in range(1, 5):
                if drawn.random() < 1 / 3:
                    effect = drawn.choice(["error-before", "error-after"])
                    await plan(stage, method, effect, drawn.choice([409, 429, 500, 503]), nth=nth)
        await lives(stage, manifest)
        await forget_faults(stage)


@pytest.mark.slow
async def test_a_token_that_can_neither_be_made_nor_taken_back_is_revoked_later(stage: Bench) -> None:
    await plan(stage, "create secrets", "error-after", 500)
    for nth in (1, 2):
        await plan(stage, "delete secrets", "error-before", 500, nth=nth)
    await lives(stage, SLICE)
    assert await fired(stage) == {"create secrets", "delete secrets"}


@pytest.mark.slow
@pytest.mark.parametrize("code", [410, 500])
async def test_a_life_under_watches_that_break_after_the_first_that_they_tell(world: Bench, code: int) -> None:
    for resource in WATCHED:
        await plan(world, f"watch {resource}", "error-after", code, nth="every")
    await world.start_operator(**IMPATIENT)
    await lives(world, SLICE, 90)
    assert await fired(world) == {f"watch {resource}" for resource in WATCHED}


@pytest.mark.slow
async def test_a_start_at_an_api_server_that_is_not_well(world: Bench) -> None:
    for resource in (*WATCHED, "secrets"):
        await plan(world, f"list {resource}", "error-before", 500)
        await plan(world, f"watch {resource}", "error-before", 410)
    await world.start_operator(**IMPATIENT)
    await lives(world, SLICE, 90)


@pytest.mark.slow
async def test_watches_that_are_refused_are_told_by_readiness_and_taken_up_again(world: Bench) -> None:
    await world.start_operator(**IMPATIENT)
    before = await world.control.state()
    await world.cluster.create(SLICE)
    await until_ready(world, "slice")
    assert await world.stop_operator() == 0
    for resource in WATCHED:
        await plan(world, f"watch {resource}", "error-before", 403, nth="every")
    await world.start_operator(**IMPATIENT)
    status, said = await until("it to be unready", lambda: world.ask_operator("/readyz"), lambda seen: seen[0] == 503)
    assert (status, "watch" in said) == (503, True)
    await forget_faults(world)
    await until("it to be ready", lambda: world.ask_operator("/readyz"), lambda seen: seen[0] == 200)
    await world.cluster.delete("TPUNodeGroup", "default", "slice")
    await world.until_world_is(before)


@pytest.mark.slow
async def test_a_vm_whose_secret_was_deleted_before_it_joined_gets_another_token(stage: Bench) -> None:
    before = await stage.control.state()
    # Held back so that the Secret is deleted before the VM can have used it.
    fault = await plan(stage, "instances.setMetadata", "latency", milliseconds=1000)
    await stage.cluster.create(SLICE)
    instance, [secret, *_] = next(iter((await until("a token", _minted(stage), bool)).items()))
    await stage.cluster.delete("Secret", "kube-system", secret)
    await stage.control("DELETE", f"faults/{fault}")
    await until_ready(stage, "slice", 30)
    assert [vm["id"] for vm in (await vms_of(stage, "slice")).values()].count(instance) == 1
    assert len(stage.witness.minted[instance]) == 2
    await stage.cluster.delete("TPUNodeGroup", "default", "slice")
    await stage.until_world_is(before)
    assert_tokens_were_single(stage)


def _minted(stage: Bench) -> Callable[[], Awaitable[dict[str, list[str]]]]:
    async def look() -> dict[str, list[str]]:
        return dict(stage.witness.minted)

    return look
