"""What users do at the wrong moment, and what somebody else has under a name of ours."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.api.manifests import changed
from tests.scenarios.cluster import RefusedError
from tests.scenarios.faults import (
    HURRY,
    IMPATIENT,
    SINGLES,
    SLICE,
    ZONE,
    assert_tokens_were_single,
    compute,
    nodes_of,
    until_ready,
    vms_of,
)
from tests.scenarios.groups import Json
from tests.scenarios.harness import Bench, bench, until

pytestmark = pytest.mark.slow

#: The moments of a life, and what the world shows by then.
MOMENTS: dict[str, Callable[[Json], bool]] = {
    "it was applied": lambda world: _has(world["kubernetes"], "tpunodegroups.tpu.google.com/"),
    "the template is made": lambda world: _has(world["compute"], "/instanceTemplates/"),
    "the MIG is made": lambda world: _has(world["compute"], "/instanceGroupManagers/"),
    "a VM starts": lambda world: _has(world["compute"], "/instances/"),
    "a token was minted": lambda world: _has(world["kubernetes"], "secrets/kube-system/bootstrap-token-"),
    "a host has joined": lambda world: _has(world["kubernetes"], "nodes/slice-"),
}
FOREIGN_TEMPLATE: Json = {
    "name": "foreign",
    "properties": {
        "machineType": "tpu7x-standard-4t",
        "disks": [{"boot": True, "initializeParams": {"sourceImage": "projects/p/global/images/family/golden"}}],
        "networkInterfaces": [{"network": "global/networks/default"}],
        "scheduling": {"provisioningModel": "STANDARD", "onHostMaintenance": "TERMINATE"},
    },
}


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[Bench]:
    async with bench(tmp_path, *HURRY) as made:
        yield made


@pytest.fixture
async def stage(world: Bench) -> Bench:
    await world.start_operator(**IMPATIENT)
    return world


def _has(part: Json, text: str) -> bool:
    return any(text in path for path in part)


async def _deleted(stage: Bench, before: Json, name: str = "slice") -> None:
    await stage.cluster.delete("TPUNodeGroup", "default", name)
    await stage.until_world_is(before)
    assert_tokens_were_single(stage)


def _applied_again(stage: Bench) -> Callable[[], Awaitable[bool]]:
    async def look() -> bool:
        try:
            await stage.cluster.create(SLICE)
        except RefusedError as refused:
            if refused.code == 409:
                return False
            raise
        return True

    return look


async def test_a_slice_that_is_deleted_at_any_moment_leaves_nothing(stage: Bench) -> None:
    before = await stage.control.state()
    for moment, holds in MOMENTS.items():
        await stage.cluster.create(SLICE)
        await until(moment, stage.control.state, holds)
        await _deleted(stage, before)


async def test_a_slice_that_is_deleted_and_applied_again_at_once_is_another_one(stage: Bench) -> None:
    before = await stage.control.state()
    await stage.cluster.create(SLICE)
    for moment in ("a host has joined", "a VM starts"):
        await until(moment, stage.control.state, MOMENTS[moment])
        old = await vms_of(stage, "slice")
        await stage.cluster.delete("TPUNodeGroup", "default", "slice")
        await until("it to be applied again", _applied_again(stage), bool)
        await until("other VMs", lambda: vms_of(stage, "slice"), _others_than(old))
    await until_ready(stage, "slice")
    await _deleted(stage, before)
    effective = (await stage.control.calls()).effective()
    assert [effective[f"instanceGroupManagers.{verb}"] for verb in ("insert", "delete")] == [3, 3]


def _others_than(old: dict[str, Json]) -> Callable[[dict[str, Json]], bool]:
    ids = {vm["id"] for vm in old.values()}
    return lambda vms: bool(vms) and ids.isdisjoint(vm["id"] for vm in vms.values())


async def test_two_groups_of_one_name_in_two_namespaces_do_not_touch_each_other(stage: Bench) -> None:
    await stage.cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})
    certificate = "configmaps/other/kube-root-ca.crt"
    before = await until("the namespace", stage.control.state, lambda seen: certificate in seen["kubernetes"])
    await stage.cluster.create(SLICE)
    await until_ready(stage, "slice")
    alone = await stage.control.state()
    await stage.cluster.create(changed(SLICE, {"metadata.namespace": "other"}))
    await stage.until_ready("other", "slice")
    await stage.cluster.delete("TPUNodeGroup", "other", "slice")
    await stage.until_world_is(alone)
    await _deleted(stage, before)


async def test_what_a_user_changes_on_a_group_and_its_nodes(stage: Bench) -> None:
    before = await stage.control.state()
    await stage.cluster.create(SLICE)
    await until_ready(stage, "slice")
    name, other = sorted(await nodes_of(stage, "slice"))
    for wanted in (False, True):
        await stage.cluster.patch("TPUNodeGroup", "default", "slice", _spec({"bootstrapKubernetes": {"taint": wanted}}))
        await until("the taints", _all_nodes(stage, _is_tainted), {wanted}.__eq__)
    labels = _ours((await nodes_of(stage, "slice"))[name])
    await stage.cluster.patch("Node", "", name, {"metadata": {"labels": dict.fromkeys(labels)}})
    await until("the labels", lambda: nodes_of(stage, "slice"), lambda seen: _ours(seen[name]) == labels)
    # A cordon by a user outlives the cordon of a slice that lost a host, and its end.
    await stage.cluster.patch("Node", "", name, _spec({"unschedulable": True}))
    await stage.control.strike(other, "host-error")
    await stage.until_reason("default", "slice", "HostError")
    await until_ready(stage, "slice")
    nodes = await nodes_of(stage, "slice")
    assert [bool(nodes[each]["spec"].get("unschedulable")) for each in (name, other)] == [True, False]
    await _deleted(stage, before)


def _spec(fields: Json) -> Json:
    return {"spec": fields}


def _ours(node: Json) -> dict[str, str]:
    labels = node["metadata"]["labels"]
    return {key: labels[key] for key in labels if key.startswith(("cloud.google.com/", "tpu.google.com/"))}


def _is_tainted(node: Json) -> bool:
    return any(taint["key"] == "google.com/tpu" for taint in node["spec"].get("taints") or ())


def _all_nodes(stage: Bench, what: Callable[[Json], Any]) -> Callable[[], Awaitable[set[Any]]]:
    async def look() -> set[Any]:
        return {what(node) for node in (await nodes_of(stage, "slice")).values()}

    return look


async def test_what_somebody_else_has_under_a_name_of_ours_is_given_nothing_and_keeps_all(stage: Bench) -> None:
    await stage.control("POST", "templates", FOREIGN_TEMPLATE)
    before = await stage.control.state()
    await stage.cluster.create(SLICE)
    await until_ready(stage, "slice")
    base = min(await vms_of(stage, "slice")).rpartition("-")[0]
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"{base}-zzzz"}}
    await stage.cluster.create({**node, **_spec({"providerID": f"gce://other/{ZONE}/{base}-zzzz"})})
    body = {"name": "foreign", "baseInstanceName": base, "targetSize": 1}
    template = "projects/my-gcp-project/global/instanceTemplates/foreign"
    await compute(stage, "POST", f"zones/{ZONE}/instanceGroupManagers", {**body, "instanceTemplate": template})
    seen = await until("three VMs that run", lambda: vms_of(stage, "slice"), _run(3))
    await until("the stranger to be asked about", lambda: _proofs(stage), lambda count: count >= 1)
    [stranger] = [vm for vm in seen.values() if vm["id"] not in stage.witness.minted]
    assert "kubeadm-join-token" not in str(stranger["metadata"])
    assert (await stage.condition("TPUNodeGroup", "default", "slice"))["status"] == "True"
    await stage.cluster.delete("TPUNodeGroup", "default", "slice")
    await until("it to be gone", lambda: stage.cluster.list("TPUNodeGroup"), lambda seen: seen == [])
    left = await stage.control.state()
    more = {path.rpartition("/")[2] for path in {*left["compute"]} - {*before["compute"]}}
    assert more == {"foreign", stranger["name"]}
    assert {*left["kubernetes"]} - {*before["kubernetes"]} == {f"nodes/{base}-zzzz"}
    assert stranger["id"] not in stage.witness.minted


def _run(count: int) -> Callable[[dict[str, Json]], bool]:
    return lambda vms: [vm["status"] for vm in vms.values()].count("RUNNING") == count


async def _proofs(stage: Bench) -> int:
    """How often the MIG was asked who its members are, after the first two VMs had run."""
    return (await stage.control.calls()).count("instanceGroupManagers.listManagedInstances") - 1


@pytest.mark.parametrize("policy", ["Manual", "RecreateSlice"])
async def test_a_slice_of_which_a_user_deletes_one_vm_says_so_or_is_made_anew(stage: Bench, policy: str) -> None:
    before = await stage.control.state()
    await stage.cluster.create(changed(SLICE, {"spec.recoveryPolicy": policy}))
    await until_ready(stage, "slice")
    first = await vms_of(stage, "slice")
    await stage.control.strike(min(first), "delete")
    if policy == "Manual":
        said = await stage.until_reason("default", "slice", "InstanceLost")
        advice = "the slice stays down: set spec.recoveryPolicy to RecreateSlice, or apply the group anew"
        assert said["message"] == f"1 of 2 VMs were deleted; {advice}"
    else:
        await until("other VMs", lambda: vms_of(stage, "slice"), _others_than(first))
        await until_ready(stage, "slice")
    await _deleted(stage, before)


@pytest.mark.parametrize(
    ("what", "reason", "anew"),
    [
        pytest.param("delete", "Provisioning", True, id="a user deletes it"),
        pytest.param("guest-terminate", "GuestTerminated", True, id="it shuts itself down"),
        pytest.param("terminate-on-maintenance", "HostMaintenance", False, id="its host is maintained"),
        pytest.param("reset", "NodeNotReady", False, id="a user resets it"),
    ],
)
async def test_a_single_host_comes_back_after(stage: Bench, what: str, reason: str, anew: bool) -> None:  # noqa: FBT001
    before = await stage.control.state()
    await stage.cluster.create(SINGLES)
    await until_ready(stage, "singles")
    first = {name: vm["id"] for name, vm in (await vms_of(stage, "singles")).items()}
    struck = min(first)
    await stage.control.strike(struck, what)
    await stage.until_reason("default", "singles", reason)
    await until_ready(stage, "singles")
    second = {name: vm["id"] for name, vm in (await vms_of(stage, "singles")).items()}
    assert {name for name in second if second[name] != first.get(name)} == ({struck} if anew else set())
    assert {len(secrets) for secrets in stage.witness.minted.values()} == {1}
    assert len(stage.witness.minted) == len(first) + anew
    await _deleted(stage, before, "singles")
