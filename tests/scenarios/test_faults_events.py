"""Events are lost, doubled, late, reordered and forged: they cost time, and never anything else."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.scenarios.faults import (
    HURRY,
    IMPATIENT,
    SINGLES,
    SLICE,
    assert_tokens_were_single,
    forged_audit,
    forged_report,
    forget_faults,
    lives,
    nodes_of,
    plan_event,
    publish,
    until_ready,
    vms_of,
)
from tests.scenarios.harness import Bench, bench, until

PREEMPTED = ("13-sysevent-preempted.json", "compute.instances.preempted")
HOST_ERROR = ("13-sysevent-preempted.json", "compute.instances.hostError")
DELETED = ("09-instance-delete-last.json", "v1.compute.instances.delete")


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[Bench]:
    async with bench(tmp_path, *HURRY) as made:
        yield made


@pytest.fixture
async def stage(world: Bench) -> Bench:
    """What events do not tell is found out sooner than by default."""
    await world.start_operator(**IMPATIENT, operation_looks="1s,2s,4s")
    return world


@pytest.mark.slow
@pytest.mark.parametrize(
    ("effect", "milliseconds"), [("drop", 0), ("duplicate", 3000), ("delay", 5000), ("swap", 5000)]
)
async def test_a_life_in_which_it_happens_to_every_event(stage: Bench, effect: str, milliseconds: int) -> None:
    await plan_event(stage, "*", effect, milliseconds)
    ended = await lives(stage, SLICE)
    assert ended.effective()["instances.setMetadata"] == 4


@pytest.mark.slow
async def test_a_life_in_which_one_kind_of_event_is_lost(stage: Bench) -> None:
    for lost in (
        ("policy.inserted", "template.inserted"),
        ("group.inserted",),
        ("instance.inserted",),
        ("instance.deleted", "group.deleted"),
        ("template.deleted", "policy.deleted"),
    ):
        for event in lost:
            await plan_event(stage, event, "drop")
        await lives(stage, SLICE)
        await forget_faults(stage)


@pytest.mark.slow
async def test_a_thousand_forged_events_at_once_change_nothing_and_delay_nobody(stage: Bench) -> None:
    await stage.cluster.create(SLICE)
    await until_ready(stage, "slice")
    before, calls = await stage.control.state(), await stage.control.calls()
    vms = sorted((await vms_of(stage, "slice")).items())
    forged: list[bytes] = []
    for number in range(0, 1000, 4):
        name, vm = vms[number % 2]
        instance_id = vm["id"] if number % 3 else str(10**18 + number)
        invented = f"{name[:-4]}{number:04}"
        forged += [
            forged_audit(*DELETED, name, instance_id, number),
            forged_audit(*PREEMPTED, name, instance_id, number + 1),
            forged_report(name, instance_id, "failed", number + 2),
            forged_audit(*HOST_ERROR, invented, str(number + 1), number + 3),
        ]
    await publish(stage, forged)
    await stage.cluster.create(SINGLES)
    await until_ready(stage, "singles", 15)
    await stage.cluster.delete("TPUNodeGroup", "default", "singles")
    await stage.until_world_is(before)
    ended = (await stage.control.calls()).since(calls)
    # The reads of four hosts' life, and a few for the flood: its looks are capped, and merge.
    assert ended.of_operator("compute")["instances.get"] < 200
    assert await _events_of(stage, "slice") == {"Provisioning", "AwaitingNodeJoin", "NodeNotReady", "Provisioned"}


async def _events_of(stage: Bench, group: str) -> set[str]:
    """The reasons of its Kubernetes Events that are not about its end."""
    events = [event for event in await stage.cluster.list("Event") if event["involvedObject"]["name"] == group]
    return {event["reason"] for event in events}


async def test_forged_events_for_vms_that_boot_keep_none_of_them_from_joining(stage: Bench) -> None:
    before = await stage.control.state()
    await stage.cluster.create(SLICE)
    vms = sorted((await until("two VMs", lambda: vms_of(stage, "slice"), lambda seen: len(seen) == 2)).items())
    forged: list[bytes] = []
    for number in range(0, 400, 4):
        name, vm = vms[number // 4 % 2]
        forged += [
            forged_audit(*DELETED, name, vm["id"], number),
            forged_audit(*PREEMPTED, name, vm["id"], number + 1),
            forged_report(name, vm["id"], "failed", number + 2),
            forged_report(name, vm["id"], "booted", number + 3),
        ]
    await publish(stage, forged)
    await until_ready(stage, "slice", 15)
    assert {len(secrets) for secrets in stage.witness.minted.values()} == {1}
    assert len(await nodes_of(stage, "slice")) == 2
    await stage.cluster.delete("TPUNodeGroup", "default", "slice")
    await stage.until_world_is(before)
    assert_tokens_were_single(stage)
