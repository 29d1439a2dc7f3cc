"""What is shown to people: ages, builtin tables, and the world's picture of the cluster."""

import base64
from datetime import UTC, datetime
from typing import Any

import pytest

from simulator.kube import tables
from simulator.kube.builtins import builtin_registry, create_default_namespaces
from simulator.kube.columns import human_duration
from simulator.kube.jsonpath import compile_path
from simulator.kube.snapshot import ClusterView
from simulator.kube.store import Store

Json = dict[str, Any]
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-5, "<invalid>"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (200, "3m20s"),
        (900, "15m"),
        (3 * 3600 + 60, "3h1m"),
        (8 * 3600, "8h"),
        (49 * 3600, "2d1h"),
        (30 * 86400, "30d"),
        (3 * 365 * 86400, "3y"),
        (9 * 365 * 86400, "9y"),
    ],
)
def test_ages_are_rounded_as_kubectl_does(seconds: float, said: str) -> None:
    assert human_duration(seconds) == said


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (".a.b", 1),
        (".items[0].name", "x"),
        (".items[-1].name", "y"),
        (".items[*].name", "x"),
        ('.items[?(@.name=="y")].value', 2),
        (".items[?(@.name=='z')].value", None),
        (r".labels.example\.com/key", "v"),
        (".labels['example.com/key']", "v"),
        (".none.at.all", None),
        ("{.a.b}", 1),
    ],
)
def test_paths_of_printer_columns(path: str, value: Any) -> None:
    body = {
        "a": {"b": 1},
        "items": [{"name": "x", "value": 1}, {"name": "y", "value": 2}],
        "labels": {"example.com/key": "v"},
    }
    assert compile_path(path)(body) == value


def test_a_path_that_cannot_be_read_is_named() -> None:
    with pytest.raises(ValueError, match=r"cannot read the JSONPath '\.a\[\?\(1\)\]'"):
        compile_path(".a[?(1)]")


@pytest.mark.parametrize(
    ("resource", "body", "cells"),
    [
        (
            "nodes",
            {
                "metadata": {"name": "n", "labels": {"node-role.kubernetes.io/control-plane": ""}},
                "spec": {"unschedulable": True},
                "status": {
                    "conditions": [{"type": "Ready", "status": "True"}],
                    "nodeInfo": {"kubeletVersion": "v1.31.0"},
                },
            },
            ["n", "Ready,SchedulingDisabled", "control-plane", "2m", "v1.31.0"],
        ),
        ("nodes", {"metadata": {"name": "n"}}, ["n", "Unknown", "<none>", "2m", ""]),
        (
            "secrets",
            {"metadata": {"name": "s"}, "type": "Opaque", "data": {"a": "", "b": ""}},
            ["s", "Opaque", 2, "2m"],
        ),
        (
            "events",
            {
                "metadata": {"name": "e"},
                "type": "Warning",
                "reason": "Lost",
                "message": "it is gone\n",
                "involvedObject": {"kind": "Widget", "name": "w"},
                "lastTimestamp": "2026-01-01T11:59:50Z",
            },
            ["10s", "Warning", "Lost", "widget/w", "it is gone"],
        ),
        (
            "deployments.apps",
            {"metadata": {"name": "d"}, "spec": {"replicas": 2}, "status": {"readyReplicas": 1}},
            ["d", "1/2", 0, 0, "2m"],
        ),
        (
            "rolebindings.rbac.authorization.k8s.io",
            {"metadata": {"name": "b"}, "roleRef": {"kind": "Role", "name": "r"}},
            ["b", "Role/r", "2m"],
        ),
    ],
)
def test_builtin_kinds_have_their_columns(resource: str, body: Json, cells: list[Any]) -> None:
    kind = builtin_registry().by_id(resource)
    body = {**body, "metadata": {"creationTimestamp": "2026-01-01T11:58:00Z", **body["metadata"]}}
    row = tables.table(kind, [body], NOW, metadata={})["rows"][0]["cells"]
    assert [cell for cell, column in zip(row, kind.columns, strict=True) if column.priority == 0] == cells


@pytest.fixture
def store() -> Store:
    store = Store(builtin_registry(), lambda: NOW)
    create_default_namespaces(store)
    return store


async def test_the_same_world_looks_the_same_after_something_came_and_went(store: Store) -> None:
    view = ClusterView(store)
    store.create("configmaps", {"metadata": {"name": "a", "namespace": "kube-public"}, "data": {"x": "1"}})
    before = await view.objects()
    store.create("nodes", {"metadata": {"name": "n"}})
    store.modify("configmaps", "kube-public", "a", lambda body: {**body, "data": {"x": "2"}})
    assert sorted((await view.objects()).keys() - before.keys()) == ["nodes/n"]
    assert (await view.objects()) != before
    store.delete("nodes", None, "n")
    store.modify("configmaps", "kube-public", "a", lambda body: {**body, "data": {"x": "1"}})
    assert (await view.objects()) == before


async def test_a_beating_node_looks_the_same(store: Store) -> None:
    def ready(at: str) -> Json:
        return {"conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": at}]}

    store.create("nodes", {"metadata": {"name": "n"}, "status": ready("2026-01-01T00:00:00Z")})
    before = await ClusterView(store).objects()
    beat = {"metadata": {"name": "n"}, "status": ready("2026-01-01T00:00:10Z")}
    store.update("nodes", beat, subresource="status")
    assert (await ClusterView(store).objects()) == before


async def test_no_secret_value_is_shown(store: Store) -> None:
    data = {key: base64.b64encode(key.encode()).decode() for key in ("token-id", "token-secret")}
    metadata = {"name": "bootstrap-token-abcdef", "namespace": "kube-system"}
    store.create("secrets", {"metadata": metadata, "type": "bootstrap.kubernetes.io/token", "data": data})
    store.create("secrets", {"metadata": {"name": "x", "namespace": "default"}, "stringData": {"token-id": "a"}})
    shown = await ClusterView(store).objects()
    assert shown["secrets/kube-system/bootstrap-token-abcdef"]["data"] == {
        "token-id": data["token-id"],
        "token-secret": "<redacted>",
    }
    assert shown["secrets/default/x"]["data"] == {"token-id": "<redacted>"}


async def test_events_and_leases_are_history(store: Store) -> None:
    subject = {"kind": "Node", "name": "n"}
    event = store.create("events", {"metadata": {"name": "e", "namespace": "default"}, "involvedObject": subject})
    lease = store.create("leases.coordination.k8s.io", {"metadata": {"name": "n", "namespace": "kube-node-lease"}})
    view = ClusterView(store)
    assert (await view.history()) == {"events": [event], "leases": [lease]}
    assert not [key for key in (await view.objects()) if key.startswith(("events", "leases"))]
