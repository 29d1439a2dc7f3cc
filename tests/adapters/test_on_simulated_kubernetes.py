"""The Kubernetes adapters against an API that behaves: preconditions, finalizers, signatures, watches, kopf."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from controller.adapters.clock import RandomJitter, SystemClock
from controller.adapters.kopf_app import CustomResourceWatch
from controller.adapters.kube import KubeCluster, ca_hashes_of
from controller.adapters.kube_client import KubeClient
from controller.adapters.lease import KubeLease
from controller.adapters.nodes import NodeWatch
from controller.core.failures import Conflict, Gone, Rejected
from controller.core.model import Key, Kind
from controller.core.observed import NodeView, Taint, TokenView
from controller.runtime.leadership import Leadership
from tests.adapters.simulated_cluster import GROUPS, SimulatedCluster, a_group, a_node, simulated_cluster

KEY = Key(Kind.GROUP, "default", "slice-a")
Event = tuple[Kind, str | None, str]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[SimulatedCluster]:
    async with simulated_cluster(tmp_path) as running:
        yield running


@pytest.fixture
async def client(world: SimulatedCluster) -> AsyncIterator[KubeClient]:
    connected = await KubeClient.connect(world.kubeconfig)
    yield connected
    await connected.close()


@pytest.fixture
async def cluster(client: KubeClient) -> AsyncIterator[KubeCluster]:
    opened = KubeCluster(client, SystemClock(), backoff=(0.01,))
    await opened.open()
    yield opened
    await opened.close()


async def test_a_custom_resource_lives_from_its_creation_to_its_last_finalizer(cluster: KubeCluster) -> None:
    made = await cluster.create_custom_resource(Kind.GROUP, "default", a_group(KEY))
    uid = made["metadata"]["uid"]
    with pytest.raises(Conflict):
        await cluster.create_custom_resource(Kind.GROUP, "default", a_group(KEY))
    held = await cluster.set_finalizers(KEY, made["metadata"]["resourceVersion"], ["tpu.google.com/teardown"])
    assert held is not None
    with pytest.raises(Conflict):
        await cluster.set_finalizers(KEY, made["metadata"]["resourceVersion"], [])
    with pytest.raises(Conflict):
        await cluster.patch_status(KEY, "another-uid", {"nodesReady": "0/1"})
    patched = await cluster.patch_status(KEY, uid, {"nodesReady": "0/1"})
    assert patched["status"]["nodesReady"] == "0/1"
    with pytest.raises(Conflict):
        await cluster.delete_custom_resource(KEY, "another-uid")
    await cluster.delete_custom_resource(KEY, uid)
    [leaving] = await cluster.list_custom_resources(Kind.GROUP)
    assert leaving["metadata"]["deletionTimestamp"]
    assert await cluster.set_finalizers(KEY, leaving["metadata"]["resourceVersion"], []) is None
    with pytest.raises(Gone):
        await cluster.patch_status(KEY, uid, {})
    await cluster.delete_custom_resource(KEY, uid)
    assert await cluster.list_custom_resources(Kind.GROUP) == []


async def test_a_custom_resource_that_its_crd_refuses_is_rejected_with_the_reason(cluster: KubeCluster) -> None:
    wrong = a_group(KEY)
    wrong["spec"]["nodeCount"] = -1
    with pytest.raises(Rejected, match="nodeCount"):
        await cluster.create_custom_resource(Kind.GROUP, "default", wrong)


async def test_a_token_is_signed_listed_and_revoked(cluster: KubeCluster, world: SimulatedCluster) -> None:
    now = SystemClock().now().replace(microsecond=0)
    token = TokenView("abcdef", "default", "slice-a", "vm-0", "11", now + timedelta(hours=1), now)
    waiting = asyncio.create_task(cluster.await_signature("abcdef", 30.0))
    await cluster.create_token_secret(token, SecretStr("0123456789abcdef"))
    assert await waiting is True
    [listed] = await cluster.list_token_secrets()
    assert (listed.id, listed.group, listed.instance, listed.instance_id) == ("abcdef", "slice-a", "vm-0", "11")
    assert listed.expires == token.expires
    with pytest.raises(Conflict):
        await cluster.create_token_secret(token, SecretStr("0123456789abcdef"))
    await cluster.delete_token_secret("abcdef")
    await cluster.delete_token_secret("abcdef")
    assert await cluster.list_token_secrets() == ()
    assert world.store.find("secrets", "kube-system", "bootstrap-token-abcdef") is None


async def test_the_hash_of_the_ca_is_that_of_the_cluster(cluster: KubeCluster, world: SimulatedCluster) -> None:
    assert await cluster.ca_hashes() == ca_hashes_of(world.authority.certificate)


async def test_a_node_is_changed_only_as_the_one_that_was_seen(cluster: KubeCluster, world: SimulatedCluster) -> None:
    node = world.store.create("nodes", a_node("vm-0"))
    uid, version = node["metadata"]["uid"], node["metadata"]["resourceVersion"]
    with pytest.raises(Conflict):
        await cluster.label_node("vm-0", "another-uid", {"cloud.google.com/x": "y"})
    await cluster.label_node("vm-0", uid, {"cloud.google.com/x": "y"})
    with pytest.raises(Conflict):
        await cluster.taint_node("vm-0", uid, version, [])
    fresh = world.store.get("nodes", None, "vm-0")["metadata"]["resourceVersion"]
    await cluster.taint_node("vm-0", uid, fresh, [Taint("google.com/tpu", "present", "NoSchedule")])
    await cluster.cordon_node("vm-0", uid, "default/slice-a")
    cordoned = world.store.get("nodes", None, "vm-0")
    await cluster.cordon_node("vm-0", uid, None)
    freed = world.store.get("nodes", None, "vm-0")
    assert cordoned["spec"]["unschedulable"] is True
    assert cordoned["metadata"]["annotations"]["tpu.google.com/cordoned-by"] == "default/slice-a"
    assert "unschedulable" not in freed["spec"]
    assert {"key": "google.com/tpu", "value": "present", "effect": "NoSchedule"} in freed["spec"]["taints"]
    with pytest.raises(Conflict):
        await cluster.delete_node("vm-0", "another-uid", "")
    await cluster.delete_node("vm-0", uid, "")
    await cluster.delete_node("vm-0", uid, "")


async def test_the_same_event_twice_is_one(cluster: KubeCluster, world: SimulatedCluster) -> None:
    at = SystemClock().now()
    for _ in range(2):
        await cluster.post_event(KEY, "u", warning=True, reason="Stockout", message="none left", at=at)
    assert world.called("create events") == 2
    assert len(world.store.list("events", "default")) == 1


async def test_nodes_are_followed_through_their_life(client: KubeClient, world: SimulatedCluster) -> None:
    world.store.create("nodes", a_node("vm-0"))
    lines: list[str] = []
    moved = asyncio.Event()

    def on_change(old: NodeView | None, new: NodeView | None) -> None:
        lines.append(f"{old.name if old else '-'} {new.name if new else '-'}")
        moved.set()

    async def until(*expected: str) -> None:
        async with asyncio.timeout(10):
            while lines != list(expected):
                moved.clear()
                await moved.wait()

    watch = NodeWatch(client, on_change, lambda: None, backoff=(0.01,))
    task = asyncio.create_task(watch.run())
    await until("- vm-0")
    world.store.create("nodes", a_node("vm-1"))
    await until("- vm-0", "- vm-1")
    world.store.delete("nodes", None, "vm-0")
    await until("- vm-0", "- vm-1", "vm-0 -")
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    assert list(watch.nodes) == ["vm-1"]


async def test_one_of_two_replicas_leads_and_hands_over(client: KubeClient, world: SimulatedCluster) -> None:
    world.store.create("namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "tpu-node-group"}})
    clock, jitter = SystemClock(), RandomJitter(1)
    first = Leadership(KubeLease(client), clock, jitter, "pod-a")
    second = Leadership(KubeLease(client), clock, jitter, "pod-b")
    await first.acquire()
    first.check()
    await first.release()
    await second.acquire()
    second.check()
    lease = world.store.get("leases.coordination.k8s.io", "tpu-node-group", "tpu-node-group-controller")
    assert (lease["spec"]["holderIdentity"], lease["spec"]["leaseTransitions"]) == ("pod-b", 1)
    await second.release()


class Watching:
    """A `CustomResourceWatch` and what it told."""

    def __init__(self, world: SimulatedCluster) -> None:
        self.events: list[Event] = []
        self.states: list[tuple[bool, str]] = []
        self.restarts = 0
        self._told = asyncio.Event()
        self.watch = CustomResourceWatch(
            self._event, self._state, self._restart, kubeconfig=world.kubeconfig, backoff=(0.05,)
        )

    def _event(self, kind: Kind, change: str | None, obj: dict[str, Any]) -> None:
        self.events.append((kind, change, obj["metadata"]["name"]))
        self._told.set()

    def _state(self, watching: bool, problem: str) -> None:  # noqa: FBT001 - the callback's contract
        self.states.append((watching, problem))
        self._told.set()

    def _restart(self) -> None:
        self.restarts += 1
        self._told.set()

    async def until(self, *expected: Event) -> None:
        """Until all of these were told."""
        async with asyncio.timeout(30):
            while not set(expected) <= set(self.events):
                self._told.clear()
                await self._told.wait()

    async def until_ready(self) -> None:
        async with asyncio.timeout(30):
            while not self.states:
                self._told.clear()
                await self._told.wait()

    async def until_restarted(self) -> None:
        async with asyncio.timeout(30):
            while self.restarts == 0:
                self._told.clear()
                await self._told.wait()


@pytest.fixture
async def watching(world: SimulatedCluster) -> AsyncIterator[Watching]:
    started = Watching(world)
    yield started
    await started.watch.stop()


async def test_kopf_tells_what_is_there_and_what_happens_and_writes_nothing(
    world: SimulatedCluster, watching: Watching
) -> None:
    world.store.create(GROUPS, a_group(KEY))
    watching.watch.start()
    await watching.until((Kind.GROUP, None, "slice-a"))
    other = Key(Kind.GROUP, "default", "slice-b")
    world.store.create(GROUPS, a_group(other))
    await watching.until((Kind.GROUP, "ADDED", "slice-b"))
    world.store.delete(GROUPS, "default", "slice-b")
    await watching.until((Kind.GROUP, "DELETED", "slice-b"))
    await watching.watch.stop()
    assert watching.states == [(True, "")]
    assert watching.restarts == 0
    writes = [row for row in world.calls.rows() if row["caller"] == "operator" and row["effect"] == "changed"]
    assert writes == []


async def test_kopf_is_started_again_when_it_ends(world: SimulatedCluster, watching: Watching) -> None:
    planned = world.faults.plan({"method": "list tpunodegroups", "nth": 1, "effect": "error-before", "code": 404})
    world.store.create(GROUPS, a_group(KEY))
    watching.watch.start()
    await watching.until_restarted()
    await watching.until((Kind.GROUP, None, "slice-a"))
    assert [state for state, _ in watching.states] == [True, False, True]
    assert "a planned fault" in watching.states[1][1]
    world.faults.delete(planned["id"])


async def test_kopf_stops_within_its_time_also_while_the_api_refuses_it(
    world: SimulatedCluster, watching: Watching
) -> None:
    world.faults.plan({"method": "list tpunodegroups", "effect": "error-before", "code": 503, "nth": "every"})
    watching.watch.start()
    await watching.until_ready()
    async with asyncio.timeout(8):
        await watching.watch.stop()
