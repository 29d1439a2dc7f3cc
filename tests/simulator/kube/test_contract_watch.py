"""Watches on any API server: resumed, selected, reduced, ended, and marked."""

from contextlib import aclosing
from typing import Any

from tests.simulator.kube.client import Api
from tests.simulator.kube.conftest import Forget
from tests.simulator.kube.widgets import widget, widgets

Json = dict[str, Any]


async def told(api: Api, path: str, count: int, **query: Any) -> list[Json]:
    """The next events of a watch."""
    found: list[Json] = []
    async with aclosing(api.watch(path, **query)) as events:
        async for event in events:
            found.append(event)
            if len(found) == count:
                break
    return found


def brief(events: list[Json]) -> list[tuple[str, str]]:
    return [(item["type"], item["object"]["metadata"].get("name", "")) for item in events]


async def test_a_watch_begins_with_what_is_there(api: Api, namespace: str) -> None:
    await api.create(widgets(namespace), widget("a"))
    await api.create(widgets(namespace), widget("b"))
    assert sorted(brief(await told(api, widgets(namespace), 2))) == [("ADDED", "a"), ("ADDED", "b")]


async def test_a_watch_resumes_after_a_version(api: Api, namespace: str) -> None:
    await api.create(widgets(namespace), widget("a"))
    version = (await api.get(widgets(namespace))).body["metadata"]["resourceVersion"]
    await api.create(widgets(namespace), widget("b", spec={}))
    await api.patch(widgets(namespace, "b"), {"spec": {"size": 2}})
    await api.delete(widgets(namespace, "a"))
    events = await told(api, widgets(namespace), 3, resourceVersion=version)
    assert brief(events) == [("ADDED", "b"), ("MODIFIED", "b"), ("DELETED", "a")]
    versions = [int(item["object"]["metadata"]["resourceVersion"]) for item in events]
    assert versions == sorted(versions)
    assert versions[0] > int(version)
    assert events[1]["object"] == (await api.get(widgets(namespace, "b"))).body


async def test_a_selection_is_entered_and_left(api: Api, namespace: str) -> None:
    version = (await api.get(widgets(namespace))).body["metadata"]["resourceVersion"]
    path = widgets(namespace, "a")
    await api.create(widgets(namespace), widget("a"))
    for label in ("yes", "yes", "no"):
        await api.patch(path, {"metadata": {"labels": {"chosen": label}}})
        await api.patch(path, {"spec": {"colour": label}})
    query = {"labelSelector": "chosen=yes", "resourceVersion": version}
    events = await told(api, widgets(namespace), 3, **query)
    assert brief(events) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]


async def test_one_object_can_be_watched(api: Api, namespace: str) -> None:
    await api.create(widgets(namespace), widget("a"))
    await api.create(widgets(namespace), widget("b"))
    events = await told(api, widgets(namespace), 1, fieldSelector="metadata.name=b")
    assert brief(events) == [("ADDED", "b")]


async def test_a_watch_ends_when_its_time_is_over(api: Api, namespace: str) -> None:
    await api.create(widgets(namespace), widget("a"))
    events = [event async for event in api.watch(widgets(namespace), timeoutSeconds=1)]
    assert brief(events) == [("ADDED", "a")]


async def test_the_initial_events_end_with_a_bookmark(api: Api, namespace: str) -> None:
    await api.create(widgets(namespace), widget("a"))
    query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    events = await told(api, widgets(namespace), 2, **query)
    assert [item["type"] for item in events] == ["ADDED", "BOOKMARK"]
    metadata = events[1]["object"]["metadata"]
    assert metadata["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert int(metadata["resourceVersion"]) >= int(events[0]["object"]["metadata"]["resourceVersion"])


async def test_a_watch_that_allows_bookmarks_is_told_how_far_it_is_before_it_ends(api: Api, namespace: str) -> None:
    await api.create(widgets(namespace), widget("a"))
    version = (await api.get(widgets(namespace))).body["metadata"]["resourceVersion"]
    query = {"resourceVersion": version, "allowWatchBookmarks": "true", "timeoutSeconds": 4}
    events = [event async for event in api.watch(widgets(namespace), **query)]
    # A real server may send another one before it ends the watch.
    assert {item["type"] for item in events} == {"BOOKMARK"}
    assert events[0]["object"]["kind"] == "Widget"
    assert set(events[0]["object"]) <= {"kind", "apiVersion", "metadata"} | {"spec"}
    assert int(events[0]["object"]["metadata"]["resourceVersion"]) >= int(version)


async def test_what_is_forgotten_cannot_be_resumed_from(api: Api, namespace: str, forget: Forget) -> None:
    for name in ("a", "b", "c"):
        await api.create(widgets(namespace), widget(name))
    page = await api.get(widgets(namespace), limit=1)
    old = page.body["metadata"]["resourceVersion"]
    await api.delete(widgets(namespace, "b"))
    await forget()
    [event] = await told(api, widgets(namespace), 1, resourceVersion=old)
    assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")
    assert event["object"]["message"].startswith("too old resource version: ")
    rest = await api.get(widgets(namespace), limit=1, **{"continue": page.body["metadata"]["continue"]})
    assert rest.reason == (410, "Expired")
    assert rest.message.startswith("The provided continue parameter is too old to display a consistent list result.")
    assert (await api.get(widgets(namespace))).names == ["a", "c"]


async def test_a_version_that_never_was_is_waited_for_and_then_refused(api: Api, namespace: str) -> None:
    version = (await api.get(widgets(namespace))).body["metadata"]["resourceVersion"]
    future = str(int(version) + 1_000_000)
    refused = await api.get(widgets(namespace), resourceVersion=future, resourceVersionMatch="NotOlderThan")
    assert refused.reason == (504, "Timeout")
    assert refused.message.startswith(f"Timeout: Too large resource version: {future}, current: ")


async def test_initial_events_need_their_match(api: Api, namespace: str) -> None:
    answer = await api.get(widgets(namespace), watch="true", sendInitialEvents="true")
    assert answer.reason == (422, "Invalid")


async def test_a_watch_can_tell_metadata_only(api: Api, namespace: str) -> None:
    await api.create(widgets(namespace), widget("a", spec={"size": 2}))
    accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    events = await told(api, widgets(namespace), 1, accept=accept)
    assert (events[0]["object"]["kind"], "spec" in events[0]["object"]) == ("PartialObjectMetadata", False)


async def test_a_watch_can_tell_tables(api: Api, namespace: str) -> None:
    await api.create(widgets(namespace), widget("a", spec={"size": 2}))
    events = await told(api, widgets(namespace), 1, accept="application/json;as=Table;g=meta.k8s.io;v=v1")
    table = events[0]["object"]
    assert (table["kind"], table["rows"][0]["cells"][:2]) == ("Table", ["a", 2])
    assert [item["name"] for item in table["columnDefinitions"]][:2] == ["Name", "Size"]
