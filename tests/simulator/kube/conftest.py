"""A cluster, and what the contract tests ask for: `kubeconfig`, `api`, a `namespace` of one's own, the widgets' CRD."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
import pytest_asyncio

from tests.planes import RealPlane
from tests.simulator.kube.client import Api, connected
from tests.simulator.kube.cluster import Cluster, running
from tests.simulator.kube.widgets import CRDS, DEFINITION, NAME


@pytest.fixture(scope="session")
def shared_cluster() -> Iterator[Cluster]:
    """One cluster for all contract tests: they keep to a namespace each, as they would on a real one."""
    with running() as cluster:
        yield cluster


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.controlplane)])
def kubeconfig(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Of the embedded API, and of a real one: what holds of one holds of the other."""
    if request.param == "real":
        plane: RealPlane = request.getfixturevalue("real_plane")
        return plane.kubeconfig
    cluster: Cluster = request.getfixturevalue("shared_cluster")
    return cluster.write_kubeconfig(tmp_path)


Forget = Callable[[], Awaitable[None]]


@pytest.fixture
def forget(request: pytest.FixtureRequest) -> Forget:
    """Makes the server forget what watches and pages could be resumed from."""
    if request.node.get_closest_marker("controlplane"):
        plane: RealPlane = request.getfixturevalue("real_plane")
        return plane.forget
    cluster: Cluster = request.getfixturevalue("shared_cluster")

    def compact() -> None:
        for resource in cluster.store.registry.storage():
            cluster.store.bucket(resource.id).forget(cluster.store.revision)

    async def forget() -> None:
        cluster.call(compact)

    return forget


@pytest_asyncio.fixture
async def api(kubeconfig: Path) -> AsyncIterator[Api]:
    async with connected(kubeconfig) as client:
        await client.create(CRDS, DEFINITION)
        await _until_served(client)
        yield client


async def _until_served(client: Api) -> None:
    """A real server serves a new definition a moment after it was created."""
    async with asyncio.timeout(10):
        async for event in client.watch(CRDS, fieldSelector=f"metadata.name={NAME}"):
            conditions = event["object"].get("status", {}).get("conditions") or []
            if any(item["type"] == "Established" and item["status"] == "True" for item in conditions):
                break
        for _ in range(100):
            if (await client.get("/apis/contract.example.com/v1/widgets")).code == 200:
                return
            await asyncio.sleep(0.05)


@pytest_asyncio.fixture
async def namespace(api: Api) -> AsyncIterator[str]:
    name = f"contract-{uuid4().hex[:8]}"
    assert (await api.create("/api/v1/namespaces", {"metadata": {"name": name}})).code == 201
    yield name
    await api.delete(f"/api/v1/namespaces/{name}")
