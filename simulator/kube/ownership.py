"""Who owns which field: `metadata.managedFields`, kept as a kube-apiserver keeps it.

A plain write takes ownership of what it changes; an apply takes ownership of what it states, and may not change what
others own (409) unless forced. Pure: objects in, objects out.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from simulator.kube import fieldsets, last_applied
from simulator.kube.edit import drop, put
from simulator.kube.errors import ApiError
from simulator.kube.fieldsets import Path
from simulator.kube.merging import merge_applied, remove_paths
from simulator.kube.resources import Resource
from simulator.kube.shapes import shape_of
from simulator.seams import Json

#: The owner of all fields of an object that nobody was known to own when it was first applied to.
BEFORE_FIRST_APPLY = "before-first-apply"


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes, and how: the identity of a managedFields entry."""

    manager: str
    operation: Literal["Apply", "Update"]
    api_version: str
    subresource: str = ""

    def __str__(self) -> str:
        """As a conflict names it; of a plain write also the version (managedfields/internal/conflict.go)."""
        through = f' with subresource "{self.subresource}"' if self.subresource else ""
        version = f" using {self.api_version}" if self.operation == "Update" else ""
        return f'conflict with "{self.manager}"{through}{version}'


@dataclass(frozen=True, slots=True)
class Owned:
    """The fields of one writer, and since when they are these."""

    paths: frozenset[Path]
    time: str


Owners = dict[Writer, Owned]


def after_update(resource: Resource, old: Json | None, new: Json, writer: Writer, time: str) -> Json:
    """`new` with the managedFields that a create, update or patch leaves. The same fields if nothing changed."""
    shape = shape_of(resource)
    before = {} if old is None else old
    # A client may edit the managedFields themselves (kubectl does when it takes over from client-side apply).
    said = new["metadata"].get("managedFields")
    owners = _read(said) if said is not None else ({} if old is None else _read(_entries(old)))
    found = list(fieldsets.differences(before, new, shape))
    touched = _owned(resource, (path for path, _ in found), writer)
    gained = _owned(resource, (path for path, there in found if there), writer)
    kept = {other: _less(item, touched, time) for other, item in owners.items() if other != writer}
    mine = owners.get(writer, Owned(frozenset(), time))
    paths = (mine.paths - touched) | gained
    kept[writer] = mine if paths == mine.paths else Owned(paths, time)
    return _written(new, kept)


def after_apply(
    resource: Resource, old: Json | None, applied: Json, writer: Writer, time: str, *, force: bool = False
) -> Json:
    """The object that a server-side apply of `applied` leaves. Raises ApiError 409 with a cause per conflict."""
    shape = shape_of(resource)
    live = old or {}
    owners = _read(_entries(live))
    if old is not None and not owners:
        everything = _owned(resource, fieldsets.leaves(old, shape), replace(writer, subresource=""))
        owners = {Writer(BEFORE_FIRST_APPLY, "Update", writer.api_version): Owned(everything, time)}
    stated = _owned(resource, fieldsets.leaves(applied, shape), writer)
    merged = merge_applied(live, drop(applied, ("metadata", "managedFields")), shape)
    changed = frozenset(path for path, there in fieldsets.differences(live, merged, shape) if there)
    others = {other: item for other, item in owners.items() if other != writer}
    conflicts = {other: item.paths & changed & stated for other, item in others.items()}
    taken_over = last_applied.unchanged_paths(live, shape) if writer.manager == last_applied.KUBECTL else frozenset()
    if any(paths - taken_over for paths in conflicts.values()) and not force:
        raise _conflict({other: paths for other, paths in conflicts.items() if paths})
    others = {other: _less(item, conflicts[other], time) for other, item in others.items()}
    mine = owners.get(writer, Owned(frozenset(), time))
    elsewhere = frozenset[Path]().union(*(item.paths for item in others.values()))
    if writer.manager == last_applied.KUBECTL:
        merged = last_applied.updated(merged, applied)
    merged = remove_paths(merged, mine.paths - stated - elsewhere, stated | elsewhere, shape)
    return _written(merged, {**others, writer: mine if stated == mine.paths else Owned(stated, time)})


def _owned(resource: Resource, paths: Iterable[Path], writer: Writer) -> frozenset[Path]:
    return fieldsets.owned(paths, writer.subresource, has_status="status" in resource.subresources)


def _less(item: Owned, paths: frozenset[Path], time: str) -> Owned:
    left = item.paths - paths
    return item if left == item.paths else Owned(left, time)


def _entries(body: Json) -> Sequence[Json]:
    entries: Sequence[Json] = body.get("metadata", {}).get("managedFields") or ()
    return entries


def _read(entries: Sequence[Json]) -> Owners:
    owners: Owners = {}
    for entry in entries:
        if not entry.get("manager"):
            continue
        writer = Writer(entry["manager"], entry["operation"], entry["apiVersion"], entry.get("subresource", ""))
        owners[writer] = Owned(frozenset(fieldsets.from_fields(entry.get("fieldsV1") or {})), entry.get("time", ""))
    return owners


def _written(body: Json, owners: Owners) -> Json:
    entries = [_entry(writer, item) for writer, item in owners.items() if item.paths]
    entries.sort(key=lambda entry: (entry["operation"], entry["time"], entry["manager"], entry.get("subresource", "")))
    if not entries:
        return drop(body, ("metadata", "managedFields"))
    return put(body, ("metadata", "managedFields"), entries)


def _entry(writer: Writer, item: Owned) -> Json:
    entry: Json = {
        "manager": writer.manager,
        "operation": writer.operation,
        "apiVersion": writer.api_version,
        "time": item.time,
        "fieldsType": "FieldsV1",
        "fieldsV1": fieldsets.to_fields(item.paths),
    }
    return {**entry, "subresource": writer.subresource} if writer.subresource else entry


def _conflict(found: dict[Writer, frozenset[Path]]) -> ApiError:
    causes = [
        {"reason": "FieldManagerConflict", "message": str(writer), "field": fieldsets.dotted(path)}
        for writer, paths in found.items()
        for path in sorted(paths)
    ]
    if len(causes) == 1:
        message = f"Apply failed with 1 conflict: {causes[0]['message']}: {causes[0]['field']}"
    else:
        listed = "".join(
            f"\n{str(writer).replace('conflict', 'conflicts', 1)}:"
            + "".join(f"\n- {fieldsets.dotted(path)}" for path in sorted(paths))
            for writer, paths in found.items()
        ).removeprefix("\n")
        message = f"Apply failed with {len(causes)} conflicts: {listed}"
    return ApiError(409, "Conflict", message, details={"causes": causes})
