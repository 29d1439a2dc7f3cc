"""The store as in-process controllers use it: atomic, in order, shared, never mutated."""

from datetime import UTC, datetime
from itertools import count
from typing import Any

import pytest

from simulator.kube.builtins import builtin_registry, create_default_namespaces
from simulator.kube.edit import drop, put
from simulator.kube.errors import ApiError
from simulator.kube.history import Change
from simulator.kube.store import DeleteOptions, Propagation, Store

Json = dict[str, Any]


@pytest.fixture
def store() -> Store:
    numbers = count(1)
    store = Store(
        builtin_registry(), lambda: datetime(2026, 1, 1, tzinfo=UTC), new_uid=lambda: f"uid-{next(numbers)}", history=8
    )
    create_default_namespaces(store)
    return store


def config(name: str, **metadata: Any) -> Json:
    return {"metadata": {"name": name, "namespace": "default", **metadata}}


def refusal(error: pytest.ExceptionInfo[ApiError]) -> tuple[int, str]:
    return error.value.code, error.value.message


def test_a_created_object_is_complete(store: Store) -> None:
    assert store.create("configmaps", {**config("a"), "data": {"x": "y"}}) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "a",
            "namespace": "default",
            "uid": "uid-5",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "resourceVersion": "5",
        },
        "data": {"x": "y"},
    }


def test_subscribers_hear_of_every_change_in_order_also_of_their_own(store: Store) -> None:
    heard: list[tuple[str, str, str]] = []

    def reacts(change: Change) -> None:
        if change.type == "ADDED" and change.stored.name == "a":
            store.create("secrets", config("made"))

    def listens(change: Change) -> None:
        heard.append((change.type, change.resource, change.stored.name))

    store.subscribe(reacts, "configmaps")
    end = store.subscribe(listens)
    store.create("configmaps", config("a"))
    store.delete("configmaps", "default", "a")
    end()
    store.create("configmaps", config("b"))
    assert heard == [("ADDED", "configmaps", "a"), ("ADDED", "secrets", "made"), ("DELETED", "configmaps", "a")]


def test_a_modified_object_is_a_new_one_and_the_old_is_as_it_was(store: Store) -> None:
    old = store.create("configmaps", {**config("a"), "data": {"x": "1"}})
    new = store.modify("configmaps", "default", "a", lambda body: put(body, ("data", "x"), "2"))
    assert (old["data"], new["data"], store.get("configmaps", "default", "a") is new) == ({"x": "1"}, {"x": "2"}, True)
    assert store.modify("configmaps", "default", "a", lambda body: put(body, ("data", "x"), "2")) is new


def test_lists_are_in_the_order_of_keys_and_by_label(store: Store) -> None:
    store.create("configmaps", config("b", labels={"x": "1"}))
    store.create("configmaps", config("a", labels={"x": "1", "y": "2"}))
    store.create("configmaps", {"metadata": {"name": "c", "namespace": "kube-public"}})

    def names(*where: str, **labels: str) -> list[str]:
        return [item["metadata"]["name"] for item in store.list("configmaps", *where, labels=labels)]

    assert [names(), names("default"), names(x="1"), names(x="1", y="2")] == [
        ["a", "b", "c"],
        ["a", "b"],
        ["a", "b"],
        ["a"],
    ]


def test_a_stale_version_or_uid_is_a_conflict(store: Store) -> None:
    old = store.create("configmaps", config("a"))
    store.modify("configmaps", "default", "a", lambda body: {**body, "data": {"x": "1"}})
    with pytest.raises(ApiError) as stale:
        store.update("configmaps", old)
    with pytest.raises(ApiError) as replaced:
        store.delete("configmaps", "default", "a", DeleteOptions(uid="another"))
    assert refusal(stale)[0] == 409
    why = "Precondition failed: UID in precondition: another, UID in object meta: uid-5"
    assert refusal(replaced) == (409, f'Operation cannot be fulfilled on configmaps "a": {why}')


@pytest.mark.parametrize(
    ("propagation", "finalizers"),
    [("Foreground", ["foregroundDeletion"]), ("Orphan", ["orphan"]), ("Background", None)],
)
def test_propagation_leaves_its_finalizer_to_the_garbage_collector(
    store: Store, propagation: Propagation, finalizers: list[str] | None
) -> None:
    store.create("configmaps", config("a"))
    body, gone = store.delete("configmaps", "default", "a", DeleteOptions(propagation))
    assert (body["metadata"].get("finalizers"), gone) == (finalizers, finalizers is None)
    if finalizers:
        store.modify("configmaps", "default", "a", lambda body: drop(body, ("metadata", "finalizers")))
    assert store.find("configmaps", "default", "a") is None


def test_a_namespace_stays_until_its_finalizer_is_removed(store: Store) -> None:
    store.create("namespaces", {"metadata": {"name": "a"}})
    body, gone = store.delete("namespaces", None, "a")
    assert (body["status"], body["spec"], gone) == ({"phase": "Terminating"}, {"finalizers": ["kubernetes"]}, False)
    with pytest.raises(ApiError) as refused:
        store.create("configmaps", {"metadata": {"name": "x", "namespace": "a"}})
    assert refusal(refused)[0] == 403
    store.modify("namespaces", None, "a", lambda body: drop(body, ("spec", "finalizers")))
    assert store.find("namespaces", None, "a") is None


def test_the_past_can_be_listed_as_long_as_it_is_known(store: Store) -> None:
    store.create("configmaps", config("a"))
    then = store.revision
    store.create("configmaps", config("b"))
    store.modify("configmaps", "default", "a", lambda body: {**body, "data": {"x": "1"}})
    store.delete("configmaps", "default", "a")
    bucket = store.bucket("configmaps")
    assert [(item.name, "data" in item.body) for item in bucket.items_at(None, then)] == [("a", False)]
    bucket.forget(then + 1)
    with pytest.raises(ApiError) as gone:
        bucket.items_at(None, then)
    assert gone.value.reason == "Expired"


def test_the_history_is_bounded(store: Store) -> None:
    for number in range(20):
        store.create("configmaps", config(f"a-{number}"))
    assert len(list(store.bucket("configmaps").since(store.revision - 8))) == 8
    with pytest.raises(ApiError):
        store.bucket("configmaps").since(store.revision - 9)


def test_a_rehearsal_stores_nothing_and_tells_nobody(store: Store) -> None:
    heard: list[Change] = []
    store.subscribe(heard.append)
    before = store.revision
    with store.rehearsal():
        store.create("configmaps", config("a"))
    assert (heard, store.revision, store.find("configmaps", "default", "a")) == ([], before, None)


def test_a_kind_that_is_not_installed_is_told(store: Store) -> None:
    with pytest.raises(ApiError) as missing:
        store.create("widgets.example.com", config("a"))
    assert refusal(missing) == (404, "404 page not found")
