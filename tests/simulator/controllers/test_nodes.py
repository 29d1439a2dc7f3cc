"""A Node whose kubelet falls silent becomes Unknown, and taints follow conditions."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from simulator.kube.joining import EmbeddedKubernetes
from simulator.seams import JoinRequest
from tests.simulator.controllers.cluster import Cluster
from tests.simulator.metadata.machines import Calls

REQUEST = JoinRequest(
    node_name="tpu-1",
    token="",
    ca_hashes=(),
    provider_id="gce://example-project/us-central1-a/tpu-1",
    labels={},
    taints=(("google.com/tpu", "present", "NoSchedule"),),
    kubelet_version="v1.34.1",
)
TPU = {"key": "google.com/tpu", "value": "present", "effect": "NoSchedule"}


class Clock(Cluster):
    """A cluster with a short patience, whose time passes as the test says."""

    def __init__(self) -> None:
        super().__init__(grace=timedelta(milliseconds=150))
        self.kubelet = EmbeddedKubernetes(self.store, Calls())

    def ready(self) -> tuple[str, str]:
        """Status and reason of the Ready condition."""
        condition = self.conditions()["Ready"]
        return condition["status"], condition["reason"]

    def conditions(self) -> dict[str, dict[str, str]]:
        return {item["type"]: item for item in self.store.get("nodes", None, "tpu-1")["status"]["conditions"]}

    def taints(self) -> list[Any]:
        taints: list[Any] = self.store.get("nodes", None, "tpu-1")["spec"].get("taints", [])
        return taints

    async def post(self, *, ready: bool) -> None:
        await self.kubelet.post_status("tpu-1", ready=ready, allocatable={"google.com/tpu": "4"}, at=self.time)


@pytest.fixture
async def clock() -> AsyncIterator[Clock]:
    clock = Clock()
    clock.start()
    await clock.kubelet.register(REQUEST)
    yield clock
    await clock.stop()


def pair(key: str) -> list[dict[str, str]]:
    name = f"node.kubernetes.io/{key}"
    return [{"key": name, "effect": "NoSchedule"}, {"key": name, "effect": "NoExecute"}]


async def test_a_new_node_is_tainted_until_it_is_ready(clock: Clock) -> None:
    await clock.until(lambda: clock.taints() == [TPU, *pair("not-ready")])
    await clock.post(ready=True)
    await clock.until(lambda: clock.taints() == [TPU])


async def test_a_silent_node_becomes_unknown_and_unreachable(clock: Clock) -> None:
    await clock.post(ready=True)
    clock.time += timedelta(seconds=1)
    await clock.until(lambda: clock.ready() == ("Unknown", "NodeStatusUnknown"))
    await clock.until(lambda: clock.taints() == [TPU, *pair("unreachable")])
    assert {item["status"] for item in clock.conditions().values()} == {"Unknown"}
    assert clock.conditions()["Ready"]["lastTransitionTime"] == "2026-01-01T12:00:01Z"


async def test_a_node_that_speaks_again_is_ready_again(clock: Clock) -> None:
    await clock.post(ready=True)
    clock.time += timedelta(seconds=1)
    await clock.until(lambda: clock.ready()[0] == "Unknown")
    await clock.post(ready=True)
    await clock.until(lambda: clock.taints() == [TPU])
    assert clock.ready() == ("True", "KubeletReady")


async def test_a_renewed_lease_is_a_sign_of_life(clock: Clock) -> None:
    await clock.post(ready=True)
    clock.time += timedelta(seconds=1)
    await clock.kubelet.renew_lease("tpu-1", clock.time)
    await clock.settled()
    assert clock.ready() == ("True", "KubeletReady")


async def test_a_cordon_shows_as_a_taint(clock: Clock) -> None:
    await clock.post(ready=True)
    await clock.until(lambda: clock.taints() == [TPU])
    for unschedulable, taints in (
        (True, [TPU, {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]),
        (False, [TPU]),
    ):
        node = clock.store.get("nodes", None, "tpu-1")
        clock.store.update("nodes", {**node, "spec": {**node["spec"], "unschedulable": unschedulable}})
        await clock.until(lambda wanted=taints: clock.taints() == wanted)  # type: ignore[misc]


async def test_an_idle_ready_node_is_written_by_nobody(clock: Clock) -> None:
    await clock.post(ready=True)
    await clock.until(lambda: clock.taints() == [TPU])
    await clock.settled()
    before = clock.store.revision
    await clock.settled()
    assert clock.store.revision == before


async def test_the_lease_goes_with_its_node(clock: Clock) -> None:
    leases = "leases.coordination.k8s.io"
    assert clock.store.find(leases, "kube-node-lease", "tpu-1") is not None
    clock.store.delete("nodes", None, "tpu-1")
    await clock.until(lambda: clock.store.find(leases, "kube-node-lease", "tpu-1") is None)
