"""VMs with the real startup script, kubeadm and kubelet on a real control plane: what these decide, not what we think.

One simulator for all of them; every test has a group of its own. The kubelets run in namespaces (simulator/machines).
"""

from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pytest
import pytest_asyncio

from controller.adapters.clock import SystemClock
from tests.api.manifests import changed, make_group
from tests.needs import need_binary, need_machines
from tests.planes import RealPlane
from tests.scenarios.harness import Bench, bench, until
from tests.scenarios.join_watch import JoinWatch, join_watch

pytestmark = [pytest.mark.controlplane, pytest.mark.asyncio(loop_scope="module")]

VERSION: Final = "1.36"
CHIPS: Final = "4"
TAINT: Final = {"key": "google.com/tpu", "value": "present", "effect": "NoSchedule"}
ACCOUNT: Final = "tpu-nodes@my-gcp-project.iam.gserviceaccount.com"
JOINED_AT_ONCE: Final = ["booted", "waiting", "joining", "joined"]
Json = dict[str, Any]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(real_plane: RealPlane, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Bench]:
    """A simulator of real machines on the real control plane, and an operator."""
    need_machines()
    for program in ("kubelet", "criserver"):
        need_binary(program)
    folder = tmp_path_factory.mktemp("join")
    arguments = ("--control-plane", str(real_plane.kubeconfig), "--real-join", "--timings", "0.2", "--log-latency", "0")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(folder))
        async with bench(folder, *arguments) as made:
            await made.start_operator(node_service_account=ACCOUNT)
            yield made


@pytest_asyncio.fixture(loop_scope="module")
async def seen(stage: Bench) -> AsyncIterator[JoinWatch]:
    async with join_watch(stage) as watch:
        yield watch


def slice_of_two(stage: Bench) -> Json:
    return changed(make_group(), {"metadata.name": "pair", "spec.bootstrapKubernetes": bootstrap(stage)})


def single(stage: Bench, name: str, host: str = "127.0.0.1") -> Json:
    """One host that its managed instance group makes anew. `host`: how the control plane is written."""
    shape = {"nodeCount": 1, "topology": "2x2x1", "targetSizePolicyMode": "INDIVIDUAL"}
    spec = {f"spec.{key}": value for key, value in shape.items()}
    return changed(make_group(), {**spec, "metadata.name": name, "spec.bootstrapKubernetes": bootstrap(stage, host)})


def bootstrap(stage: Bench, host: str = "127.0.0.1") -> Json:
    port = stage.cluster.url.rpartition(":")[2]
    return {"version": VERSION, "controlPlaneIP": "127.0.0.1", "controlPlaneEndpoint": f"{host}:{port}"}


async def ready(stage: Bench, name: str) -> None:
    await until(
        f"{name} to be Ready",
        lambda: stage.condition("TPUNodeGroup", "default", name),
        lambda said: said.get("status") == "True",
        120,
    )


async def deleted(stage: Bench, name: str, before: Json) -> None:
    """The group, its VMs, its Nodes and its tokens are gone."""
    await stage.cluster.delete("TPUNodeGroup", "default", name)
    await stage.until_world_is(before)


async def vms_of(stage: Bench, name: str) -> dict[str, str]:
    """The ids of a group's VMs by name."""
    found = await stage.control.instances()
    return {vm: body["id"] for vm, body in found.items() if vm.startswith(f"{name}-mig-")}


async def reports(stage: Bench, instance: str) -> list[Json]:
    """What a VM has written to Cloud Logging, in order."""
    logs = (await stage.control.world("logs=full&last=100000"))["history"]["logs"]
    entries = [each["entry"] for each in logs if each["entry"]["logName"].endswith("/tpu-node-bootstrap")]
    own = [entry for entry in entries if entry["resource"]["labels"]["instance_id"] == instance]
    return sorted(own, key=lambda entry: str(entry["timestamp"]))


async def until_reported(stage: Bench, instance: str, steps: list[str]) -> None:
    """Until a VM has reported just these steps; kubeadm returns a little after the Node is there."""

    async def look() -> list[str]:
        return [entry["jsonPayload"]["step"] for entry in await reports(stage, instance)]

    await until(f"the steps {steps}", look, lambda seen: seen == steps, 20)


async def test_two_vms_join_with_all_that_their_nodes_must_bear(stage: Bench, seen: JoinWatch) -> None:
    before = await stage.control.state()
    await stage.cluster.create(slice_of_two(stage))
    await ready(stage, "pair")
    vms = await vms_of(stage, "pair")
    assert {name: seen.born(name)["metadata"]["labels"]["tpu.google.com/instance-id"] for name in vms} == vms
    for name in vms:
        first = seen.born(name)
        assert first["spec"]["providerID"] == f"gce://my-gcp-project/us-central1-c/{name}"
        assert TAINT in first["spec"]["taints"]
        labels = first["metadata"]["labels"]
        assert {key: value for key, value in labels.items() if key.startswith("cloud.google.com/gke-")} == {
            "cloud.google.com/gke-tpu-accelerator": "tpu7x",
            "cloud.google.com/gke-tpu-topology": "2x2x2",
            "cloud.google.com/gke-accelerator-count": CHIPS,
        }
    # Both are revisions of one etcd.
    assert seen.first_ready("pair") > max(seen.first_with_chips(name, CHIPS) for name in vms)
    for name, instance in vms.items():
        revoked, scrubbed = await seen.until_withdrawn(instance)
        after = revoked - seen.joined[name], scrubbed - seen.joined[name]
        print(f"after the join: revoked {after[0]:.2f} s, scrubbed {after[1]:.2f} s")  # noqa: T201 - a figure
        assert (after[0] <= 1.0, after[1] <= 5.0) == (True, True)
    for instance in vms.values():
        await seen.until_refused(instance)
    assert seen.exposed() == []
    for instance in vms.values():
        await until_reported(stage, instance, JOINED_AT_ONCE)
    await deleted(stage, "pair", before)
    await until("no machine", seen.machines, lambda running: not running)


