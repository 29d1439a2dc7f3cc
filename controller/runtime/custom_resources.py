"""Our custom resources in memory, and the rule that makes looks safe: a look never works from an older status of ours.

The status that this process wrote last is authoritative (seeded from the API at first sight), whatever copy an event
brings. Events only tell what changed besides it: the spec's generation, a deletion, the finalizers.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import structlog
from pydantic import ValidationError

from controller.api.base import Json
from controller.api.conditions import get_condition
from controller.api.reasons import ConditionType
from controller.api.resources import ChildStatus, Resource, TPUNodeGroup, TPUNodeGroupStatus, parse
from controller.core.model import Key, Kind

log = structlog.get_logger(__name__)

Status = TPUNodeGroupStatus | ChildStatus


@dataclass(frozen=True, slots=True)
class Change:
    """What an event or a list told that matters. `resource` is the last one known when it is gone."""

    key: Key
    resource: Resource
    gone: bool = False
    #: First sight of this object (by UID) in this process.
    new: bool = False


def key_of(kind: Kind, raw: Json) -> Key:
    """The key of an object as the API gives it."""
    return Key(kind, raw["metadata"].get("namespace", ""), raw["metadata"]["name"])


def owner_of(resource: Resource) -> Key | None:
    """The TPUNodeGroup that a child belongs to; None for one that was applied on its own."""
    owner = resource.metadata.controller_owner
    if owner is None or owner.kind != Kind.GROUP:
        return None
    return Key(Kind.GROUP, resource.metadata.namespace, owner.name)


class CustomResources:
    """All objects of the four kinds."""

    def __init__(self) -> None:
        self._resources: dict[Key, Resource] = {}
        #: owner UID -> keys of its children.
        self._children: dict[str, set[Key]] = {}
        self._sequence = 0
        #: When (in `_sequence`) an object was seen first, by key, and when it went, by UID.
        self._came: dict[Key, int] = {}
        self._went: dict[str, int] = {}

    def get(self, key: Key) -> Resource | None:
        """The object, None if it is not there."""
        return self._resources.get(key)

    def group(self, key: Key) -> TPUNodeGroup | None:
        """The group, None if it is not there."""
        found = self._resources.get(key)
        return found if isinstance(found, TPUNodeGroup) else None

    def keys(self, kind: Kind | None = None) -> tuple[Key, ...]:
        """All keys, or those of a kind."""
        return tuple(key for key in self._resources if kind is None or key.kind is kind)

    def not_ready(self) -> int:
        """How many groups are not Ready and should be: those that are being deleted are not counted."""
        groups = (each for each in self._resources.values() if isinstance(each, TPUNodeGroup))
        wanted = [each.status.conditions for each in groups if not each.metadata.deleting]
        ready = [get_condition(conditions, ConditionType.READY) for conditions in wanted]
        return sum(each is None or each.status != "True" for each in ready)

    def children_of(self, uid: str) -> Mapping[Kind, tuple[Key, Resource]]:
        """The children of the group with this UID, by kind."""
        keys = self._children.get(uid, ())
        return {key.kind: (key, self._resources[key]) for key in keys if key in self._resources}

    def apply(self, kind: Kind, event_type: str | None, raw: Json) -> Change | None:
        """Take an event of the watch. None when it brings nothing new: an echo of ours, or an older copy."""
        key = key_of(kind, raw)
        if event_type == "DELETED":
            known = self._resources.get(key)
            if known is None or known.metadata.uid != raw["metadata"]["uid"]:
                return None
            return self._forget(key)
        try:
            fresh = parse({**raw, "kind": kind.value})
        except ValidationError as error:
            first = str(error.errors()[0])
            log.error("object cannot be read", key=str(key), problem=first)  # noqa: TRY400 - no traceback helps a user
            return None
        return self._take(key, fresh)

    def mark(self) -> int:
        """What to hand to `replace` with lists that are asked for from now on."""
        return self._sequence

    def replace(self, kind: Kind, raws: Iterable[Json], asked: int | None = None) -> list[Change]:
        """Take a complete list: what is not in it is gone, though no event told.

        `asked`: the mark from before it was asked for. What came since may be missing in it, and what went since may
        still be in it: of both the events know better.
        """
        asked = self.mark() if asked is None else asked
        self._went = {uid: when for uid, when in self._went.items() if when > asked}
        listed = {key_of(kind, raw): raw for raw in raws if raw["metadata"]["uid"] not in self._went}
        changes = [self._forget(key) for key in self.keys(kind) if self._is_missing(key, listed.get(key), asked)]
        changes += [change for raw in listed.values() if (change := self.apply(kind, None, raw)) is not None]
        return changes

    def wrote(self, key: Key, raw: Json, status: Status | None = None) -> None:
        """Take the answer to a write of our own: its resourceVersion and finalizers, and the status that it carried.

        Events may have overtaken it: a newer copy stays, and what is gone does not come back.
        """
        fresh = parse({**raw, "kind": key.kind.value})
        known = self._resources.get(key)
        if known is None or known.metadata.uid != fresh.metadata.uid:
            return
        newest = known if _version(known) > _version(fresh) else fresh
        self._store(key, newest.model_copy(update={"status": known.status if status is None else status}))

    def gone(self, key: Key) -> Change | None:
        """An object went away with its last finalizer, which we removed."""
        return self._forget(key) if key in self._resources else None

    def _is_missing(self, key: Key, raw: Json | None, asked: int) -> bool:
        uid = raw["metadata"]["uid"] if raw is not None else None
        return uid != self._resources[key].metadata.uid and self._came[key] <= asked

    def _take(self, key: Key, fresh: Resource) -> Change | None:
        known = self._resources.get(key)
        if known is None or known.metadata.uid != fresh.metadata.uid:
            if known is not None:
                self._forget(key)
            self._sequence += 1
            self._came[key] = self._sequence
            self._store(key, fresh)
            return Change(key, fresh, new=True)
        if _version(fresh) <= _version(known):
            return None
        merged = fresh.model_copy(update={"status": known.status})
        self._store(key, merged)
        return Change(key, merged) if _significant(known) != _significant(fresh) else None

    def _store(self, key: Key, resource: Resource) -> None:
        if key in self._resources:
            self._unlink(key)
        self._resources[key] = resource
        owner = resource.metadata.controller_owner
        if owner is not None:
            self._children.setdefault(owner.uid, set()).add(key)

    def _forget(self, key: Key) -> Change:
        resource = self._unlink(key)
        self._sequence += 1
        self._went[resource.metadata.uid] = self._sequence
        del self._came[key]
        return Change(key, resource, gone=True)

    def _unlink(self, key: Key) -> Resource:
        resource = self._resources.pop(key)
        owner = resource.metadata.controller_owner
        if owner is not None:
            siblings = self._children.get(owner.uid, set())
            siblings.discard(key)
            if not siblings:
                self._children.pop(owner.uid, None)
        return resource


def _version(resource: Resource) -> int:
    """Resource versions grow (Kubernetes 1.35 made that official); one that is no number compares as newest."""
    version = resource.metadata.resource_version
    return int(version) if version.isdigit() else 2**63


def _significant(resource: Resource) -> tuple[object, ...]:
    metadata = resource.metadata
    return metadata.generation, metadata.deletion_timestamp, metadata.finalizers, metadata.owner_references
