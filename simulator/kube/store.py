"""Every object of the simulated cluster, in memory: one revision counter, optimistic locking, finalizers, history.

Writes are synchronous and atomic (one event loop, no await inside), and tell every subscriber before they return.
Objects handed out are shared: never mutate them; build a changed copy (`simulator.kube.edit`). The store knows no HTTP,
no schema and no field ownership; garbage collection is the business of a controller that subscribes.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from random import Random
from typing import Literal
from uuid import uuid4

from simulator.clock import kube_time
from simulator.kube import errors, scopes
from simulator.kube.edit import dig, drop, put
from simulator.kube.history import Bucket, Change, Stored
from simulator.kube.resources import Registry, Resource
from simulator.seams import Json

Propagation = Literal["Background", "Foreground", "Orphan"]
Subscriber = Callable[[Change], None]
FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
#: The letters of generated names: no vowels, nothing that looks like another (k8s.io/apimachinery/pkg/util/rand).
_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"
#: metadata that only the server writes.
_SYSTEM = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation")


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """How to delete: what happens to dependents, and what must hold of the object (409 otherwise)."""

    propagation: Propagation | None = None
    uid: str | None = None
    resource_version: str | None = None


class Store:
    """The objects. Resources are named by id (`secrets`, `tpunodegroups.tpu.google.com`); cluster-scoped: namespace
    None or "". All refusals are `ApiError`s, worded like a kube-apiserver's.
    """

    def __init__(
        self,
        registry: Registry,
        now: Callable[[], datetime],
        *,
        new_uid: Callable[[], str] = lambda: str(uuid4()),
        random: Random | None = None,
        history: int = 4096,
    ) -> None:
        """`history`: how many changes of each resource a watch may resume over before it gets a 410."""
        self.registry = registry
        self.now = now
        #: The revision of the latest write.
        self.revision = 0
        self._new_uid = new_uid
        self._random = random or Random()
        self._history = history
        self._buckets: dict[str, Bucket] = {}
        self._subscribers: dict[str | None, list[Subscriber]] = {}
        self._untold: deque[Change] = deque()
        self._telling = False
        self._rehearsing = False

    # Reading.

    def find(self, resource: str, namespace: str | None, name: str) -> Json | None:
        """The object, or None."""
        stored = self.bucket(resource).get(namespace or "", name)
        return None if stored is None else stored.body

    def get(self, resource: str, namespace: str | None, name: str) -> Json:
        """The object. Raises ApiError 404."""
        return self.stored(resource, namespace, name).body

    def stored(self, resource: str, namespace: str | None, name: str) -> Stored:
        """The object with its encoded form. Raises ApiError 404."""
        found = self.bucket(resource).get(namespace or "", name)
        if found is None:
            kind = self.registry.by_id(resource)
            raise errors.not_found(kind.group, kind.plural, name)
        return found

    def list(
        self, resource: str, namespace: str | None = None, *, labels: Mapping[str, str] | None = None
    ) -> list[Json]:
        """The objects in the order of their keys; of one namespace, or of all; those that bear all `labels`."""
        wanted = (labels or {}).items()
        bodies = [item.body for item in self.bucket(resource).items(namespace)]
        if not wanted:
            return bodies
        return [body for body in bodies if wanted <= (body["metadata"].get("labels") or {}).items()]

    def bucket(self, resource: str) -> Bucket:
        """The objects of a resource with their history."""
        found = self._buckets.get(resource)
        if found is None:
            found = self._buckets[resource] = Bucket(self._history)
        return found

    # Subscribing.

    def subscribe(self, subscriber: Subscriber, resource: str | None = None) -> Callable[[], None]:
        """Tell `subscriber` of every change (of one resource, or of all), in the order of their revisions.

        It is called inside the write and may write itself: those changes are told after the present one. Returns the
        way to end it.
        """
        listeners = self._subscribers.setdefault(resource, [])
        listeners.append(subscriber)
        return lambda: listeners.remove(subscriber)

    @contextmanager
    def rehearsal(self) -> Iterator[None]:
        """Within it writes are checked and answered as ever, but nothing is stored and nobody told (dryRun=All)."""
        self._rehearsing = True
        try:
            yield
        finally:
            self._rehearsing = False

    # Writing.

    def require_live_namespace(self, namespace: str, resource: str, name: str) -> None:
        """Refuse to create `name` where the namespace is missing (ApiError 404) or terminating (403)."""
        found = self.find("namespaces", None, namespace)
        if found is None:
            raise errors.not_found("", "namespaces", namespace)
        if "deletionTimestamp" in found["metadata"]:
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            cause = errors.Cause(
                "metadata.namespace", "NamespaceTerminating", f"namespace {namespace} is being terminated"
            )
            kind = self.registry.by_id(resource)
            raise errors.forbidden(kind.group, kind.plural, name, why, causes=[cause])

    def create(self, resource: str, body: Json) -> Json:
        """Create the object that `body.metadata` names (or `generateName` begins). Returns it as stored.

        Raises ApiError 409 if it is there, 404/403 if its namespace is missing/terminating.
        """
        kind = self.registry.by_id(resource)
        metadata = dict(body["metadata"])
        if not kind.namespaced:
            metadata.pop("namespace", None)
        else:
            self.require_live_namespace(metadata["namespace"], resource, metadata.get("name", ""))
        if not metadata.get("name") and metadata.get("generateName"):
            metadata["name"] = metadata["generateName"] + "".join(self._random.choices(_SUFFIX, k=5))
        taken = self.bucket(resource).get(metadata.get("namespace", ""), metadata["name"])
        if taken is not None:
            terminating = "deletionTimestamp" in taken.body["metadata"]
            raise errors.already_exists(kind.group, kind.plural, metadata["name"], terminating=terminating)
        for key in _SYSTEM:
            metadata.pop(key, None)
        metadata["uid"] = self._new_uid()
        metadata["creationTimestamp"] = self._timestamp()
        if kind.counts_generation:
            metadata["generation"] = 1
        body = {"apiVersion": kind.api_version, "kind": kind.kind, **body, "metadata": metadata}
        if "status" in kind.subresources and not kind.keeps_status:
            body = drop(body, ("status",))
        if kind.on_create is not None:
            body = kind.on_create(body)
        return self._write("ADDED", kind, body, None)

    def update(self, resource: str, body: Json, *, subresource: str | None = None) -> Json:
        """Replace the object, or only what its subresource covers. A `resourceVersion` or `uid` in the metadata must
        match (409). A body that changes nothing writes nothing. Returns the object as stored; if that removed the last
        finalizer of an object being deleted, it is gone.
        """
        metadata = body["metadata"]
        kind = self.registry.by_id(resource)
        previous = self.stored(resource, metadata.get("namespace"), metadata["name"])
        self._check(kind, previous, metadata.get("uid"), metadata.get("resourceVersion"))
        return self._replace(kind, previous, body, subresource)

    def modify(
        self,
        resource: str,
        namespace: str | None,
        name: str,
        change: Callable[[Json], Json],
        *,
        subresource: str | None = None,
    ) -> Json:
        """Replace the object by `change(object)`, which must not mutate its argument. Raises ApiError 404."""
        kind = self.registry.by_id(resource)
        previous = self.stored(resource, namespace, name)
        return self._replace(kind, previous, change(previous.body), subresource)

    def delete(
        self, resource: str, namespace: str | None, name: str, options: DeleteOptions = DeleteOptions()
    ) -> tuple[Json, bool]:
        """Delete the object, or mark it as being deleted while finalizers hold it.

        Returns the object as it is now (or was last) and whether it is gone. Raises ApiError 404, 409.
        """
        kind = self.registry.by_id(resource)
        previous = self.stored(resource, namespace, name)
        self._check(kind, previous, options.uid, options.resource_version)
        body = _with_propagation(previous.body, options.propagation)
        if not _held(kind, body):
            return self._write("DELETED", kind, body, previous), True
        metadata = body["metadata"]
        if "deletionTimestamp" not in metadata:
            marks = {"deletionTimestamp": self._timestamp(), "deletionGracePeriodSeconds": 0}
            if "generation" in metadata:
                # The wish to be gone counts as a change of the spec (k8s.io/apiserver, rest.BeforeDelete).
                marks["generation"] = metadata["generation"] + 1
            body = {**body, "metadata": {**metadata, **marks}}
            if kind.id == "namespaces":
                body = put(body, ("status", "phase"), "Terminating")
        return (previous.body if body == previous.body else self._write("MODIFIED", kind, body, previous)), False

    # Inside.

    def _replace(self, kind: Resource, previous: Stored, body: Json, subresource: str | None) -> Json:
        old = previous.body
        if subresource == "status":
            body = put(
                scopes.like(old, "status", body), ("metadata",), scopes.managed_by(old["metadata"], body["metadata"])
            )
        elif "status" in kind.subresources:
            body = scopes.like(body, "status", old)
        metadata = {key: value for key, value in body["metadata"].items() if key not in _SYSTEM}
        metadata |= {key: old["metadata"][key] for key in _SYSTEM if key in old["metadata"]}
        metadata["resourceVersion"] = old["metadata"]["resourceVersion"]
        body = {**body, "metadata": metadata}
        self._refuse_new_finalizers(kind, old, body)
        if kind.counts_generation and subresource is None and scopes.content(old, kind) != scopes.content(body, kind):
            metadata["generation"] = old["metadata"].get("generation", 0) + 1
        if body == old:
            return old
        gone = "deletionTimestamp" in metadata and not _held(kind, body)
        return self._write("DELETED" if gone else "MODIFIED", kind, body, previous)

    def _write(
        self, change: Literal["ADDED", "MODIFIED", "DELETED"], kind: Resource, body: Json, previous: Stored | None
    ) -> Json:
        if self._rehearsing:
            return body
        self.revision += 1
        body = {**body, "metadata": {**body["metadata"], "resourceVersion": str(self.revision)}}
        written = Change(change, kind.id, Stored(body, self.revision), previous)
        self.bucket(kind.id).put(written)
        self._untold.append(written)
        self._tell()
        return body

    def _tell(self) -> None:
        if self._telling:
            return
        self._telling = True
        try:
            while self._untold:
                change = self._untold.popleft()
                for listener in (*self._subscribers.get(change.resource, ()), *self._subscribers.get(None, ())):
                    listener(change)
        finally:
            self._telling = False

    def _check(self, kind: Resource, stored: Stored, uid: str | None, resource_version: str | None) -> None:
        actual = stored.body["metadata"]["uid"]
        if uid and uid != actual:
            why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {actual}"
            raise errors.conflict(kind.group, kind.plural, stored.name, why)
        if resource_version and resource_version != str(stored.revision):
            raise errors.conflict(kind.group, kind.plural, stored.name, errors.STALE)

    def _refuse_new_finalizers(self, kind: Resource, old: Json, body: Json) -> None:
        if "deletionTimestamp" not in old["metadata"]:
            return
        held = set(old["metadata"].get("finalizers") or ())
        added = [item for item in body["metadata"].get("finalizers") or () if item not in held]
        if added:
            listed = ", ".join(f'"{item}"' for item in added)
            why = (
                "Forbidden: no new finalizers can be added if the object is being deleted, "
                f"found new finalizers []string{{{listed}}}"
            )
            cause = errors.Cause("metadata.finalizers", "FieldValueForbidden", why)
            raise errors.invalid(kind.group, kind.kind, old["metadata"]["name"], [cause])

    def _timestamp(self) -> str:
        return kube_time(self.now())


def _with_propagation(body: Json, propagation: Propagation | None) -> Json:
    if propagation is None:
        return body
    present = body["metadata"].get("finalizers") or []
    wanted = [item for item in present if item not in {FOREGROUND, ORPHAN}]
    if propagation != "Background":
        wanted.append(FOREGROUND if propagation == "Foreground" else ORPHAN)
    if wanted == present:
        return body
    return put(body, ("metadata", "finalizers"), wanted) if wanted else drop(body, ("metadata", "finalizers"))


def _held(kind: Resource, body: Json) -> bool:
    """Whether finalizers keep the object: its own, and a namespace's for its content."""
    if body["metadata"].get("finalizers"):
        return True
    return kind.id == "namespaces" and bool(dig(body, ("spec", "finalizers")))
