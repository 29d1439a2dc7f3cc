"""Guests in the real simulated world, joining the simulated cluster: VMs run, join, fail, come back."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from simulator.guests import Guests, GuestSettings
from simulator.kube.joining import EmbeddedKubernetes
from simulator.metadata.from_world import WorldMachines
from simulator.world import Instance
from tests.simulator.controllers.cluster import AUTHORITY, Cluster
from tests.simulator.metadata.machines import Calls
from tests.simulator.world.worlds import FAST, Lab


class Whole:
    """A world, its guests and their cluster."""

    def __init__(self) -> None:
        self.lab, self.cluster = Lab(), Cluster()
        world = self.lab.world
        kubelets = EmbeddedKubernetes(self.cluster.store, Calls())
        settings = GuestSettings(scale=FAST.scale)
        self.guests = Guests(WorldMachines(world), kubelets, self.lab.log, lambda: self.cluster.time, settings, seed=3)
        world.guests = self.guests

    async def boot(self, size: int) -> list[Instance]:
        """Make a group of VMs and wait until they run."""
        self.lab.add_template()
        self.lab.add_group(size)
        return await self.lab.all_running(size)

    async def invite(self, vm: Instance, token: str) -> None:
        """Do what the operator does for one VM."""
        self.cluster.token(token)
        await self.cluster.signed(token[:6])
        vm.metadata.merge(
            {
                "kubeadm-join-token": token,
                "kubeadm-control-plane-ip": "10.0.0.2",
                "kubeadm-ca-hash": AUTHORITY.hash,
                "kubeadm-kubernetes-version": "1.34",
            }
        )

    def nodes(self) -> dict[str, Any]:
        """Ready nodes: name -> (UID, instance id, chips)."""
        return {
            body["metadata"]["name"]: (
                body["metadata"]["uid"],
                body["metadata"]["labels"]["tpu.google.com/instance-id"],
                body["status"]["allocatable"].get("google.com/tpu", "0"),
            )
            for body in self.cluster.store.list("nodes")
            if body["status"]["conditions"][-1]["status"] == "True"
        }

    async def until_ready(self, *vms: Instance) -> None:
        """Wait until the Nodes of these VMs are Ready with their chips, and no others are."""
        wanted = {vm.name: (vm.id, "4") for vm in vms}
        await self.cluster.until(lambda: {name: row[1:] for name, row in self.nodes().items()} == wanted)


@pytest.fixture
async def whole() -> AsyncIterator[Whole]:
    whole = Whole()
    whole.cluster.start()
    yield whole
    await whole.guests.close()
    await whole.cluster.stop()
    await whole.lab.world.close()
    assert [*whole.guests.failures, *whole.lab.world.failures] == []


async def test_every_vm_of_a_group_joins_with_its_own_token(whole: Whole) -> None:
    vms = await whole.boot(4)
    for number, vm in enumerate(vms):
        await whole.invite(vm, f"host{number:02d}.0123456789abcdef")
    await whole.until_ready(*vms)


async def test_a_host_error_brings_the_same_node_back_without_a_second_token(whole: Whole) -> None:
    (vm,) = await whole.boot(1)
    await whole.invite(vm, "abcdef.0123456789abcdef")
    await whole.until_ready(vm)
    before = whole.nodes()
    whole.cluster.store.delete("secrets", "kube-system", "bootstrap-token-abcdef")
    whole.lab.world.host_error(vm.name)
    await whole.lab.until(lambda: vm.status == "REPAIRING")
    await whole.lab.all_running(1)
    await whole.cluster.until(lambda: whole.nodes() == {})
    await whole.until_ready(vm)
    assert whole.nodes() == before


async def test_a_vm_that_was_made_again_waits_for_a_token_of_its_own(whole: Whole) -> None:
    (vm,) = await whole.boot(1)
    await whole.invite(vm, "abcdef.0123456789abcdef")
    await whole.until_ready(vm)
    whole.lab.world.delete(vm.name)
    await whole.lab.until(lambda: vm.gone)
    (successor,) = await whole.lab.all_running(1)
    assert (successor.name, successor.id != vm.id) == (vm.name, True)
    whole.cluster.store.delete("nodes", None, vm.name)
    await whole.invite(successor, "fedcba.0123456789abcdef")
    await whole.until_ready(successor)


async def test_the_vms_of_a_brought_template_that_joins_need_no_token(whole: Whole) -> None:
    whole.lab.world.add_template("template", {"machineType": "tpu7x-standard-4t", "scheduling": {}}, joins=True)
    whole.lab.add_group(2)
    await whole.cluster.until(lambda: len(whole.cluster.store.list("nodes")) == 2)
    assert {body["spec"]["providerID"] for body in whole.cluster.store.list("nodes")} == {
        f"gce://{vm.project}/{vm.zone}/{vm.name}" for vm in whole.lab.hosts
    }
