"""Whole lives on a real control plane: VMs join it by a TLS bootstrap with the token that the operator gave them.

The operator has exactly the rights of deploy/rbac.yaml there. One simulator and one operator live through all of them:
each life leaves the world as it found it.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from simulator.controlplane.kubeconfigs import connected, read
from tests.api.manifests import changed, make_group
from tests.needs import need
from tests.planes import RealPlane
from tests.scenarios.cluster import Json, Kubectl
from tests.scenarios.harness import Bench, bench, until

pytestmark = [pytest.mark.controlplane, pytest.mark.asyncio(loop_scope="module")]

SIGNING_REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(real_plane: RealPlane, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Bench]:
    """Simulated clouds on the real cluster, and an operator that operates."""
    async with bench(tmp_path_factory.mktemp("lives"), "--control-plane", str(real_plane.kubeconfig)) as made:
        await made.start_operator()
        yield made


@pytest.fixture
def group(real_plane: RealPlane) -> Json:
    """A slice of two hosts that join this control plane."""
    return make_group(
        bootstrapKubernetes__version="1.36",
        bootstrapKubernetes__controlPlaneIP="127.0.0.1",
        bootstrapKubernetes__controlPlanePort=real_plane.port,
    )


async def ready(stage: Bench) -> dict[str, str]:
    """The slice is Ready; the id of each of its VMs by name, which its Nodes bear too."""
    await stage.until_ready("default", "slice")
    ids = {name: vm["id"] for name, vm in (await stage.control.instances()).items()}
    nodes = await stage.cluster.list("Node")
    assert {node["metadata"]["name"]: node["metadata"]["labels"]["tpu.google.com/instance-id"] for node in nodes} == ids
    return ids


async def ends(stage: Bench, before: Json) -> None:
    """Deleted, it leaves nothing, and no VM ever had two live tokens."""
    await stage.cluster.delete("TPUNodeGroup", "default", "slice")
    await stage.until_world_is(before)
    assert stage.witness.doubles == []


async def slice_condition(stage: Bench) -> Json:
    return await stage.condition("TPUNodeGroup", "default", "slice")


async def test_a_slice_joins_by_certificates_for_its_tokens_survives_a_host_error_and_goes(
    stage: Bench, group: Json, real_plane: RealPlane
) -> None:
    before = await stage.control.state()
    async with connected(read(real_plane.kubeconfig)) as admin:
        earlier = {item["metadata"]["name"] for item in (await admin.call("GET", SIGNING_REQUESTS))["items"]}
        await stage.cluster.create(group)
        first = await ready(stage)
        requests = [
            item
            for item in (await admin.call("GET", SIGNING_REQUESTS))["items"]
            if item["metadata"]["name"] not in earlier
        ]
    minted = [stage.witness.minted[instance] for instance in first.values()]
    tokens = [name.removeprefix("bootstrap-token-") for names in minted for name in names]
    assert sorted(item["spec"]["username"] for item in requests) == sorted(
        f"system:bootstrap:{each}" for each in tokens
    )
    assert {item["status"]["conditions"][0]["reason"] for item in requests} == {"AutoApproved"}
    for node in await stage.cluster.list("Node"):
        name = node["metadata"]["name"]
        assert node["spec"]["providerID"] == f"gce://my-gcp-project/us-central1-c/{name}"
        assert {"key": "google.com/tpu", "value": "present", "effect": "NoSchedule"} in node["spec"]["taints"]
    await stage.control.strike(min(first), "host-error")
    said = await until("Ready=False", lambda: slice_condition(stage), lambda seen: seen["status"] == "False")
    assert said["reason"] == "HostError"
    assert await ready(stage) == first
    assert [len(stage.witness.minted[instance]) for instance in first.values()] == [1, 1]
    await ends(stage, before)


async def test_a_preempted_host_comes_back_as_a_new_node_with_a_token_of_its_own(stage: Bench, group: Json) -> None:
    before = await stage.control.state()
    earlier = set(stage.witness.minted)
    spot = {
        "spec.targetSizePolicyMode": "INDIVIDUAL",
        "spec.topology": "2x2x1",
        "spec.instanceConfig.provisioningModel": "SPOT",
    }
    await stage.cluster.create(changed(group, spot))
    first = await ready(stage)
    lost = min(first)
    await stage.control.strike(lost, "preempt")

    async def other_id() -> str:
        return str((await stage.control.instances()).get(lost, {}).get("id", first[lost]))

    renewed = await until("another VM of that name", other_id, lambda seen: seen != first[lost])
    await until("its Node", lambda: _instance_of(stage, lost), lambda seen: seen == renewed)
    assert await ready(stage) == {**first, lost: renewed}
    assert sorted({*stage.witness.minted} - earlier) == sorted([*first.values(), renewed])
    await ends(stage, before)


async def _instance_of(stage: Bench, name: str) -> str:
    node = await stage.cluster.get("Node", "", name)
    return node["metadata"]["labels"]["tpu.google.com/instance-id"] if node else ""


async def test_a_zone_without_capacity_is_told_and_waited_for(stage: Bench, group: Json) -> None:
    before = await stage.control.state()
    place = {"zone": "us-central1-c", "machineType": "tpu7x-standard-4t"}
    await stage.control("POST", "capacity", {**place, "available": 0})
    await stage.cluster.create(group)
    await stage.until_reason("default", "slice", "Stockout")
    await stage.control("POST", "capacity", {**place, "available": None})
    await ready(stage)
    await ends(stage, before)


@pytest.mark.parametrize("moment", ["while they start", "with their tokens"])
async def test_a_slice_that_is_deleted_while_its_vms_boot_leaves_nothing(
    stage: Bench, group: Json, moment: str
) -> None:
    before = await stage.control.state()
    earlier = stage.witness.tokens
    await stage.cluster.create(group)
    if moment == "while they start":
        await until("the VMs", stage.control.instances, lambda seen: len(seen) == 2)
    else:

        async def minted() -> int:
            return stage.witness.tokens

        await until("a token", minted, lambda seen: seen > earlier)
    await ends(stage, before)


async def test_a_namespace_takes_its_slice_with_it(stage: Bench, group: Json, tmp_path: Path) -> None:
    need("kubectl")
    before = await stage.control.state()
    kubectl = Kubectl(stage.kubeconfig, tmp_path)
    await kubectl("create", "namespace", "research")
    await stage.cluster.create(changed(group, {"metadata.namespace": "research"}))
    await stage.until_ready("research", "slice")
    await kubectl("delete", "namespace", "research", "--timeout=60s", timeout=90)
    await stage.until_world_is(before)


async def test_a_foreground_deletion_takes_all_at_once_and_in_order(stage: Bench, group: Json, tmp_path: Path) -> None:
    need("kubectl")
    before = await stage.control.state()
    await stage.cluster.create(group)
    await ready(stage)
    kubectl = Kubectl(stage.kubeconfig, tmp_path)
    await kubectl("delete", "tng", "slice", "--cascade=foreground", "--timeout=60s", timeout=90)
    await stage.until_world_is(before)


async def test_a_node_of_an_earlier_vm_goes_before_the_new_one_gets_a_token(stage: Bench, group: Json) -> None:
    before = await stage.control.state()
    await stage.cluster.create(group)
    first = await ready(stage)
    lost = min(first)
    old = await stage.cluster.get("Node", "", lost)
    assert old is not None
    await stage.control.strike(lost, "repair")

    async def uid() -> str:
        node = await stage.cluster.get("Node", "", lost)
        return str(node["metadata"]["uid"]) if node else ""

    await until("another Node", uid, lambda seen: seen not in {"", old["metadata"]["uid"]})
    again = await ready(stage)
    assert again[lost] != first[lost]
    assert [name for name in again if again[name] == first[name]] == [max(first)]
    await ends(stage, before)


async def test_a_node_that_claims_the_name_of_a_host_is_told_and_left_alone(stage: Bench, group: Json) -> None:
    before = await stage.control.state()
    # No token reaches a VM: none joins meanwhile.
    fault = await stage.control(
        "POST", "faults", {"method": "instances.setMetadata", "nth": "every", "effect": "error-before"}
    )
    await stage.cluster.create(group)
    seen = await until("the VMs", stage.control.instances, lambda found: len(found) == 2)
    name = min(seen)
    claimant = await stage.cluster.create(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name},
            "spec": {"providerID": "gce://another-project/us-central1-c/vm"},
        }
    )
    said = await stage.until_reason("default", "slice", "TwoClaimants")
    assert "gce://another-project/us-central1-c/vm" in said["message"]
    assert (await stage.cluster.get("Node", "", name) or {})["metadata"]["uid"] == claimant["metadata"]["uid"]
    await stage.cluster.delete("Node", "", name)
    await stage.cluster.delete("TPUNodeGroup", "default", "slice")
    await stage.control("DELETE", f"faults/{fault['id']}")
    await stage.until_world_is(before)
