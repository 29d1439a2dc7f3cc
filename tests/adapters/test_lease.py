"""The Lease object on the wire, and the clock."""

from datetime import UTC, datetime, timedelta

import pytest

from controller.adapters.clock import RandomJitter, SystemClock
from controller.adapters.kube_client import KubeClient
from controller.adapters.lease import KubeLease
from controller.core.failures import Conflict, Gone
from controller.runtime.leadership import LeaseRecord
from tests.adapters.scripted_server import ScriptedServer

LEASES = "/apis/coordination.k8s.io/v1/namespaces/tpu-node-group/leases"
LEASE = f"{LEASES}/tpu-node-group-controller"
NOW = datetime(2026, 12, 1, 10, 0, 50, 250000, tzinfo=UTC)
RECORD = LeaseRecord("pod-a", timedelta(seconds=15), NOW, NOW, 2, "7")
SPEC = {
    "holderIdentity": "pod-a",
    "leaseDurationSeconds": 15,
    "acquireTime": "2026-12-01T10:00:50.250000Z",
    "renewTime": "2026-12-01T10:00:50.250000Z",
    "leaseTransitions": 2,
}


async def test_a_lease_is_read_as_it_was_written(client: KubeClient, server: ScriptedServer) -> None:
    server.answer("GET", LEASE, {"metadata": {"resourceVersion": "7"}, "spec": SPEC})
    assert await KubeLease(client).read() == RECORD


async def test_a_lease_that_is_not_there_is_none(client: KubeClient, server: ScriptedServer) -> None:
    server.answer("GET", LEASE, {"reason": "NotFound"}, 404)
    assert await KubeLease(client).read() is None


async def test_an_empty_lease_counts_as_released(client: KubeClient, server: ScriptedServer) -> None:
    server.answer("GET", LEASE, {"metadata": {"resourceVersion": "1"}})
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    assert await KubeLease(client).read() == LeaseRecord("", timedelta(0), epoch, epoch, 0, "1")


async def test_an_update_is_under_the_version_that_was_read(client: KubeClient, server: ScriptedServer) -> None:
    server.answer("PUT", LEASE, {"metadata": {"resourceVersion": "8"}, "spec": SPEC})
    updated = await KubeLease(client).update(RECORD)
    assert updated.version == "8"
    assert server.asked[0].body == {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "tpu-node-group-controller", "namespace": "tpu-node-group", "resourceVersion": "7"},
        "spec": SPEC,
    }


async def test_a_creation_names_no_version(client: KubeClient, server: ScriptedServer) -> None:
    server.answer("POST", LEASES, {"metadata": {"resourceVersion": "1"}, "spec": SPEC})
    await KubeLease(client).create(LeaseRecord("pod-a", timedelta(seconds=15), NOW, NOW, 2))
    assert server.asked[0].body["metadata"] == {"name": "tpu-node-group-controller", "namespace": "tpu-node-group"}


@pytest.mark.parametrize(("status", "expected"), [(409, Conflict), (404, Gone)])
async def test_an_update_of_what_changed_or_went_says_so(
    status: int, expected: type[Exception], client: KubeClient, server: ScriptedServer
) -> None:
    server.answer("PUT", LEASE, {"message": "no"}, status)
    with pytest.raises(expected, match="update leases tpu-node-group/tpu-node-group-controller failed"):
        await KubeLease(client).update(RECORD)


def test_the_clock_is_aware_and_in_utc() -> None:
    clock = SystemClock()
    assert clock.now().tzinfo is UTC
    assert clock.monotonic() <= clock.monotonic()


async def test_the_clock_sleeps() -> None:
    clock = SystemClock()
    begun = clock.monotonic()
    await clock.sleep(0.01)
    assert clock.monotonic() - begun >= 0.009


def test_jitter_stays_within_its_share_and_follows_its_seed() -> None:
    base = timedelta(seconds=10)
    drawn = [RandomJitter(7).around(base, 0.2) for _ in range(3)]
    many = RandomJitter(8)
    assert len(set(drawn)) == 1
    assert all(timedelta(seconds=8) <= many.around(base, 0.2) <= timedelta(seconds=12) for _ in range(200))
