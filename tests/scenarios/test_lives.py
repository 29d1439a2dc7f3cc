"""Lives with an incident in them: what users and Compute Engine do behind the operator's back."""

from typing import Any

import pytest

from tests.api.manifests import changed, make_group
from tests.scenarios.cluster import Kubectl
from tests.scenarios.groups import Json
from tests.scenarios.harness import SOMEBODY, Bench, until

pytestmark = pytest.mark.slow

SPOT_SLICE = make_group(instanceConfig__provisioningModel="SPOT")


def recovering(manifest: Json) -> Json:
    """The same slice, made anew when a host is lost."""
    return changed(manifest, {"spec.recoveryPolicy": "RecreateSlice"})


async def ready(stage: Bench) -> dict[str, str]:
    """The slice is Ready; the id of each of its VMs by name, which its Nodes bear too."""
    await stage.until_ready("default", "slice")
    ids = {name: vm["id"] for name, vm in (await stage.control.instances()).items()}
    assert await node_ids(stage) == ids
    return ids


async def node_ids(stage: Bench) -> dict[str, str]:
    nodes = await stage.cluster.list("Node")
    return {node["metadata"]["name"]: node["metadata"]["labels"]["tpu.google.com/instance-id"] for node in nodes}


async def slice_condition(stage: Bench) -> Json:
    return await stage.condition("TPUNodeGroup", "default", "slice")


async def until_ready_anew(stage: Bench, before: dict[str, str]) -> dict[str, str]:
    """Ready again, of other VMs; none of the old ones has a Node or a token left."""

    async def look() -> dict[str, Any]:
        ids = {vm["id"] for vm in (await stage.control.instances()).values()}
        return {"ids": sorted(ids), "old": sorted(before.values()), "Ready": await slice_condition(stage)}

    await until(
        "the slice to be Ready of other VMs",
        look,
        lambda seen: (
            seen["Ready"].get("status") == "True"
            and not {*seen["ids"]} & {*seen["old"]}
            and len(seen["ids"]) == len(before)
        ),
        120,
    )
    return await ready(stage)


async def ends(stage: Bench, before: Json) -> None:
    """Deleted, it leaves nothing, and no VM ever had two live tokens."""
    await stage.cluster.delete("TPUNodeGroup", "default", "slice")
    await stage.until_world_is(before)
    assert stage.witness.doubles == []


async def test_a_preempted_slice_is_made_anew_where_its_policy_says_so(stage: Bench) -> None:
    before = await stage.control.state()
    await stage.cluster.create(recovering(SPOT_SLICE))
    first = await ready(stage)
    await stage.control.strike(min(first), "preempt")
    await until("Ready=False", lambda: slice_condition(stage), lambda seen: seen["status"] == "False")
    await until_ready_anew(stage, first)
    effective = (await stage.control.calls()).effective()
    assert effective["instanceGroupManagers.insert"] == 2
    assert effective["instanceTemplates.insert"] == effective["resourcePolicies.insert"] == 1
    await ends(stage, before)


async def test_a_preempted_slice_says_why_it_is_down_and_keeps_work_away_until_its_user_decides(stage: Bench) -> None:
    before = await stage.control.state()
    await stage.cluster.create(SPOT_SLICE)
    first = await ready(stage)
    lost, left = sorted(first)
    await stage.control.strike(lost, "preempt")
    said = await stage.until_reason("default", "slice", "Preempted")
    assert said["status"] == "False"
    assert lost in said["message"]
    await until("the other host to be cordoned", lambda: _unschedulable(stage, left), bool)
    await stage.cluster.patch("TPUNodeGroup", "default", "slice", {"spec": {"recoveryPolicy": "RecreateSlice"}})
    await until_ready_anew(stage, first)
    await ends(stage, before)


async def _unschedulable(stage: Bench, name: str) -> bool:
    node = await stage.cluster.get("Node", "", name)
    return bool(node and node["spec"].get("unschedulable"))


async def test_a_group_of_vms_that_a_user_deletes_in_compute_engine_is_made_anew(stage: Bench) -> None:
    before = await stage.control.state()
    await stage.cluster.create(make_group())
    first = await ready(stage)
    path = next(path for path in (await stage.control.state())["compute"] if "/instanceGroupManagers/" in path)
    url = f"{stage.ready['env']['TPU_NODE_GROUP_COMPUTE_ENDPOINT']}/compute/v1/{path}"
    async with stage.http.delete(url, headers=SOMEBODY) as answer:
        assert answer.status == 200, await answer.text()
    await until_ready_anew(stage, first)
    await ends(stage, before)


@pytest.mark.parametrize("kind", ["ManagedInstanceGroup", "InstanceTemplate", "WorkloadPolicy"])
async def test_a_child_that_a_user_deletes_is_made_anew(stage: Bench, kind: str) -> None:
    before = await stage.control.state()
    await stage.cluster.create(make_group())
    await ready(stage)
    [child] = await stage.cluster.list(kind)
    await stage.cluster.delete(kind, "default", child["metadata"]["name"])
    if kind == "ManagedInstanceGroup":
        await until("another one", lambda: _uids(stage, kind), lambda seen: {*seen} - {child["metadata"]["uid"]})
        await ready(stage)
    else:
        # The MIG is made of it: it goes when the MIG goes, and until then the slice works on.
        await until("it to wait", lambda: _deleting(stage, kind), bool)
        await stage.until_ready("default", "slice")
    await ends(stage, before)


async def _uids(stage: Bench, kind: str) -> list[str]:
    return [each["metadata"]["uid"] for each in await stage.cluster.list(kind)]


async def _deleting(stage: Bench, kind: str) -> bool:
    return any("deletionTimestamp" in each["metadata"] for each in await stage.cluster.list(kind))


@pytest.mark.kubectl
@pytest.mark.parametrize("way", ["foreground", "background"])
async def test_each_way_to_delete_leaves_nothing_behind(stage: Bench, kubectl: Kubectl, way: str) -> None:
    before = await stage.control.state()
    await stage.cluster.create(make_group())
    await ready(stage)
    await kubectl("delete", "tng", "slice", f"--cascade={way}")
    await stage.until_world_is(before)


@pytest.mark.kubectl
async def test_a_namespace_that_is_deleted_takes_its_groups_with_it(stage: Bench, kubectl: Kubectl) -> None:
    before = await stage.control.state()
    await kubectl("create", "namespace", "research")
    await stage.cluster.create(changed(make_group(), {"metadata.namespace": "research"}))
    await stage.until_ready("research", "slice")
    await kubectl("delete", "namespace", "research")
    await stage.until_world_is(before)


async def test_a_host_error_is_healed_without_a_second_token(stage: Bench) -> None:
    before = await stage.control.state()
    await stage.cluster.create(make_group())
    first = await ready(stage)
    await stage.control.strike(min(first), "host-error")
    said = await until("Ready=False", lambda: slice_condition(stage), lambda seen: seen["status"] == "False")
    assert said["reason"] == "HostError"
    assert await ready(stage) == first
    assert [len(secrets) for secrets in stage.witness.minted.values()] == [1, 1]
    await ends(stage, before)
