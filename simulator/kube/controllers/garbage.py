"""Garbage collection by ownerReferences, in the background, in the foreground, and orphaning.

Decisions are those of garbagecollector.attemptToDeleteItem: an object all of whose owners are gone, or wait for their
dependents, is deleted; one that still has an owner only loses the references to the others.
"""

from simulator.kube.controllers.ownership import Owners, Place, place_of, references, waits_for_dependents
from simulator.kube.controllers.queue import Queue
from simulator.kube.edit import drop, put
from simulator.kube.errors import ApiError
from simulator.kube.history import Change
from simulator.kube.store import FOREGROUND, ORPHAN, DeleteOptions, Propagation, Store
from simulator.seams import Json

#: The collector lags a little behind, as its informers do.
_LAG = 0.005


class GarbageCollector:
    """Deletes dependents after (or, in the foreground, before) their owners."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._owners = Owners(store)
        self._queue: Queue[Place] = Queue(self._look)
        self._unsubscribe = store.subscribe(self._changed)
        for resource in store.registry.storage():
            for body in store.list(resource.id):
                metadata = body["metadata"]
                if references(body) or "deletionTimestamp" in metadata:
                    self._queue.add(Place(resource.id, metadata.get("namespace", ""), metadata["name"]))

    def stop(self) -> None:
        """Collect nothing any more."""
        self._unsubscribe()
        self._queue.stop()

    def _changed(self, change: Change) -> None:
        self._owners.observe(change)
        place, metadata = place_of(change), change.object["metadata"]
        owners_before = references(change.before)
        owners_after = [] if change.type == "DELETED" else references(change.object)
        if change.type != "DELETED" and (owners_after != owners_before or "deletionTimestamp" in metadata):
            self._queue.add(place, _LAG)
        if change.type == "DELETED" or waits_for_dependents(change.object):
            for dependent in self._owners.dependents(metadata["uid"]):
                self._queue.add(dependent, _LAG)
        if owners_after != owners_before:
            # An owner in foreground deletion may have waited for this one.
            for reference in owners_before:
                owner = self._owners.place(reference, place)
                if owner is not None:
                    self._queue.add(owner, _LAG)

    def _look(self, place: Place) -> float | None:
        body = self._store.find(*place)
        if body is None:
            return None
        try:
            if "deletionTimestamp" in body["metadata"]:
                self._finish(place, body)
            else:
                self._collect(place, body)
        except ApiError as error:
            if error.code in {404, 409}:
                return _LAG
            raise
        return None

    def _finish(self, place: Place, body: Json) -> None:
        """An object that is being deleted: do what its finalizers ask of the collector."""
        metadata = body["metadata"]
        finalizers = metadata.get("finalizers") or ()
        if ORPHAN in finalizers:
            for dependent in self._owners.dependents(metadata["uid"]):
                self._disown(dependent, {metadata["uid"]})
            self._release(place, body, ORPHAN)
        elif FOREGROUND in finalizers:
            blocking = self._owners.blocking(metadata["uid"])
            for dependent in blocking:
                self._queue.add(dependent, _LAG)
            if not blocking:
                self._release(place, body, FOREGROUND)

    def _collect(self, place: Place, body: Json) -> None:
        states = list(self._owners.states(place, body))
        gone = {reference["uid"] for reference, state in states if state != "solid"}
        if not gone:
            return
        if len(gone) < len({reference["uid"] for reference, _ in states}):
            self._disown(place, gone)
            return
        waiting = any(state == "waiting" for _, state in states)
        has_dependents = bool(self._owners.dependents(body["metadata"]["uid"]))
        # In the foreground the whole tree goes from its leaves up.
        options = DeleteOptions(
            propagation="Foreground" if waiting and has_dependents else _asked_for(body),
            uid=body["metadata"]["uid"],
            resource_version=body["metadata"]["resourceVersion"],
        )
        self._store.delete(*place, options)

    def _disown(self, place: Place, uids: set[str]) -> None:
        body = self._store.find(*place)
        if body is None:
            return
        kept = [reference for reference in references(body) if reference["uid"] not in uids]
        path = ("metadata", "ownerReferences")
        self._store.update(place.resource, put(body, path, kept) if kept else drop(body, path))

    def _release(self, place: Place, body: Json, finalizer: str) -> None:
        kept = [item for item in body["metadata"]["finalizers"] if item != finalizer]
        path = ("metadata", "finalizers")
        self._store.update(place.resource, put(body, path, kept) if kept else drop(body, path))


def _asked_for(body: Json) -> Propagation:
    finalizers = body["metadata"].get("finalizers") or ()
    if ORPHAN in finalizers:
        return "Orphan"
    return "Foreground" if FOREGROUND in finalizers else "Background"
