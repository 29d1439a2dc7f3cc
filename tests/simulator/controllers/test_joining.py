"""Who may join, and what a kubelet makes of itself."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from simulator.kube.joining import EmbeddedKubernetes
from simulator.seams import JoinRefusedError, JoinRequest
from tests.simulator.controllers.cluster import AUTHORITY, TOKEN, Cluster
from tests.simulator.metadata.machines import Calls

REQUEST = JoinRequest(
    node_name="tpu-1",
    token=TOKEN,
    ca_hashes=(AUTHORITY.hash,),
    provider_id="gce://example-project/us-central1-a/tpu-1",
    labels={"tpu.google.com/instance-id": "7"},
    taints=(("google.com/tpu", "present", "NoSchedule"),),
    kubelet_version="v1.34.1",
)


@pytest.fixture
def kubernetes(cluster: Cluster) -> EmbeddedKubernetes:
    return EmbeddedKubernetes(cluster.store, Calls())


def node(cluster: Cluster) -> dict[str, Any]:
    return cluster.store.get("nodes", None, "tpu-1")


async def refusal(kubernetes: EmbeddedKubernetes, request: JoinRequest) -> str:
    with pytest.raises(JoinRefusedError) as refused:
        await kubernetes.join(request)
    return str(refused.value)


async def test_a_joined_node_is_as_a_kubelet_makes_it(cluster: Cluster, kubernetes: EmbeddedKubernetes) -> None:
    cluster.token()
    await cluster.signed()
    await kubernetes.join(REQUEST)
    made = node(cluster)
    assert made["metadata"]["labels"] == {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": "tpu-1",
        "kubernetes.io/os": "linux",
        "tpu.google.com/instance-id": "7",
    }
    assert made["spec"] == {
        "providerID": "gce://example-project/us-central1-a/tpu-1",
        "taints": [{"key": "google.com/tpu", "value": "present", "effect": "NoSchedule"}],
    }
    assert made["status"]["nodeInfo"]["kubeletVersion"] == "v1.34.1"
    assert [(item["type"], item["status"]) for item in made["status"]["conditions"]] == [
        ("MemoryPressure", "False"),
        ("DiskPressure", "False"),
        ("PIDPressure", "False"),
        ("Ready", "False"),
    ]
    assert made["status"]["addresses"] == [
        {"type": "InternalIP", "address": "10.128.0.2"},
        {"type": "Hostname", "address": "tpu-1"},
    ]
    assert cluster.store.find("leases.coordination.k8s.io", "kube-node-lease", "tpu-1") is not None


async def test_a_token_that_has_not_signed_yet_is_refused(cluster: Cluster, kubernetes: EmbeddedKubernetes) -> None:
    cluster.token()
    assert 'could not find a JWS signature in the cluster-info ConfigMap for token ID "abcdef"' in await refusal(
        kubernetes, REQUEST
    )


async def test_a_wrong_secret_is_refused(cluster: Cluster, kubernetes: EmbeddedKubernetes) -> None:
    cluster.token()
    await cluster.signed()
    reason = await refusal(kubernetes, replace(REQUEST, token="abcdef.fedcba9876543210"))
    assert reason.startswith("failed to verify JWS signature")
    assert "fedcba9876543210" not in reason


async def test_no_token_at_all_is_refused(kubernetes: EmbeddedKubernetes) -> None:
    assert "not of the form" in await refusal(kubernetes, replace(REQUEST, token=""))


async def test_another_certificate_authority_is_refused(cluster: Cluster, kubernetes: EmbeddedKubernetes) -> None:
    cluster.token()
    await cluster.signed()
    assert "are pinned" in await refusal(kubernetes, replace(REQUEST, ca_hashes=("sha256:" + "0" * 64,)))


async def test_an_expired_token_is_refused_though_its_signature_is_still_there(
    cluster: Cluster, kubernetes: EmbeddedKubernetes
) -> None:
    cluster.token()
    await cluster.signed()
    await cluster.stop()
    cluster.time += timedelta(hours=2)
    assert "Unauthorized" in await refusal(kubernetes, REQUEST)


async def test_a_revoked_token_is_refused_though_its_signature_is_still_there(
    cluster: Cluster, kubernetes: EmbeddedKubernetes
) -> None:
    cluster.token()
    await cluster.signed()
    await cluster.stop()
    cluster.store.delete("secrets", "kube-system", "bootstrap-token-abcdef")
    assert "Unauthorized" in await refusal(kubernetes, REQUEST)


async def test_a_token_for_signing_only_is_refused(cluster: Cluster, kubernetes: EmbeddedKubernetes) -> None:
    cluster.token(usage_bootstrap_authentication="false")
    await cluster.signed()
    assert "Unauthorized" in await refusal(kubernetes, REQUEST)


async def test_a_ready_node_of_that_name_refuses_a_second_one(cluster: Cluster, kubernetes: EmbeddedKubernetes) -> None:
    cluster.token()
    await cluster.signed()
    await kubernetes.join(REQUEST)
    await kubernetes.post_status("tpu-1", ready=True, allocatable={"google.com/tpu": "4"}, at=cluster.time)
    assert 'a Node with name "tpu-1" and status "Ready" already exists' in await refusal(kubernetes, REQUEST)


async def test_a_stale_node_is_adopted_with_its_old_labels_taints_and_age(
    cluster: Cluster, kubernetes: EmbeddedKubernetes
) -> None:
    cluster.token()
    await cluster.signed()
    await kubernetes.join(REQUEST)
    await kubernetes.post_status("tpu-1", ready=False, allocatable={"google.com/tpu": "4"}, at=cluster.time)
    old = node(cluster)
    cluster.time += timedelta(minutes=1)
    await kubernetes.join(replace(REQUEST, labels={"tpu.google.com/instance-id": "8"}, taints=()))
    now = node(cluster)
    assert [now["metadata"][key] for key in ("uid", "creationTimestamp", "labels")] == [
        old["metadata"][key] for key in ("uid", "creationTimestamp", "labels")
    ]
    assert now["spec"]["providerID"] == old["spec"]["providerID"]
    assert now["spec"]["taints"][0]["key"] == "google.com/tpu"
    # The extended resources are zeroed until a device plugin registers.
    assert now["status"]["allocatable"]["google.com/tpu"] == "0"


async def test_a_status_tells_resources_and_keeps_the_time_of_the_transition(
    cluster: Cluster, kubernetes: EmbeddedKubernetes
) -> None:
    await kubernetes.register(REQUEST)
    await kubernetes.post_status("tpu-1", ready=True, allocatable={"google.com/tpu": "4"}, at=cluster.time)
    later = cluster.time + timedelta(minutes=5)
    await kubernetes.post_status("tpu-1", ready=True, allocatable={"google.com/tpu": "4"}, at=later)
    status = node(cluster)["status"]
    ready = next(item for item in status["conditions"] if item["type"] == "Ready")
    assert (ready["lastHeartbeatTime"], ready["lastTransitionTime"]) == (
        "2026-01-01T12:05:00Z",
        "2026-01-01T12:00:00Z",
    )
    assert (status["allocatable"]["google.com/tpu"], status["capacity"]["google.com/tpu"]) == ("4", "4")


async def test_a_deleted_node_stays_deleted_until_its_kubelet_starts_again(
    cluster: Cluster, kubernetes: EmbeddedKubernetes
) -> None:
    await kubernetes.register(REQUEST)
    cluster.store.delete("nodes", None, "tpu-1")
    await kubernetes.post_status("tpu-1", ready=True, allocatable={}, at=cluster.time)
    await kubernetes.renew_lease("tpu-1", cluster.time)
    await cluster.settled()
    assert cluster.store.list("nodes") == []
    assert cluster.store.list("leases.coordination.k8s.io", "kube-node-lease") == []
    await kubernetes.register(REQUEST)
    assert node(cluster)["metadata"]["name"] == "tpu-1"


async def test_every_write_of_a_kubelet_is_counted(cluster: Cluster) -> None:
    calls = Calls()
    await EmbeddedKubernetes(cluster.store, calls).register(REQUEST)
    assert calls.codes == ["201", "201"]


async def test_sixty_four_nodes_join_in_far_less_than_a_second(
    cluster: Cluster, kubernetes: EmbeddedKubernetes
) -> None:
    tokens = [f"t{number:05d}.0123456789abcdef" for number in range(64)]
    for token in tokens:
        cluster.token(token)
    await cluster.signed("t00063")
    started = asyncio.get_running_loop().time()
    for number, token in enumerate(tokens):
        await kubernetes.join(replace(REQUEST, node_name=f"tpu-{number}", token=token))
    assert len(cluster.store.list("nodes")) == 64
    assert asyncio.get_running_loop().time() - started < 1