async def test_a_vm_that_restarts_keeps_its_node_and_one_made_anew_is_a_new_one(stage: Bench, seen: JoinWatch) -> None:
    before = await stage.control.state()
    await stage.cluster.create(single(stage, "lasting", "localhost"))
    await ready(stage, "lasting")
    [(name, instance)] = (await vms_of(stage, "lasting")).items()
    node = seen.born(name)["metadata"]["uid"]
    await stage.control.strike(name, "host-error")
    await until(
        "the loss to be told",
        lambda: stage.condition("TPUNodeGroup", "default", "lasting"),
        lambda said: said.get("status") == "False",
    )
    await ready(stage, "lasting")
    found = await stage.cluster.get("Node", "", name)
    assert found is not None
    assert (found["metadata"]["uid"], await vms_of(stage, "lasting")) == (node, {name: instance})
    assert len(stage.witness.minted[instance]) == 1

    await stage.control.strike(name, "repair")
    await until("another VM", lambda: vms_of(stage, "lasting"), lambda vms: vms.get(name, instance) != instance)
    await ready(stage, "lasting")
    [fresh] = (await vms_of(stage, "lasting")).values()
    lives = [
        (body["metadata"]["uid"], body["metadata"]["labels"]["tpu.google.com/instance-id"])
        for body in seen.births(name)
    ]
    assert [instance_id for _, instance_id in lives] == [instance, fresh]
    # The old Node went before the token of the new VM came.
    assert seen.deaths[node] < seen.minted_at[fresh]
    await deleted(stage, "lasting", before)


async def test_a_join_that_fails_is_told_within_a_second_and_is_tried_again(stage: Bench, seen: JoinWatch) -> None:
    before = await stage.control.state()
    # kubeadm refuses to join where an authority is; its reset removes it.
    left_over = "etc/kubernetes/pki/ca.crt"
    await stage.cluster.create(single(stage, "failing"))
    vms = await until("a VM", lambda: vms_of(stage, "failing"), lambda found: found)
    [(name, instance)] = vms.items()
    await until("its disk", seen.disks, lambda found: instance in found)
    leave(await seen.disks(), instance, left_over)
    said = await until(
        "the failure to be told",
        lambda: stage.condition("TPUNodeGroup", "default", "failing"),
        lambda condition: condition.get("reason") == "BootstrapFailed",
    )
    told = SystemClock().now()
    [failed] = [entry for entry in await reports(stage, instance) if entry["jsonPayload"]["step"] == "failed"]
    assert "[ERROR FileAvailable--etc-kubernetes-pki-ca.crt]" in failed["jsonPayload"]["reason"]
    assert "[ERROR FileAvailable--etc-kubernetes-pki-ca.crt]" in said["message"]
    assert (told - datetime.fromisoformat(failed["timestamp"])).total_seconds() <= 1.0
    await ready(stage, "failing")
    await until_reported(stage, instance, ["booted", "waiting", "joining", "failed", "joining", "joined"])
    assert seen.born(name)["metadata"]["labels"]["tpu.google.com/instance-id"] == instance
    await deleted(stage, "failing", before)


def leave(disks: dict[str, Path], instance: str, file: str) -> None:
    """Put a file on a VM's disk."""
    path = disks[instance] / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()


@pytest.mark.timeout(240)
async def test_a_vm_that_outlasts_its_first_token_joins_at_the_first_try(stage: Bench, seen: JoinWatch) -> None:
    before = await stage.control.state()
    await stage.stop_operator()
    await stage.start_operator(node_service_account=ACCOUNT, token_life="30s", token_renew_margin="10s")
    # The VM runs and hears nothing of its metadata for 35 s, as one that installs packages does not.
    fault = await stage.control(
        "POST", "faults", {"method": "metadata.get", "effect": "error-before", "code": 503, "nth": "every"}
    )
    await stage.cluster.create(single(stage, "held", "[::1]"))
    vms = await until("a VM", lambda: vms_of(stage, "held"), lambda found: found)
    [(name, instance)] = vms.items()
    first = await until("its token", seen.tokens_of(instance), lambda minted: minted)
    await until("35 s to pass", seen.age_of_token(instance), lambda age: age >= 35)
    await stage.control("DELETE", f"faults/{fault['id']}")
    await ready(stage, "held")
    await until_reported(stage, instance, JOINED_AT_ONCE)
    assert stage.witness.minted[instance][: len(first)] == first
    assert len(stage.witness.minted[instance]) >= 2
    assert seen.born(name)["metadata"]["labels"]["tpu.google.com/instance-id"] == instance
    await deleted(stage, "held", before)
    await stage.stop_operator()
    await stage.start_operator(node_service_account=ACCOUNT)
