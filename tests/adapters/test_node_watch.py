"""The Node store: replace semantics, re-lists in the middle of anything, and nobody woken by a heartbeat."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from structlog.typing import EventDict

from controller.adapters.kube_client import KubeClient
from controller.adapters.nodes import NodeWatch, node_view
from controller.core.observed import NodeView, Taint
from tests.adapters.scripted_server import ScriptedServer

PATH = "/api/v1/nodes"
HEARTBEAT = "2026-12-01T10:00:00Z"
LATER = "2026-12-01T10:05:00Z"


def a_node(name: str, version: str = "1", *, ready: bool = True, heartbeat: str = HEARTBEAT, **spec: Any) -> Any:
    """A Node as a kubelet makes it, shortened."""
    condition = {"type": "Ready", "status": "True" if ready else "False", "lastHeartbeatTime": heartbeat}
    return {
        "metadata": {
            "name": name,
            "uid": f"uid-{name}",
            "resourceVersion": version,
            "creationTimestamp": "2026-12-01T09:00:00Z",
            "labels": {"kubernetes.io/hostname": name, "tpu.google.com/instance-id": "11"},
        },
        "spec": {"providerID": f"gce://p/z/{name}", **spec},
        "status": {"conditions": [{"type": "DiskPressure", "status": "False"}, condition]},
    }


def a_page(*nodes: Any, version: str = "10", token: str = "") -> Any:
    return {"metadata": {"resourceVersion": version, **({"continue": token} if token else {})}, "items": list(nodes)}


EXPIRED = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}


class Seen:
    """What the watch told: one line for each call, and a way to wait for a number of them."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._waiter = asyncio.Event()

    def changed(self, old: NodeView | None, new: NodeView | None) -> None:
        node = new or old
        assert node is not None
        self._note(f"{'came' if old is None else 'went' if new is None else 'changed'} {node.name}")

    def synced(self) -> None:
        self._note("synced")

    def beat(self, node: NodeView) -> None:
        self._note(f"beat {node.name}")

    def _note(self, line: str) -> None:
        self.lines.append(line)
        self._waiter.set()

    async def until(self, *lines: str) -> None:
        """Until just these lines were said, in this order."""
        async with asyncio.timeout(10):
            while len(self.lines) < len(lines):
                self._waiter.clear()
                await self._waiter.wait()
        assert self.lines == list(lines)


@asynccontextmanager
async def watching(client: KubeClient, *, inactivity: float = 30.0) -> AsyncIterator[tuple[NodeWatch, Seen]]:
    seen = Seen()
    watch = NodeWatch(client, seen.changed, seen.synced, on_heartbeat=seen.beat, inactivity=inactivity, backoff=(0.01,))
    task = asyncio.create_task(watch.run())
    try:
        yield watch, seen
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_all_pages_are_listed_and_then_changes_are_followed(client: KubeClient, server: ScriptedServer) -> None:
    server.answer("GET", PATH, a_page(a_node("a"), token="t"))
    server.answer("GET", PATH, a_page(a_node("b")))
    stream = server.watch(PATH)
    async with watching(client) as (watch, seen):
        await seen.until("came a", "came b", "synced")
        await stream.opened.wait()
        stream.send("ADDED", a_node("c", "11"))
        stream.send("MODIFIED", a_node("a", "12", unschedulable=True))
        stream.send("DELETED", a_node("b", "13"))
        await seen.until("came a", "came b", "synced", "came c", "changed a", "went b")
        assert sorted(watch.nodes) == ["a", "c"]
        assert watch.problem == ""
    assert stream.query["resourceVersion"] == "10"
    assert stream.query["allowWatchBookmarks"] == "true"


async def test_a_heartbeat_wakes_nobody_but_is_stored(client: KubeClient, server: ScriptedServer) -> None:
    server.answer("GET", PATH, a_page(a_node("a")))
    stream = server.watch(PATH)
    async with watching(client) as (watch, seen):
        await stream.opened.wait()
        stream.send("MODIFIED", a_node("a", "11", heartbeat=LATER))
        await seen.until("came a", "synced", "beat a")
        assert watch.nodes["a"].heartbeat == datetime(2026, 12, 1, 10, 5, tzinfo=UTC)
        assert watch.nodes["a"].resource_version == "11"


async def test_what_we_do_not_look_at_wakes_nobody(client: KubeClient, server: ScriptedServer) -> None:
    server.answer("GET", PATH, a_page(a_node("a")))
    stream = server.watch(PATH)
    async with watching(client) as (_, seen):
        await stream.opened.wait()
        other = a_node("a", "11")
        other["metadata"]["labels"]["team"] = "x"
        stream.send("MODIFIED", other)
        stream.send("ADDED", a_node("b", "12"))
        await seen.until("came a", "synced", "came b")


async def test_after_a_gap_what_the_list_does_not_hold_is_gone(client: KubeClient, server: ScriptedServer) -> None:
    server.answer("GET", PATH, a_page(a_node("a"), a_node("b"), version="10"))
    server.answer("GET", PATH, a_page(a_node("b", "15"), a_node("c", "16"), version="20"))
    first, second = server.watch(PATH), server.watch(PATH)
    async with watching(client) as (watch, seen):
        await first.opened.wait()
        first.send("ERROR", EXPIRED)
        await seen.until("came a", "came b", "synced", "came c", "went a", "synced")
        await second.opened.wait()
        assert sorted(watch.nodes) == ["b", "c"]
    assert second.query["resourceVersion"] == "20"


