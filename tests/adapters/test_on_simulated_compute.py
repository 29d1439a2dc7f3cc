"""The port `Cloud` against a world that behaves: a slice's life, and what Compute Engine refuses on the way."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import uuid4

import pytest
from aiohttp import web
from pydantic import SecretStr

from controller.adapters.clock import RandomJitter, SystemClock
from controller.adapters.compute import ComputeCloud
from controller.core.failures import Conflict, Failure, Gone, Rejected, Retry
from controller.core.gce_errors import operation_failure
from controller.core.model import Kind
from controller.core.observed import Instance, OperationView, ResourceRef
from simulator.calls import CallCounts
from simulator.compute.rest import compute_app
from simulator.faults import Faults
from simulator.seams import Json
from simulator.timing import Timings
from simulator.world import World

T = TypeVar("T")
IMAGE = "projects/i/global/images/x"
PROJECT, ZONE = "my-gcp-project", "us-central1-c"
POLICY = ResourceRef(Kind.POLICY, PROJECT, "us-central1", "slice-policy")
TEMPLATE = ResourceRef(Kind.TEMPLATE, PROJECT, "global", "slice-template")
MIG = ResourceRef(Kind.MIG, PROJECT, ZONE, "slice-mig")
BODIES: dict[Kind, Json] = {
    Kind.POLICY: {
        "name": POLICY.name,
        "description": "ours",
        "workloadPolicy": {"type": "HIGH_THROUGHPUT", "acceleratorTopology": "2x2x2"},
    },
    Kind.TEMPLATE: {
        "name": TEMPLATE.name,
        "description": "ours",
        "properties": {
            "machineType": "tpu7x-standard-4t",
            "disks": [{"boot": True, "autoDelete": True, "initializeParams": {"sourceImage": IMAGE}}],
            "scheduling": {"provisioningModel": "STANDARD", "onHostMaintenance": "TERMINATE"},
            "metadata": {"items": [{"key": "kube-labels", "value": "a=b"}]},
        },
    },
    Kind.MIG: {
        "name": MIG.name,
        "description": "ours",
        "baseInstanceName": MIG.name,
        "instanceTemplate": TEMPLATE.path,
        "targetSize": 2,
        "targetSizePolicy": {"mode": "BULK"},
        "instanceLifecyclePolicy": {"defaultActionOnFailure": "DO_NOTHING"},
        "resourcePolicies": {"workloadPolicy": POLICY.path},
    },
}


class NoLog:
    """Entries are not what these tests look at."""

    def write(self, entry: Json) -> None:
        del entry


@dataclass
class Simulated:
    """The world, its wire, and the adapter under test."""

    cloud: ComputeCloud
    calls: CallCounts
    faults: Faults

    def effective(self, method: str) -> int:
        """How many calls of a method changed something."""
        rows = self.calls.rows()
        return sum(row["count"] for row in rows if row["method"] == method and row["effect"] == "changed")

    async def insert(self, ref: ResourceRef, **changes: Any) -> OperationView:
        return await self.done(ref, await self.cloud.insert(ref, {**BODIES[ref.kind], **changes}, str(uuid4())))

    async def delete(self, ref: ResourceRef) -> OperationView:
        return await self.done(ref, await self.cloud.delete(ref, str(uuid4())))

    async def done(self, ref: ResourceRef, accepted: OperationView) -> OperationView:
        """The operation, finished."""
        found = await until(lambda: self.cloud.get_operation(ref, accepted.name), lambda o: o is None or o.done)
        assert found is not None
        return found


async def until(read: Callable[[], Awaitable[T]], holds: Callable[[T], bool]) -> T:
    """Read again until it holds (the world's time passes by itself, fast)."""
    async with asyncio.timeout(30):
        while not holds(value := await read()):  # noqa: ASYNC110 - the world is behind HTTP, which has no events
            await asyncio.sleep(0.01)
    return value


def booted(vms: tuple[Instance, ...]) -> bool:
    """Both hosts run and bear the last attribute that the platform writes."""
    late = {"tpu-env", "worker-network-endpoints"}
    return len(vms) == 2 and all(vm.status == "RUNNING" and vm.metadata.keys() >= late for vm in vms)


@pytest.fixture
async def simulated() -> AsyncIterator[Simulated]:
    clock, calls, faults = SystemClock(), CallCounts(), Faults(lambda _name: False)
    world = World(clock.now, Timings(scale=0.02), NoLog(), seed=7)
    runner = web.AppRunner(compute_app(world, calls, faults), access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    endpoint = f"http://127.0.0.1:{runner.addresses[0][1]}"
    cloud = ComputeCloud(clock, RandomJitter(7), endpoint=endpoint, threads=2, timeout=10.0)
    await cloud.open()
    yield Simulated(cloud, calls, faults)
    await cloud.close()
    await runner.cleanup()
    await world.close()
    assert world.failures == []


async def test_a_slice_lives_from_its_policy_to_its_last_404(simulated: Simulated) -> None:
    cloud = simulated.cloud
    for ref in (POLICY, TEMPLATE, MIG):
        assert await cloud.get(ref) is None
        finished = await simulated.insert(ref)
        assert (finished.operation_type, finished.error) == ("insert", None)
        found = await cloud.get(ref)
        assert found is not None
        assert (found.description, found.id) == ("ours", finished.target_id)
    slice_ = await until(lambda: cloud.get(MIG), lambda v: v is not None and v.mig is not None and v.mig.running == 2)
    assert slice_ is not None
    assert slice_.mig is not None
    assert slice_.mig.target_size == 2
    rows = await cloud.list_managed_instances(MIG)
    vms = await cloud.list_instances(PROJECT, ZONE, MIG.name)
    assert await cloud.list_instances(PROJECT, ZONE, "another-mig-", f"{MIG.name}-") == vms
    assert sorted((row.name, row.id) for row in rows) == sorted((vm.name, vm.id) for vm in vms)
    assert {vm.metadata["kube-labels"] for vm in vms} == {"a=b"}
    for ref in (MIG, TEMPLATE, POLICY):
        assert (await simulated.delete(ref)).error is None
        assert await cloud.get(ref) is None
        with pytest.raises(Gone):
            await cloud.delete(ref, str(uuid4()))
    assert await cloud.list_instances(PROJECT, ZONE, MIG.name) == ()


async def test_the_same_request_twice_is_one_insert(simulated: Simulated) -> None:
    request = str(uuid4())
    first = await simulated.cloud.insert(POLICY, BODIES[Kind.POLICY], request)
    second = await simulated.cloud.insert(POLICY, BODIES[Kind.POLICY], request)
    assert first.name == second.name
    assert simulated.effective("resourcePolicies.insert") == 1


async def test_an_insert_of_what_exists_is_a_conflict(simulated: Simulated) -> None:
    await simulated.insert(POLICY)
    with pytest.raises(Conflict):
        await simulated.insert(POLICY)


async def test_an_insert_that_refers_to_what_is_not_there_is_rejected(simulated: Simulated) -> None:
    failure: Failure | None = None
    try:
        finished = await simulated.insert(MIG)
        assert finished.error is not None
        failure = operation_failure(finished.error, finished.operation_type)
    except Rejected as rejected:
        failure = rejected
    assert isinstance(failure, Rejected)


async def test_a_policy_in_use_is_deleted_later(simulated: Simulated) -> None:
    for ref in (POLICY, TEMPLATE, MIG):
        await simulated.insert(ref)
    failure: Failure | None = None
    try:
        finished = await simulated.delete(POLICY)
        assert finished.error is not None
        failure = operation_failure(finished.error, finished.operation_type)
    except Retry as retry:
        failure = retry
    assert isinstance(failure, Retry)


async def test_a_token_is_injected_once_and_a_stale_view_is_a_conflict(simulated: Simulated) -> None:
    for ref in (POLICY, TEMPLATE, MIG):
        await simulated.insert(ref)
    cloud = simulated.cloud
    # The platform writes attributes of its own while a VM boots, and each write makes a new fingerprint.
    await until(lambda: cloud.get(MIG), lambda v: v is not None and v.mig is not None and v.mig.is_stable)
    vms = await until(lambda: cloud.list_instances(PROJECT, ZONE, MIG.name), booted)
    token = SecretStr("abcdef.0123456789abcdef")
    accepted = await cloud.set_metadata(vms[0], {"kubeadm-join-token": token})
    assert accepted is not None
    assert accepted.target_id == vms[0].id
    finished = await simulated.done(MIG, accepted)
    assert finished.error is None
    fresh = await cloud.get_instance(PROJECT, ZONE, vms[0].name)
    assert fresh is not None
    assert fresh.metadata.token_id == "abcdef"
    assert await cloud.set_metadata(fresh, {"kubeadm-join-token": token}) is None
    failure: Failure | None = None
    try:
        late = await cloud.set_metadata(vms[0], {"kubeadm-ca-hash": "sha256:1"})
        assert late is not None
        finished = await simulated.done(MIG, late)
        assert finished.error is not None
        failure = operation_failure(finished.error, finished.operation_type)
    except Conflict as conflict:
        failure = conflict
    assert isinstance(failure, Conflict)


async def test_a_lost_answer_is_a_retry_with_an_unknown_outcome_and_the_same_request_finds_it(
    simulated: Simulated,
) -> None:
    simulated.faults.plan({"method": "resourcePolicies.insert", "nth": 1, "effect": "error-after", "code": 503})
    request = str(uuid4())
    with pytest.raises(Retry) as lost:
        await simulated.cloud.insert(POLICY, BODIES[Kind.POLICY], request)
    assert lost.value.unknown_outcome
    await simulated.done(POLICY, await simulated.cloud.insert(POLICY, BODIES[Kind.POLICY], request))
    assert simulated.effective("resourcePolicies.insert") == 1
