"""The metadata server answers as Google's does."""

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import pytest

from simulator.metadata.server import MetadataServer
from simulator.seams import PlannedFault
from tests.simulator.metadata.machines import ACCOUNT, Calls, Faults, Machines, make_machine

MACHINE = make_machine(1, kube_labels="a=b", ssh_keys="x")
BARE = make_machine(2, account=None)
FLAVOR = {"Metadata-Flavor": "Google"}


class Vm:
    """What runs in the VM and asks."""

    def __init__(
        self, session: aiohttp.ClientSession, server: MetadataServer, machines: Machines, faults: Faults
    ) -> None:
        self.session, self.server, self.machines, self.faults = session, server, machines, faults

    async def get(self, path: str, *, vm: str = MACHINE.id, **query: str) -> tuple[int, str, str]:
        """(status, body, ETag)."""
        async with self.session.get(f"{self.server.url(vm)}/{path}", params=query, headers=FLAVOR) as response:
            return response.status, await response.text(), response.headers.get("ETag", "")

    async def hang(self, **query: str) -> tuple[int, str, str]:
        return await self.get("instance/attributes/", recursive="true", alt="json", wait_for_change="true", **query)

    async def until_hanging(self) -> None:
        await self.machines.until_waiting(MACHINE.id, 1)


@pytest.fixture
async def vm() -> AsyncIterator[Vm]:
    machines, faults = Machines(MACHINE, BARE), Faults()
    server = MetadataServer(machines, Calls(), faults)
    await server.start()
    async with aiohttp.ClientSession() as session:
        yield Vm(session, server, machines, faults)
    await server.stop()


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("instance/id", MACHINE.id),
        ("instance/name", "tpu-1"),
        ("instance/zone", "projects/123456789012/zones/us-central1-a"),
        ("instance/machine-type", "projects/123456789012/machineTypes/tpu7x-standard-4t"),
        ("instance/attributes/", "kube-labels\nssh-keys\n"),
        ("instance/attributes/kube-labels", "a=b"),
        ("project/project-id", "example-project"),
        ("project/numeric-project-id", "123456789012"),
        ("instance/service-accounts/", f"default/\n{ACCOUNT.email}/\n"),
        ("instance/service-accounts/default/email", ACCOUNT.email),
        ("instance/service-accounts/default/scopes", "https://www.googleapis.com/auth/cloud-platform\n"),
    ],
)
async def test_it_tells_a_vm_about_itself(vm: Vm, path: str, body: str) -> None:
    assert (await vm.get(path))[:2] == (200, body)


async def test_a_directory_comes_as_json(vm: Vm) -> None:
    assert (await vm.get("instance/attributes/", recursive="true"))[1] == '{"kube-labels": "a=b", "ssh-keys": "x"}'


async def test_names_are_in_camel_case_in_json_and_attributes_are_left_alone(vm: Vm) -> None:
    _, body, _ = await vm.get("instance/", recursive="true")
    assert '"machineType"' in body
    assert '"serviceAccounts"' in body
    assert '"kube-labels"' in body


async def test_only_a_vm_with_an_account_gets_an_access_token(vm: Vm) -> None:
    path = "instance/service-accounts/default/token"
    assert (await vm.get(path))[0] == 200
    assert (await vm.get(path, vm=BARE.id))[0] == 404


async def test_an_absent_key_and_an_unknown_vm_are_not_found(vm: Vm) -> None:
    assert (await vm.get("instance/attributes/kubeadm-join-token"))[0] == 404
    assert (await vm.get("instance/id", vm="1"))[0] == 404


async def test_a_request_without_the_flavor_header_is_refused(vm: Vm) -> None:
    async with vm.session.get(f"{vm.server.url(MACHINE.id)}/instance/id") as response:
        assert (response.status, response.headers["Metadata-Flavor"]) == (403, "Google")


async def test_another_etag_is_answered_at_once(vm: Vm) -> None:
    _, _, etag = await vm.get("instance/attributes/", recursive="true")
    assert (await vm.hang(last_etag="NONE"))[2] == etag


async def test_a_hanging_get_ends_when_a_key_appears(vm: Vm) -> None:
    _, _, etag = await vm.get("instance/attributes/", recursive="true")
    hanging = asyncio.create_task(vm.hang(last_etag=etag))
    await vm.until_hanging()
    vm.machines.set_attributes(MACHINE.id, kubeadm_join_token="abcdef.0123456789abcdef")
    status, body, later = await hanging
    assert (status, "kubeadm-join-token" in body, later != etag) == (200, True, True)


async def test_a_change_between_two_reads_is_not_lost(vm: Vm) -> None:
    _, _, etag = await vm.hang(last_etag="NONE")
    vm.machines.set_attributes(MACHINE.id, kube_labels="a=c")
    assert '"a=c"' in (await vm.hang(last_etag=etag))[1]


async def test_a_write_of_equal_content_wakes_nobody(vm: Vm) -> None:
    _, _, etag = await vm.hang(last_etag="NONE")
    hanging = asyncio.create_task(vm.hang(last_etag=etag, timeout_sec="0.2"))
    await vm.until_hanging()
    vm.machines.set_attributes(MACHINE.id, kube_labels="a=b")
    assert (await hanging)[2] == etag


async def test_the_time_limit_brings_the_same_content_and_etag(vm: Vm) -> None:
    first = await vm.hang(last_etag="NONE")
    assert await vm.hang(last_etag=first[2], timeout_sec="0.05") == first
    assert vm.machines.waiting(MACHINE.id) == 0


async def test_a_deleted_vm_ends_the_wait(vm: Vm) -> None:
    _, _, etag = await vm.hang(last_etag="NONE")
    hanging = asyncio.create_task(vm.hang(last_etag=etag))
    await vm.until_hanging()
    vm.machines.delete(MACHINE.id)
    assert (await hanging)[0] == 404


async def test_a_client_that_goes_away_leaves_nothing_behind(vm: Vm) -> None:
    _, _, etag = await vm.hang(last_etag="NONE")
    hanging = asyncio.create_task(vm.hang(last_etag=etag))
    await vm.until_hanging()
    hanging.cancel()
    await vm.machines.until_waiting(MACHINE.id, 0)


async def test_a_planned_fault_is_answered_once(vm: Vm) -> None:
    vm.faults.planned = [PlannedFault("error-before", "503", 0, vm.server.stop)]
    assert [(await vm.get("instance/name"))[0] for _ in range(2)] == [503, 200]


async def test_a_form_that_is_not_simulated_is_refused_by_name(vm: Vm) -> None:
    assert (await vm.get("instance/", alt="xml"))[:2] == (400, "alt=xml is not simulated here\n")
