"""CustomResourceDefinitions: checked as they come, served as soon as they are stored, cleaned up when they go.

A definition being deleted takes its objects with it, and stays until the last of them is gone.
"""

from collections.abc import Iterator
from dataclasses import replace

from simulator.clock import kube_time
from simulator.kube import errors
from simulator.kube.builtins import CRDS
from simulator.kube.columns import AGE, NAME
from simulator.kube.edit import dig, drop, put
from simulator.kube.errors import Cause
from simulator.kube.history import Change, encode
from simulator.kube.resources import Column, Registry, Resource
from simulator.kube.schema import SchemaError, StructuralSchema
from simulator.kube.store import Store
from simulator.seams import Json

CLEANUP = "customresourcecleanup.apiextensions.k8s.io"


class SchemaCache:
    """Compiled schemas: compiling the CEL rules of one costs far more than anything else here."""

    def __init__(self) -> None:
        self._compiled: dict[bytes, StructuralSchema] = {}

    def compiled(self, openapi: Json) -> StructuralSchema:
        """The schema, compiled. Raises SchemaError."""
        key = encode(openapi)
        if key not in self._compiled:
            self._compiled[key] = StructuralSchema(openapi)
        return self._compiled[key]


class CustomResources:
    """Keeps the registry in step with the stored definitions."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._schemas = SchemaCache()
        self._terminating: dict[str, str] = {}
        builtin = store.registry.by_id(CRDS)
        store.registry.add(replace(builtin, check=self.check, on_create=completed))
        for definition in store.list(CRDS):
            self._serve(definition)
        store.subscribe(self._changed)

    def check(self, new: Json, old: Json | None) -> Iterator[Cause]:
        """Why a definition may not be stored."""
        spec = new.get("spec") or {}
        names = spec.get("names") or {}
        expected = f"{names.get('plural')}.{spec.get('group')}"
        if new["metadata"].get("name") != expected:
            why = f'Invalid value: "{new["metadata"].get("name")}": must be spec.names.plural+"."+spec.group'
            yield Cause("metadata.name", "FieldValueInvalid", why)
        if spec.get("scope") not in {"Cluster", "Namespaced"}:
            yield Cause("spec.scope", "FieldValueRequired", "Required value")
        if sum(bool(item.get("storage")) for item in spec.get("versions") or ()) != 1:
            why = "Invalid value: must have exactly one version marked as storage version"
            yield Cause("spec.versions", "FieldValueInvalid", why)
        for index, version in enumerate(spec.get("versions") or ()):
            yield from self._schema_errors(version, f"spec.versions[{index}].schema.openAPIV3Schema")
        for path in (("spec", "group"), ("spec", "scope"), ("spec", "names", "kind"), ("spec", "names", "plural")):
            if old is not None and dig(new, path) != dig(old, path):
                why = f'Invalid value: "{dig(new, path)}": field is immutable'
                yield Cause(".".join(path), "FieldValueInvalid", why)

    def _schema_errors(self, version: Json, path: str) -> Iterator[Cause]:
        openapi = dig(version, ("schema", "openAPIV3Schema"))
        if openapi is None:
            yield Cause(path, "FieldValueRequired", "Required value: schemas are required")
            return
        try:
            self._schemas.compiled(openapi)
        except SchemaError as wrong:
            yield Cause(path, "FieldValueInvalid", f"Invalid value: {wrong}")

    def _changed(self, change: Change) -> None:
        if change.resource != CRDS:
            if change.type == "DELETED" and change.resource in self._terminating:
                self._finish(change.resource)
            return
        if change.type == "DELETED":
            self._store.registry.remove(change.stored.name)
            self._terminating.pop(change.stored.name, None)
        elif "deletionTimestamp" in change.object["metadata"]:
            self._clean_up(change.object)
        elif change.before is None or change.before["spec"] != change.object["spec"]:
            self._serve(change.object)

    def _serve(self, definition: Json) -> None:
        registry: Registry = self._store.registry
        registry.remove(definition["metadata"]["name"])
        for version in definition["spec"]["versions"]:
            if version.get("served"):
                registry.add(self._resource(definition["spec"], version), storage=bool(version.get("storage")))
        established = _established(definition, kube_time(self._store.now()))
        name = definition["metadata"]["name"]
        self._store.modify(CRDS, None, name, lambda body: {**body, "status": established}, subresource="status")

    def _resource(self, spec: Json, version: Json) -> Resource:
        names = spec["names"]
        openapi = version["schema"]["openAPIV3Schema"]
        return Resource(
            group=spec["group"],
            version=version["name"],
            plural=names["plural"],
            kind=names["kind"],
            namespaced=spec["scope"] == "Namespaced",
            singular=names.get("singular") or names["kind"].lower(),
            list_kind=names.get("listKind") or f"{names['kind']}List",
            short_names=tuple(names.get("shortNames") or ()),
            categories=tuple(names.get("categories") or ()),
            subresources=("status",) if "status" in (version.get("subresources") or {}) else (),
            counts_generation=True,
            custom=True,
            columns=_columns(version.get("additionalPrinterColumns") or []),
            schema=self._schemas.compiled(openapi),
            openapi=openapi,
        )

    def _clean_up(self, definition: Json) -> None:
        name = definition["metadata"]["name"]
        if name in self._terminating or CLEANUP not in definition["metadata"].get("finalizers", ()):
            return
        self._terminating[name] = name
        for item in self._store.list(name):
            self._store.delete(name, item["metadata"].get("namespace"), item["metadata"]["name"])
        self._finish(name)

    def _finish(self, name: str) -> None:
        if self._store.list(name) or self._store.find(CRDS, None, name) is None:
            return
        self._store.modify(CRDS, None, name, _without_cleanup)


def _without_cleanup(definition: Json) -> Json:
    left = [item for item in definition["metadata"].get("finalizers", ()) if item != CLEANUP]
    return put(definition, ("metadata", "finalizers"), left) if left else drop(definition, ("metadata", "finalizers"))


def completed(definition: Json) -> Json:
    """A new definition with what the server fills in."""
    names = definition["spec"]["names"]
    kind = names["kind"]
    definition = put(definition, ("spec", "names"), {"singular": kind.lower(), "listKind": f"{kind}List", **names})
    return put(definition, ("spec", "conversion"), definition["spec"].get("conversion") or {"strategy": "None"})


def held_for_cleanup(store: Store, name: str) -> None:
    """Before a definition is deleted: the finalizer that keeps it until its objects are gone."""
    definition = store.find(CRDS, None, name)
    if definition is None:
        raise errors.not_found("apiextensions.k8s.io", "customresourcedefinitions", name)
    present = definition["metadata"].get("finalizers") or []
    if CLEANUP not in present and "deletionTimestamp" not in definition["metadata"]:
        store.modify(CRDS, None, name, lambda body: put(body, ("metadata", "finalizers"), [*present, CLEANUP]))


def _columns(additional: list[Json]) -> tuple[Column, ...]:
    if not additional:
        return (NAME, AGE)
    stated = [
        Column(
            item["name"],
            item["type"],
            item["jsonPath"],
            item.get("format", ""),
            item.get("description", ""),
            item.get("priority", 0),
        )
        for item in additional
    ]
    return (NAME, *stated)


def _established(definition: Json, now: str) -> Json:
    spec = definition["spec"]
    present = dig(definition, ("status", "conditions"))
    conditions = present or [
        _condition("NamesAccepted", "NoConflicts", "no conflicts found", now),
        _condition("Established", "InitialNamesAccepted", "the initial names have been accepted", now),
    ]
    stored = [item["name"] for item in spec["versions"] if item.get("storage")]
    return {"conditions": conditions, "acceptedNames": spec["names"], "storedVersions": stored}


def _condition(kind: str, reason: str, message: str, now: str) -> Json:
    return {"type": kind, "status": "True", "lastTransitionTime": now, "reason": reason, "message": message}
