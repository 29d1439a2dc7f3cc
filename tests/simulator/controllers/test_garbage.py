"""Dependents go after, before or without their owners, as the deletion asks."""

import pytest

from simulator.kube.store import DeleteOptions, Propagation
from tests.simulator.controllers.cluster import WIDGETS, Cluster, owner


def delete(cluster: Cluster, name: str, propagation: Propagation) -> None:
    cluster.store.delete(WIDGETS, "default", name, DeleteOptions(propagation=propagation))


async def test_in_the_background_dependents_follow_their_owner(cluster: Cluster) -> None:
    top = cluster.widget("top")
    middle = cluster.widget("middle", owner(top))
    cluster.widget("leaf", owner(middle))
    cluster.widget("other")
    delete(cluster, "top", "Background")
    assert cluster.names() == ["leaf", "middle", "other"]
    await cluster.until(lambda: cluster.names() == ["other"])


async def test_in_the_foreground_the_owner_waits_for_those_that_block(cluster: Cluster) -> None:
    top = cluster.widget("top")
    cluster.widget("blocks", owner(top, block=True), finalizers=("example.com/hold",))
    cluster.widget("free", owner(top), finalizers=("example.com/hold",))
    delete(cluster, "top", "Foreground")
    await cluster.until(lambda: all("deletionTimestamp" in body["metadata"] for body in cluster.store.list(WIDGETS)))
    await cluster.settled()
    assert cluster.names() == ["blocks", "free", "top"]
    release(cluster, "blocks")
    await cluster.until(lambda: cluster.names() == ["free"])


async def test_in_the_foreground_a_tree_goes_from_its_leaves(cluster: Cluster) -> None:
    top = cluster.widget("top")
    middle = cluster.widget("middle", owner(top, block=True))
    cluster.widget("leaf", owner(middle, block=True), finalizers=("example.com/hold",))
    delete(cluster, "top", "Foreground")
    await cluster.settled()
    assert cluster.names() == ["leaf", "middle", "top"]
    release(cluster, "leaf")
    await cluster.until(lambda: cluster.names() == [])


async def test_orphaned_dependents_stay_without_their_owner(cluster: Cluster) -> None:
    top = cluster.widget("top")
    cluster.widget("leaf", owner(top))
    delete(cluster, "top", "Orphan")
    await cluster.until(lambda: cluster.names() == ["leaf"])
    await cluster.settled()
    assert "ownerReferences" not in cluster.store.get(WIDGETS, "default", "leaf")["metadata"]


async def test_an_owner_that_is_left_keeps_the_dependent(cluster: Cluster) -> None:
    first, second = cluster.widget("first"), cluster.widget("second")
    cluster.widget("leaf", owner(first), owner(second))
    delete(cluster, "first", "Background")
    await cluster.until(
        lambda: cluster.store.get(WIDGETS, "default", "leaf")["metadata"]["ownerReferences"] == [owner(second)]
    )


async def test_an_owner_of_the_same_name_but_another_uid_is_none(cluster: Cluster) -> None:
    top = cluster.widget("top")
    await cluster.settled()
    cluster.widget("leaf", {**owner(top), "uid": "another"})
    await cluster.until(lambda: cluster.names() == ["top"])


async def test_an_owner_in_another_namespace_is_none(cluster: Cluster) -> None:
    top = cluster.widget("top", namespace="kube-public")
    cluster.widget("leaf", owner(top))
    await cluster.until(lambda: cluster.names() == [])


async def test_an_owner_of_an_unknown_kind_is_left_in_peace(cluster: Cluster) -> None:
    cluster.widget("leaf", {"apiVersion": "nowhere.example.com/v1", "kind": "Thing", "name": "x", "uid": "y"})
    await cluster.settled()
    assert cluster.names() == ["leaf"]


async def test_a_cluster_scoped_owner_is_found_from_any_namespace(cluster: Cluster) -> None:
    node = cluster.store.create("nodes", {"metadata": {"name": "tpu-1"}})
    cluster.widget("leaf", owner(node))
    await cluster.settled()
    assert cluster.names() == ["leaf"]
    cluster.store.delete("nodes", None, "tpu-1")
    await cluster.until(lambda: cluster.names() == [])


async def test_what_was_orphaned_while_nobody_looked_is_found_at_the_start() -> None:
    cluster = Cluster()
    top = cluster.widget("top")
    cluster.widget("leaf", owner(top))
    delete(cluster, "top", "Background")
    cluster.start()
    await cluster.until(lambda: cluster.names() == [])
    await cluster.stop()


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
async def test_a_dependent_with_a_finalizer_of_its_own_decides_when_it_goes(
    cluster: Cluster, propagation: Propagation
) -> None:
    top = cluster.widget("top")
    cluster.widget("leaf", owner(top, block=True), finalizers=("example.com/hold",))
    delete(cluster, "top", propagation)
    await cluster.settled()
    release(cluster, "leaf")
    await cluster.until(lambda: cluster.names() == [])


async def test_a_deleted_namespace_takes_its_content_along_all_at_once(cluster: Cluster) -> None:
    cluster.store.create("namespaces", {"metadata": {"name": "research"}})
    top = cluster.widget("top", namespace="research", finalizers=("example.com/hold",))
    cluster.widget("leaf", owner(top, block=True), namespace="research", finalizers=("example.com/hold",))
    cluster.widget("free", namespace="research")
    cluster.store.delete("namespaces", None, "research")
    await cluster.until(lambda: cluster.names("research") == ["leaf", "top"])
    await cluster.settled()
    assert cluster.store.get("namespaces", None, "research")["status"] == {"phase": "Terminating"}
    release(cluster, "top", "research")
    await cluster.settled()
    assert cluster.store.find("namespaces", None, "research") is not None
    release(cluster, "leaf", "research")
    await cluster.until(lambda: cluster.store.find("namespaces", None, "research") is None)


async def test_an_empty_namespace_goes_at_once(cluster: Cluster) -> None:
    cluster.store.create("namespaces", {"metadata": {"name": "research"}})
    cluster.store.delete("namespaces", None, "research")
    await cluster.until(lambda: cluster.store.find("namespaces", None, "research") is None)


def release(cluster: Cluster, name: str, namespace: str = "default") -> None:
    """Take our finalizer away; what the collector put there stays."""
    body = cluster.store.get(WIDGETS, namespace, name)
    kept = [item for item in body["metadata"]["finalizers"] if item != "example.com/hold"]
    cluster.store.update(WIDGETS, {**body, "metadata": {**body["metadata"], "finalizers": kept}})
