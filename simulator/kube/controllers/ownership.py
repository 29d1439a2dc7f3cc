"""Who owns whom: ownerReferences resolved against the store, and the index of dependents that collection needs.

Rules of k8s.io/kubernetes/pkg/controller/garbagecollector: an owner is its UID, looked for in the dependent's namespace
or at cluster scope.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from simulator.kube.history import Change
from simulator.kube.store import FOREGROUND, Store
from simulator.seams import Json

OwnerState = Literal["solid", "dangling", "waiting"]


class Place(NamedTuple):
    """Where an object is: resource id, namespace ("" at cluster scope), name."""

    resource: str
    namespace: str
    name: str


def place_of(change: Change) -> Place:
    """Where the changed object is, or was."""
    return Place(change.resource, change.stored.namespace, change.stored.name)


def references(body: Mapping[str, Any] | None) -> list[Json]:
    """The ownerReferences of an object."""
    return [] if body is None else body["metadata"].get("ownerReferences") or []


def waits_for_dependents(body: Json) -> bool:
    """Whether the object is in foreground deletion."""
    metadata = body["metadata"]
    return "deletionTimestamp" in metadata and FOREGROUND in (metadata.get("finalizers") or ())


class Owners:
    """The owners and the dependents of the store's objects. Fed with every change."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._dependents: dict[str, set[Place]] = {}
        for resource in store.registry.storage():
            for body in store.list(resource.id):
                metadata = body["metadata"]
                place = Place(resource.id, metadata.get("namespace", ""), metadata["name"])
                self._index(place, (), references(body))

    def observe(self, change: Change) -> None:
        """Keep the index true."""
        after = [] if change.type == "DELETED" else references(change.object)
        self._index(place_of(change), references(change.before), after)

    def dependents(self, uid: str) -> list[Place]:
        """The objects that name this UID as an owner."""
        return sorted(self._dependents.get(uid, ()))

    def blocking(self, uid: str) -> list[Place]:
        """Those dependents that hold the owner's foreground deletion up (`blockOwnerDeletion`)."""
        return [place for place in self.dependents(uid) if self._blocks(place, uid)]

    def place(self, reference: Json, dependent: Place) -> Place | None:
        """Where the owner would be; None if its kind is not served, or not a possible owner."""
        kind = self._store.registry.by_kind(reference["apiVersion"], reference["kind"])
        if kind is None or (kind.namespaced and not dependent.namespace):
            return None
        return Place(kind.id, dependent.namespace if kind.namespaced else "", reference["name"])

    def states(self, place: Place, body: Json) -> Iterator[tuple[Json, OwnerState]]:
        """Each reference with the state of its owner. What cannot be looked up counts as there: nothing is deleted
        for want of knowledge."""
        for reference in references(body):
            owner_place = self.place(reference, place)
            if owner_place is None:
                yield reference, "solid"
                continue
            owner = self._store.find(*owner_place)
            if owner is None or owner["metadata"]["uid"] != reference["uid"]:
                yield reference, "dangling"
            elif waits_for_dependents(owner):
                yield reference, "waiting"
            else:
                yield reference, "solid"

    def _blocks(self, place: Place, uid: str) -> bool:
        body = self._store.find(*place)
        return any(item["uid"] == uid and item.get("blockOwnerDeletion") for item in references(body))

    def _index(self, place: Place, before: list[Json] | tuple[()], after: list[Json]) -> None:
        if before is after:
            return
        for reference in before:
            dependents = self._dependents.get(reference["uid"])
            if dependents is not None:
                dependents.discard(place)
                if not dependents:
                    del self._dependents[reference["uid"]]
        for reference in after:
            self._dependents.setdefault(reference["uid"], set()).add(place)
