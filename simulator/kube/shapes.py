"""How lists and maps of an object merge: by key, as a set, or as one value.

For custom resources the CRD's `x-kubernetes-list-type`, `-list-map-keys` and `-map-type` say it; for the built-in kinds
a table by field name does, taken from the markers in k8s.io/api (types.go). Used by server-side apply.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

from simulator.kube.resources import Resource

ListType = Literal["atomic", "set", "map"]


@dataclass(frozen=True, slots=True)
class Shape:
    """The merge rules of one value. `children` of a map by key; `items` of a list; missing ones are `ANY`."""

    list_type: ListType = "atomic"
    keys: tuple[str, ...] = ()
    atomic: bool = False
    children: Mapping[str, "Shape"] = field(default_factory=dict)
    rest: "Shape | None" = None
    items: "Shape | None" = None

    def child(self, key: str) -> "Shape":
        """The shape of a map's value."""
        return self.children.get(key) or self.rest or ANY

    def item(self) -> "Shape":
        """The shape of a list's items."""
        return self.items or ANY

    def element(self, item: Any) -> str:
        """The path element of a list item in the notation of FieldsV1: `k:{"type":"Ready"}` or `v:"x"`."""
        if self.list_type == "map" and isinstance(item, dict):
            key = {name: item.get(name) for name in sorted(self.keys)}
            return "k:" + json.dumps(key, separators=(",", ":"), ensure_ascii=False)
        return "v:" + json.dumps(item, separators=(",", ":"), ensure_ascii=False)


#: Where no schema says more: maps merge, lists are one value.
ANY = Shape()
_OWNERS = Shape(list_type="map", keys=("uid",), items=Shape(atomic=True))
_METADATA = Shape(children={"ownerReferences": _OWNERS, "finalizers": Shape(list_type="set")})


@lru_cache(maxsize=256)
def shape_of(resource: Resource) -> Shape:
    """The shape of a resource's objects."""
    if not resource.custom:
        return _BUILTIN
    root = _from_openapi(resource.openapi)
    return Shape(children={**root.children, "metadata": _METADATA}, rest=root.rest)


def _from_openapi(schema: Mapping[str, Any]) -> Shape:
    extra = schema.get("additionalProperties")
    items = schema.get("items")
    return Shape(
        list_type=schema.get("x-kubernetes-list-type", "atomic"),
        keys=tuple(schema.get("x-kubernetes-list-map-keys", ())),
        atomic=schema.get("x-kubernetes-map-type") == "atomic",
        children={key: _from_openapi(child) for key, child in schema.get("properties", {}).items()},
        rest=_from_openapi(extra) if isinstance(extra, dict) else None,
        items=_from_openapi(items) if isinstance(items, dict) else None,
    )


class _ByName(Mapping[str, Shape]):
    """The children of any built-in map: the shape depends on the field's name alone."""

    def __getitem__(self, key: str) -> Shape:
        return _FIELDS.get(key, _BUILTIN)

    def get(self, key: str, default: Any = None) -> Any:
        del default
        return self[key]

    def __iter__(self) -> Any:
        return iter(_FIELDS)

    def __len__(self) -> int:
        return len(_FIELDS)


_BUILTIN = Shape(children=_ByName())


def _keyed(*keys: str) -> Shape:
    return Shape(list_type="map", keys=keys, items=_BUILTIN)


_ATOMIC_MAP = Shape(atomic=True)
_FIELDS: dict[str, Shape] = {
    "metadata": _METADATA,
    "addresses": _keyed("type"),
    "conditions": _keyed("type"),
    "containers": _keyed("name"),
    "env": _keyed("name"),
    "imagePullSecrets": _keyed("name"),
    "initContainers": _keyed("name"),
    "podIPs": _keyed("ip"),
    "ports": _keyed("containerPort", "protocol"),
    "secrets": _keyed("name"),
    "volumeMounts": _keyed("mountPath"),
    "volumes": _keyed("name"),
    "podCIDRs": Shape(list_type="set"),
    "involvedObject": _ATOMIC_MAP,
    "nodeSelector": _ATOMIC_MAP,
    "roleRef": _ATOMIC_MAP,
    "selector": _ATOMIC_MAP,
}