async def test_a_list_that_expires_between_its_pages_begins_anew(client: KubeClient, server: ScriptedServer) -> None:
    server.answer("GET", PATH, a_page(a_node("a"), token="t"))
    server.answer("GET", PATH, EXPIRED, 410)
    server.answer("GET", PATH, a_page(a_node("b")))
    async with watching(client) as (watch, seen):
        await seen.until("came a", "came b", "went a", "synced")
        assert sorted(watch.nodes) == ["b"]


async def test_a_watch_that_ends_goes_on_where_it_was(client: KubeClient, server: ScriptedServer) -> None:
    server.answer("GET", PATH, a_page(a_node("a")))
    first, second = server.watch(PATH), server.watch(PATH)
    async with watching(client) as (_, seen):
        await first.opened.wait()
        first.send("BOOKMARK", {"metadata": {"resourceVersion": "44"}})
        first.hang_up()
        await second.opened.wait()
        second.send("ADDED", a_node("b", "45"))
        await seen.until("came a", "synced", "came b")
    assert second.query["resourceVersion"] == "44"
    assert len([asked for asked in server.asked if "watch" not in asked.query]) == 1


async def test_a_silent_watch_is_opened_anew(client: KubeClient, server: ScriptedServer) -> None:
    server.answer("GET", PATH, a_page(a_node("a")))
    first, second = server.watch(PATH), server.watch(PATH)
    async with watching(client, inactivity=0.05) as (_, seen):
        await first.opened.wait()
        await second.opened.wait()
        await seen.until("came a", "synced")


async def test_events_cut_anywhere_are_put_together(client: KubeClient, server: ScriptedServer) -> None:
    server.answer("GET", PATH, a_page())
    stream = server.watch(PATH)
    async with watching(client) as (watch, seen):
        await stream.opened.wait()
        stream.send_raw(b'{"type": "BOOKMARK", "object": {"metadata": {"resourceVer')
        stream.send_raw(b'sion": "12"}}}\n\n')
        stream.send("ADDED", a_node("a", "13"))
        await seen.until("synced", "came a")
        assert list(watch.nodes) == ["a"]


@pytest.mark.parametrize("status", [401, 403, 429, 500, 503])
async def test_a_refused_list_is_tried_again_and_the_problem_is_told(
    status: int, client: KubeClient, server: ScriptedServer
) -> None:
    server.answer("GET", PATH, {"kind": "Status", "code": status, "message": "not now"}, status)
    server.answer("GET", PATH, a_page(a_node("a")))
    stream = server.watch(PATH)
    async with watching(client) as (watch, seen):
        assert watch.problem == "has not listed yet"
        await seen.until("came a", "synced")
        assert "list nodes failed: not now" in watch.problem
        await stream.opened.wait()
        stream.send("ADDED", a_node("b", "11"))
        await seen.until("came a", "synced", "came b")
        assert watch.problem == ""


async def test_a_bug_of_a_listener_ends_nothing(
    client: KubeClient, server: ScriptedServer, logged: list[EventDict]
) -> None:
    server.answer("GET", PATH, a_page(a_node("a")))
    calls: list[str] = []
    synced = asyncio.Event()

    def stumble(_old: NodeView | None, _new: NodeView | None) -> None:
        calls.append("called")
        if len(calls) == 1:
            raise ZeroDivisionError("a bug of the listener")

    watch = NodeWatch(client, stumble, synced.set, backoff=(0.01,))
    task = asyncio.create_task(watch.run())
    await synced.wait()
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    assert [(line["event"], line["resource"]) for line in logged] == [
        ("change not taken in; everything is listed again", "nodes")
    ]
    assert list(watch.nodes) == ["a"]


def test_a_projection_holds_what_is_decided_on_and_nothing_else() -> None:
    node = a_node(
        "vm-0",
        "7",
        unschedulable=True,
        taints=[{"key": "google.com/tpu", "value": "present", "effect": "NoSchedule"}, {"key": "k", "effect": "e"}],
    )
    node["metadata"]["labels"] |= {"cloud.google.com/gke-tpu-topology": "2x2x1"}
    node["metadata"]["annotations"] = {"tpu.google.com/cordoned-by": "research/slice-a"}
    node["status"]["allocatable"] = {"google.com/tpu": "4", "cpu": "224"}
    assert node_view(node) == NodeView(
        name="vm-0",
        uid="uid-vm-0",
        resource_version="7",
        provider_id="gce://p/z/vm-0",
        instance_id="11",
        created=datetime(2026, 12, 1, 9, tzinfo=UTC),
        labels={"tpu.google.com/instance-id": "11", "cloud.google.com/gke-tpu-topology": "2x2x1"},
        taints=(Taint("google.com/tpu", "present", "NoSchedule"), Taint("k", "", "e")),
        unschedulable=True,
        cordoned_by="research/slice-a",
        ready=True,
        tpu_allocatable=4,
        heartbeat=datetime(2026, 12, 1, 10, tzinfo=UTC),
    )


def test_a_bare_node_has_a_projection_too() -> None:
    metadata = {"name": "n", "uid": "u", "resourceVersion": "1", "creationTimestamp": "2026-12-01T09:00:00Z"}
    view = node_view({"metadata": metadata})
    assert (view.name, view.provider_id, view.instance_id, view.labels, view.taints) == ("n", "", "", {}, ())
    assert (view.ready, view.unschedulable, view.tpu_allocatable, view.heartbeat) == (False, False, 0, None)
