"""The published manifests apply unchanged, reach their end state, and leave nothing behind."""

import asyncio

import pytest

from tests.scenarios.cluster import Kubectl
from tests.scenarios.groups import GOLDEN, HOSTS, OBJECTS, SAMPLES, sample
from tests.scenarios.harness import Bench, until


async def test_the_slice_of_the_first_sample_lives_and_leaves_nothing_behind(stage: Bench) -> None:
    before = await stage.control.state()
    await stage.cluster.create(sample("01-reservation-bulk-2x2x2.yaml"))
    await stage.until_ready("default", "my-tpu-node-group")
    assert sorted(stage.witness.minted) == sorted(vm["id"] for vm in (await stage.control.instances()).values())
    await stage.cluster.delete("TPUNodeGroup", "default", "my-tpu-node-group")
    await stage.until_world_is(before)
    assert [len(secrets) for secrets in stage.witness.minted.values()] == [1, 1]
    assert (await stage.control.calls()).effective() == {
        "resourcePolicies.insert": 1,
        "instanceTemplates.insert": 1,
        "instanceGroupManagers.insert": 1,
        "instances.setMetadata": 4,
        "instanceGroupManagers.delete": 1,
        "instanceTemplates.delete": 1,
        "resourcePolicies.delete": 1,
    }


@pytest.mark.slow
@pytest.mark.kubectl
async def test_all_samples_at_once_are_ready_and_then_gone(stage: Bench, kubectl: Kubectl) -> None:
    before = await _prepared(stage, kubectl)
    await asyncio.gather(*(kubectl("apply", "-f", str(SAMPLES / file)) for file in OBJECTS))
    for kind, namespace, name in (each for objects in OBJECTS.values() for each in objects):
        await stage.until_ready(namespace, name, kind)
    nodes = [node["metadata"]["name"] for node in await stage.cluster.list("Node")]
    assert len(nodes) == 2 + 1 + 16 + 4
    assert [name for name in nodes if name.startswith("standalone")] == []
    await asyncio.gather(*(kubectl("delete", "-f", str(SAMPLES / file)) for file in OBJECTS))
    await stage.until_world_is(before)


@pytest.mark.slow
@pytest.mark.kubectl
async def test_each_sample_deleted_while_its_vms_boot_leaves_nothing_behind(stage: Bench, kubectl: Kubectl) -> None:
    before = await _prepared(stage, kubectl)
    await asyncio.gather(*(_lives_shortly(stage, kubectl, file) for file in OBJECTS))
    await stage.until_world_is(before)


async def _prepared(stage: Bench, kubectl: Kubectl) -> dict[str, object]:
    """The state of the world with what the samples count on: a namespace and a template."""
    await kubectl("create", "namespace", "research")
    await stage.control("POST", "templates", GOLDEN)
    return await until(
        "the namespace's certificate", stage.control.state, lambda seen: "research" in str(seen["kubernetes"])
    )


async def _lives_shortly(stage: Bench, kubectl: Kubectl, file: str) -> None:
    """Delete it as soon as all its VMs are there; none of them has joined by then."""
    name = OBJECTS[file][-1][2]
    await kubectl("apply", "-f", str(SAMPLES / file))
    await until(
        f"the VMs of {file}",
        stage.control.instances,
        lambda seen: sum(vm.startswith(name) for vm in seen) == HOSTS[file],
    )
    assert [node for node in await stage.cluster.list("Node") if node["metadata"]["name"].startswith(name)] == []
    await kubectl("delete", "-f", str(SAMPLES / file))
