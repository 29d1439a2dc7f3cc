"""The Node store and the operator's writes on a real API server: gaps in a watch, forgotten versions, preconditions."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from secrets import token_hex

import pytest

from controller.adapters.clock import SystemClock
from controller.adapters.kube import KubeCluster
from controller.adapters.kube_client import KubeClient
from controller.adapters.nodes import NodeWatch
from controller.core.failures import Conflict
from controller.core.observed import NodeView, Taint
from simulator.controlplane.client import Client
from simulator.controlplane.kubeconfigs import connected, read
from tests.adapters.simulated_cluster import a_node
from tests.planes import RealPlane
from tests.scenarios.wire import wire_to

pytestmark = pytest.mark.controlplane

NODES = "/api/v1/nodes"


class Followed:
    """Which Nodes of this test a Node store told to have come and gone. The controllers change them, by taints."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._moved = asyncio.Event()
        self.lines: list[str] = []
        self.lists = 0

    def changed(self, old: NodeView | None, new: NodeView | None) -> None:
        node = new or old
        assert node is not None
        if node.name.startswith(self._prefix) and (old is None or new is None):
            self.lines.append(f"{'came' if old is None else 'went'} {node.name.removeprefix(self._prefix)}")
            self._moved.set()

    def synced(self) -> None:
        self.lists += 1

    async def until(self, *lines: str) -> None:
        """Until just these lines were said since the last time, in any order within a list."""
        async with asyncio.timeout(30):
            while len(self.lines) < len(lines):
                self._moved.clear()
                await self._moved.wait()
        assert sorted(self.lines) == sorted(lines)
        self.lines.clear()


@pytest.fixture
async def admin(real_plane: RealPlane) -> AsyncIterator[Client]:
    async with connected(read(real_plane.kubeconfig)) as opened:
        yield opened


@asynccontextmanager
async def client_of(kubeconfig: Path) -> AsyncIterator[KubeClient]:
    client = await KubeClient.connect(str(kubeconfig))
    try:
        yield client
    finally:
        await client.close()


@pytest.fixture
async def client(real_plane: RealPlane) -> AsyncIterator[KubeClient]:
    async with client_of(real_plane.kubeconfig) as opened:
        yield opened


@asynccontextmanager
async def following(client: KubeClient, followed: Followed) -> AsyncIterator[NodeWatch]:
    watch = NodeWatch(client, followed.changed, followed.synced, backoff=(0.05,))
    task = asyncio.create_task(watch.run())
    try:
        yield watch
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@pytest.fixture
async def prefix(admin: Client) -> AsyncIterator[str]:
    """Of the names of this test's Nodes, which are gone after it."""
    made = f"vm-{token_hex(4)}-"
    yield made
    for node in (await admin.call("GET", NODES))["items"]:
        if node["metadata"]["name"].startswith(made):
            await admin.call("DELETE", f"{NODES}/{node['metadata']['name']}")


async def test_what_happened_while_the_watch_was_cut_and_its_version_was_forgotten_is_told(
    real_plane: RealPlane, admin: Client, prefix: str, tmp_path: Path
) -> None:
    copy = tmp_path / "kubeconfig"
    followed = Followed(prefix)
    for name in ("a", "b"):
        await admin.call("POST", NODES, a_node(prefix + name))
    async with wire_to(real_plane.kubeconfig, copy) as wire:
        await wire.mend()
        async with client_of(copy) as client, following(client, followed) as watch:
            await followed.until("came a", "came b")
            await admin.call("POST", NODES, a_node(prefix + "c"))
            await followed.until("came c")
            lists = followed.lists
            await wire.cut()
            await admin.call("DELETE", f"{NODES}/{prefix}b")
            await admin.call("POST", NODES, a_node(prefix + "d"))
            await real_plane.forget()
            await wire.mend()
            await followed.until("went b", "came d")
            # The list is complete a little after the last of what it tells.
            await admin.call("DELETE", f"{NODES}/{prefix}a")
            await followed.until("went a")
            assert followed.lists > lists
    assert sorted(name for name in watch.nodes if name.startswith(prefix)) == [f"{prefix}c", f"{prefix}d"]


async def test_a_node_is_changed_and_deleted_only_as_the_one_that_was_seen(
    client: KubeClient, admin: Client, prefix: str
) -> None:
    name = f"{prefix}a"
    made = await admin.call("POST", NODES, a_node(name))
    uid, version = made["metadata"]["uid"], made["metadata"]["resourceVersion"]
    cluster = KubeCluster(client, SystemClock(), backoff=(0.05,))
    with pytest.raises(Conflict):
        await cluster.label_node(name, "another-uid", {"cloud.google.com/x": "y"})
    await cluster.label_node(name, uid, {"cloud.google.com/x": "y"})
    with pytest.raises(Conflict):
        await cluster.taint_node(name, uid, version, [])
    # The controllers taint a new Node too: whoever was overtaken reads and tries again.
    taint = Taint("google.com/tpu", "present", "NoSchedule")
    async with asyncio.timeout(30):
        while True:
            fresh = await admin.call("GET", f"{NODES}/{name}")
            taints = [Taint(item["key"], item.get("value", ""), item["effect"]) for item in fresh["spec"]["taints"]]
            try:
                await cluster.taint_node(name, uid, fresh["metadata"]["resourceVersion"], [*taints, taint])
            except Conflict:
                continue
            break
    await cluster.cordon_node(name, uid, "default/slice-a")
    cordoned = await admin.call("GET", f"{NODES}/{name}")
    assert cordoned["spec"]["unschedulable"] is True
    assert cordoned["metadata"]["annotations"]["tpu.google.com/cordoned-by"] == "default/slice-a"
    assert {"key": "google.com/tpu", "value": "present", "effect": "NoSchedule"} in cordoned["spec"]["taints"]
    with pytest.raises(Conflict):
        await cluster.delete_node(name, "another-uid", "")
    await cluster.delete_node(name, uid, "")
    await cluster.delete_node(name, uid, "")
    assert await admin.find(f"{NODES}/{name}") is None
