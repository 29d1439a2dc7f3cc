"""The objects of one resource type and what lately happened to them: enough to list, to list as of then, and to resume
a watch.

Versions of objects are never mutated, so reads copy nothing. What is older than the ring is gone, as after etcd's
compaction: asking for it is a 410.
"""

import json
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from simulator.kube import errors
from simulator.seams import Json

ChangeType = Literal["ADDED", "MODIFIED", "DELETED"]
_ENCODE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def encode(value: Any) -> bytes:
    """Compact JSON in UTF-8."""
    return _ENCODE(value).encode()


class Stored:
    """One version of one object. `body` is shared by all readers and never mutated."""

    __slots__ = ("_encoded", "body", "name", "namespace", "revision")

    def __init__(self, body: Json, revision: int) -> None:
        metadata = body["metadata"]
        self.body = body
        self.revision = revision
        self.name: str = metadata["name"]
        self.namespace: str = metadata.get("namespace", "")
        self._encoded: bytes | None = None

    def encoded(self) -> bytes:
        """The body as JSON, made once per version however many watchers it goes to."""
        if self._encoded is None:
            self._encoded = encode(self.body)
        return self._encoded


@dataclass(frozen=True, slots=True)
class Change:
    """One write that took effect. Of a deletion, `stored` is the last version with the deletion's revision."""

    type: ChangeType
    #: The resource's id, as in `secrets` or `tpunodegroups.tpu.google.com`.
    resource: str
    stored: Stored
    previous: Stored | None

    @property
    def object(self) -> Json:
        """The object after the change."""
        return self.stored.body

    @property
    def before(self) -> Json | None:
        """The object before the change; None of a creation."""
        return None if self.previous is None else self.previous.body


class Bucket:
    """All objects of one resource type, with a ring of their latest changes."""

    def __init__(self, ring: int) -> None:
        self._objects: dict[tuple[str, str], Stored] = {}
        self._namespaces: dict[str, dict[str, Stored]] = {}
        self._ring: deque[Change] = deque()
        self._ring_size = ring
        #: Changes up to this revision are no longer known.
        self.compacted = 0

    def get(self, namespace: str, name: str) -> Stored | None:
        """The current version of one object."""
        return self._objects.get((namespace, name))

    def put(self, change: Change) -> None:
        """Take a change in: the objects and the ring."""
        stored = change.stored
        objects = self._namespaces.setdefault(stored.namespace, {})
        if change.type == "DELETED":
            del self._objects[stored.namespace, stored.name]
            del objects[stored.name]
        else:
            self._objects[stored.namespace, stored.name] = stored
            objects[stored.name] = stored
        self._ring.append(change)
        if len(self._ring) > self._ring_size:
            self.compacted = self._ring.popleft().stored.revision

    def forget(self, revision: int) -> None:
        """Forget the changes up to a revision, as a compaction does."""
        while self._ring and self._ring[0].stored.revision <= revision:
            self._ring.popleft()
        self.compacted = max(self.compacted, revision)

    def items(self, namespace: str | None) -> list[Stored]:
        """The current objects in the order of their keys; of one namespace, or of all (None)."""
        if namespace is not None:
            return [item for _, item in sorted(self._namespaces.get(namespace, {}).items())]
        return [item for _, item in sorted(self._objects.items())]

    def items_at(self, namespace: str | None, revision: int) -> list[Stored]:
        """The objects as they were at a revision. Raises ApiError 410 if that is no longer known."""
        objects = dict(self._objects)
        for change in reversed(list(self.since(revision))):
            key = (change.stored.namespace, change.stored.name)
            if change.previous is None:
                del objects[key]
            else:
                objects[key] = change.previous
        return [item for key, item in sorted(objects.items()) if namespace in {None, key[0]}]

    def since(self, revision: int) -> Iterator[Change]:
        """The changes after a revision, oldest first. Raises ApiError 410 if they are no longer all known."""
        if revision < self.compacted:
            raise errors.expired(f"too old resource version: {revision} ({self.compacted})")
        newer: list[Change] = []
        for change in reversed(self._ring):
            if change.stored.revision <= revision:
                break
            newer.append(change)
        return reversed(newer)
