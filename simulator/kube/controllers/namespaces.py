"""Deletion of namespaces: a terminating one loses its content, all at once, and goes when the last object is gone."""

from simulator.kube.controllers.queue import Queue
from simulator.kube.edit import drop
from simulator.kube.errors import ApiError
from simulator.kube.history import Change
from simulator.kube.store import DeleteOptions, Store

_LAG = 0.01


class NamespaceLifecycle:
    """Empties terminating namespaces; waits for the finalizers in them without polling."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._terminating: set[str] = set()
        self._queue: Queue[str] = Queue(self._look)
        self._unsubscribe = store.subscribe(self._changed)
        for namespace in store.list("namespaces"):
            self._queue.add(namespace["metadata"]["name"])

    def stop(self) -> None:
        """Delete nothing any more."""
        self._unsubscribe()
        self._queue.stop()

    def _changed(self, change: Change) -> None:
        if change.resource == "namespaces" and "deletionTimestamp" in change.object["metadata"]:
            self._queue.add(change.stored.name, _LAG)
        elif change.type == "DELETED" and change.stored.namespace in self._terminating:
            self._queue.add(change.stored.namespace, _LAG)

    def _look(self, name: str) -> None:
        namespace = self._store.find("namespaces", None, name)
        if namespace is None or "deletionTimestamp" not in namespace["metadata"]:
            self._terminating.discard(name)
            return
        self._terminating.add(name)
        if not self._empty(name):
            self._store.update("namespaces", drop(namespace, ("spec", "finalizers")))

    def _empty(self, name: str) -> int:
        """Delete what is not yet being deleted; how many objects are left (held by finalizers)."""
        left = 0
        for resource in self._store.registry.storage():
            if not resource.namespaced:
                continue
            for body in self._store.list(resource.id, name):
                left += not self._delete(resource.id, name, body["metadata"])
        return left

    def _delete(self, resource: str, namespace: str, metadata: dict[str, str]) -> bool:
        if "deletionTimestamp" in metadata:
            return False
        try:
            options = DeleteOptions(propagation="Background", uid=metadata["uid"])
            return self._store.delete(resource, namespace, metadata["name"], options)[1]
        except ApiError as error:
            if error.code != 404:
                raise
            return True
