"""What only the simulated server does: callers by token, planned faults, the count of calls, its settings."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from simulator.kube.reading import WatchSettings
from simulator.kube.server import ServerSettings
from tests.simulator.kube.client import JSON_PATCH, Api, connected
from tests.simulator.kube.cluster import Cluster, running
from tests.simulator.kube.widgets import CRDS, DEFINITION, NAME, widget, widgets

Json = dict[str, Any]
SECRETS = "/api/v1/namespaces/default/secrets"


@pytest.fixture
def settings() -> ServerSettings:
    return ServerSettings()


@pytest.fixture
def cluster(settings: ServerSettings) -> Iterator[Cluster]:
    with running(settings, history=20) as cluster:
        yield cluster


@pytest_asyncio.fixture
async def client(cluster: Cluster, tmp_path: Path) -> AsyncIterator[Api]:
    async with connected(cluster.write_kubeconfig(tmp_path)) as client:
        yield client


def counted(cluster: Cluster, *methods: str) -> list[tuple[str, str, str, str, int]]:
    rows = cluster.call(cluster.calls.rows)
    shown = [(row["caller"], row["method"], row["code"], row["effect"], row["count"]) for row in rows]
    return [row for row in shown if row[1] in methods]


async def test_the_caller_is_the_user_of_the_token(cluster: Cluster, client: Api, tmp_path: Path) -> None:
    cluster.users["token-of-a-vm"] = "system:node:a"
    async with connected(cluster.write_kubeconfig(tmp_path, "token-of-a-vm")) as vm:
        await vm.get("/api/v1/nodes")
    async with connected(cluster.write_kubeconfig(tmp_path, "unknown")) as stranger:
        refused = await stranger.get("/api/v1/nodes")
    await client.get("/api/v1/nodes")
    assert refused.reason == (401, "Unauthorized")
    assert counted(cluster, "list nodes") == [
        ("admin", "list nodes", "200", "none", 1),
        ("system:node:a", "list nodes", "200", "none", 1),
    ]


async def test_calls_are_counted_with_their_effect(cluster: Cluster, client: Api) -> None:
    await client.create(CRDS, DEFINITION)
    await client.create(widgets("default"), widget(spec={}))
    path = widgets("default", "one")
    for size in (2, 2):
        await client.patch(path, {"spec": {"size": size}})
    await client.patch(f"{path}/status", {"status": {"phase": "Busy"}})
    await client.patch(path, [{"op": "test", "path": "/spec/size", "value": 9}], JSON_PATCH)
    await client.delete(path)
    await client.delete(path)
    await client.create(widgets("default"), widget("two"), dryRun="All")
    methods = ("create widgets", "patch widgets", "patch widgets/status", "delete widgets")
    assert counted(cluster, *methods) == [
        ("admin", "create widgets", "201", "changed", 1),
        ("admin", "create widgets", "201", "none", 1),
        ("admin", "delete widgets", "200", "changed", 1),
        ("admin", "delete widgets", "404", "none", 1),
        ("admin", "patch widgets", "200", "changed", 1),
        ("admin", "patch widgets", "200", "none", 1),
        ("admin", "patch widgets", "422", "none", 1),
        ("admin", "patch widgets/status", "200", "changed", 1),
    ]


async def test_an_error_before_leaves_no_effect_and_an_error_after_does(cluster: Cluster, client: Api) -> None:
    def plan() -> None:
        cluster.faults.plan({"method": "create secrets", "nth": 1, "effect": "error-before", "code": 503})
        cluster.faults.plan({"method": "create secrets", "nth": 2, "effect": "error-after", "code": 500})

    cluster.call(plan)
    answers = [await client.create(SECRETS, {"metadata": {"name": name}}) for name in ("a", "b", "c")]
    assert [answer.code for answer in answers] == [503, 500, 201]
    assert answers[0].body["reason"] == "ServiceUnavailable"
    assert (await client.get(SECRETS)).names == ["b", "c"]
    assert counted(cluster, "create secrets") == [
        ("admin", "create secrets", "201", "changed", 1),
        ("admin", "create secrets", "500", "changed", 1),
        ("admin", "create secrets", "503", "none", 1),
    ]


async def test_a_held_call_took_effect_and_is_answered_on_release(cluster: Cluster, client: Api) -> None:
    fault = cluster.call(lambda: cluster.faults.plan({"method": "create secrets", "effect": "hold-after"}))
    call = asyncio.create_task(client.create(SECRETS, {"metadata": {"name": "a"}}))
    async with aclosing(client.watch(SECRETS)) as events:
        async for event in events:
            assert event["object"]["metadata"]["name"] == "a"
            break
    assert not call.done()
    cluster.call(lambda: cluster.faults.delete(fault["id"]))
    assert (await call).code == 201


async def test_a_late_call_is_late(cluster: Cluster, client: Api) -> None:
    cluster.call(lambda: cluster.faults.plan({"method": "get secrets", "effect": "latency", "ms": 200}))
    begun = asyncio.get_running_loop().time()
    assert (await client.get(f"{SECRETS}/none")).code == 404
    assert asyncio.get_running_loop().time() - begun >= 0.2


async def test_a_watch_can_be_broken_after_the_first_that_it_tells(cluster: Cluster, client: Api) -> None:
    cluster.call(lambda: cluster.faults.plan({"method": "watch secrets", "effect": "error-after", "code": 410}))
    creation = asyncio.create_task(client.create(SECRETS, {"metadata": {"name": "a"}}))
    async with aclosing(client.watch(SECRETS)) as events:
        told = [(event["type"], event["object"].get("code")) async for event in events]
    assert told == [("ADDED", None), ("ERROR", 410)]
    assert (await creation).code == 201


async def test_a_watch_can_be_refused_or_late(cluster: Cluster, client: Api) -> None:
    cluster.call(lambda: cluster.faults.plan({"method": "watch secrets", "effect": "error-before", "code": 410}))
    cluster.call(lambda: cluster.faults.plan({"method": "watch secrets", "nth": 2, "effect": "latency", "ms": 200}))
    refused = await client.get(SECRETS, watch="true")
    assert refused.reason == (410, "Expired")
    begun = asyncio.get_running_loop().time()
    assert [event async for event in client.watch(SECRETS, timeoutSeconds=1)] == []
    assert asyncio.get_running_loop().time() - begun >= 1.2


async def _make_old(client: Api) -> str:
    """A version that has left the history."""
    version = str((await client.get(SECRETS)).body["metadata"]["resourceVersion"])
    for number in range(30):
        await client.create(SECRETS, {"metadata": {"name": f"secret-{number}"}})
    return version


async def test_a_resume_from_too_long_ago_is_an_error_event(client: Api) -> None:
    version = await _make_old(client)
    events = [event async for event in client.watch(SECRETS, resourceVersion=version)]
    assert [(item["type"], item["object"]["code"], item["object"]["reason"]) for item in events] == [
        ("ERROR", 410, "Expired")
    ]


@pytest.mark.parametrize("settings", [ServerSettings(watches=WatchSettings(gone_over_http=True))])
async def test_a_resume_from_too_long_ago_can_be_an_http_410(client: Api) -> None:
    version = await _make_old(client)
    answer = await client.get(SECRETS, watch="true", resourceVersion=version)
    assert answer.reason == (410, "Expired")


async def test_an_old_page_token_is_a_410(client: Api) -> None:
    for name in ("a", "b"):
        await client.create(SECRETS, {"metadata": {"name": name}})
    token = (await client.get(SECRETS, limit=1)).body["metadata"]["continue"]
    await _make_old(client)
    assert (await client.get(SECRETS, limit=1, **{"continue": token})).reason == (410, "Expired")


async def test_a_read_from_the_future_times_out(client: Api) -> None:
    assert (await client.get(SECRETS, resourceVersion=10**9)).reason == (504, "Timeout")


@pytest.mark.parametrize("settings", [ServerSettings(watches=WatchSettings(bookmark_seconds=0.05))])
async def test_bookmarks_come_only_to_those_who_allow_them(client: Api) -> None:
    events = [event async for event in client.watch(SECRETS, timeoutSeconds=1, allowWatchBookmarks="true")]
    assert {event["type"] for event in events} == {"BOOKMARK"}
    assert events[0]["object"]["metadata"].keys() >= {"resourceVersion"}
    assert [event async for event in client.watch(SECRETS, timeoutSeconds=1)] == []


@pytest.mark.parametrize("settings", [ServerSettings(version="1.36", anonymous="system:anonymous")])
async def test_version_and_anonymous_are_settings(cluster: Cluster, tmp_path: Path) -> None:
    async with connected(cluster.write_kubeconfig(tmp_path, token="")) as nobody:
        version = await nobody.get("/version")
        await nobody.get("/api/v1/nodes")
    assert counted(cluster, "list nodes") == [("system:anonymous", "list nodes", "200", "none", 1)]
    assert (version.body["major"], version.body["minor"], version.body["gitVersion"]) == ("1", "36", "v1.36.0")


async def test_bodies_that_cannot_be_read_are_refused(client: Api) -> None:
    plain = await client.call("POST", SECRETS, "x", kind="text/plain")
    assert plain.reason == (415, "UnsupportedMediaType")
    listed = await client.call("POST", SECRETS, [1])
    assert listed.reason == (400, "BadRequest")
    assert (await client.patch(f"{SECRETS}/none", [{"op": "jump"}], JSON_PATCH)).code in {400, 404}
    assert (await client.call("PUT", SECRETS, {})).reason == (405, "MethodNotAllowed")
    assert (await client.get("/apis/contract.example.com/v1/widgets")).reason == (404, "")


async def test_the_default_namespaces_are_there_and_three_of_them_stay(client: Api) -> None:
    names = (await client.get("/api/v1/namespaces")).names
    assert names == ["default", "kube-node-lease", "kube-public", "kube-system"]
    refused = await client.delete("/api/v1/namespaces/default")
    assert refused.reason == (403, "Forbidden")


async def test_a_definition_goes_after_its_objects(client: Api) -> None:
    await client.create(CRDS, DEFINITION)
    await client.create(widgets("default"), widget(metadata={"finalizers": ["example.com/hold"]}))
    await client.create(widgets("default"), widget("two"))
    assert (await client.delete(f"{CRDS}/{NAME}")).code == 200
    held = (await client.get(f"{CRDS}/{NAME}")).body["metadata"]
    assert held["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    assert (await client.get(widgets("default"))).names == ["one"]
    await client.patch(widgets("default", "one"), {"metadata": {"finalizers": None}})
    assert (await client.get(f"{CRDS}/{NAME}")).code == 404
    assert (await client.get(widgets("default"))).code == 404
    assert (await client.create(CRDS, DEFINITION)).code == 201
    assert (await client.get(widgets("default"))).names == []


async def test_a_watch_ends_with_its_definition(client: Api) -> None:
    await client.create(CRDS, DEFINITION)
    await client.create(widgets("default"), widget())
    kinds = []
    async for event in client.watch(widgets("default")):
        kinds.append(event["type"])
        if kinds == ["ADDED"]:
            await client.delete(f"{CRDS}/{NAME}")
    assert kinds == ["ADDED", "DELETED"]


async def test_a_wrong_definition_is_refused(client: Api) -> None:
    misnamed = {**DEFINITION, "metadata": {"name": "things.contract.example.com"}}
    answer = await client.create(CRDS, misnamed)
    assert answer.reason == (422, "Invalid")
    assert 'must be spec.names.plural+"."+spec.group' in answer.message
    version = {**DEFINITION["spec"]["versions"][0], "schema": {"openAPIV3Schema": {"type": "nonsense"}}}
    broken = {**DEFINITION, "spec": {**DEFINITION["spec"], "versions": [version]}}
    assert (await client.create(CRDS, broken)).reason == (422, "Invalid")


async def test_the_api_describes_itself(client: Api) -> None:
    await client.create(CRDS, DEFINITION)
    groups = (await client.get("/apis")).body["groups"]
    assert "contract.example.com" in [item["name"] for item in groups]
    listed = (await client.get("/apis/contract.example.com/v1")).body["resources"]
    assert [item["name"] for item in listed] == ["widgets", "widgets/status"]
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    aggregated = (await client.get("/apis", accept=accept)).body
    found = [item for item in aggregated["items"] if item["metadata"]["name"] == "contract.example.com"]
    assert [item["resource"] for item in found[0]["versions"][0]["resources"]] == ["widgets"]
    paths = (await client.get("/openapi/v3")).body["paths"]
    document = (await client.get(paths["apis/contract.example.com/v1"]["serverRelativeURL"].partition("?")[0])).body
    assert "com.example.contract.v1.Widget" in document["components"]["schemas"]
