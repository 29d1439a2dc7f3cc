"""Strategic merge patch for the built-in kinds, as far as kubectl sends it (apply, edit, label, patch).

Lists merge by the key that k8s.io/api's `patchMergeKey` markers name; `$patch`, `$deleteFromPrimitiveList` and
`$retainKeys` are understood, the order of elements is not. Custom resources refuse this form (415), as on a real one.
"""

from typing import Any

from simulator.seams import Json

#: patchMergeKey by field name; the fields in `_PRIMITIVE` are sets of plain values.
_KEYS = {
    "addresses": "type",
    "conditions": "type",
    "containers": "name",
    "env": "name",
    "imagePullSecrets": "name",
    "initContainers": "name",
    "ownerReferences": "uid",
    "ports": "containerPort",
    "secrets": "name",
    "volumeMounts": "mountPath",
    "volumes": "name",
}
_PRIMITIVE = frozenset({"finalizers", "podCIDRs"})
_DELETE = "$deleteFromPrimitiveList/"


def merge(target: Any, patch: Any) -> Any:
    """`target` with the patch applied; neither is mutated."""
    if not isinstance(patch, dict):
        return patch
    if patch.get("$patch") == "replace":
        return {key: value for key, value in patch.items() if key != "$patch"}
    old = target if isinstance(target, dict) else {}
    merged = dict(old)
    if "$retainKeys" in patch:
        merged = {key: value for key, value in merged.items() if key in patch["$retainKeys"]}
    for key, value in patch.items():
        if key.startswith(_DELETE):
            field = key.removeprefix(_DELETE)
            merged[field] = [item for item in merged.get(field) or () if item not in value]
        elif key.startswith("$"):
            continue
        elif value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merge_field(key, merged.get(key), value)
    return merged


def _merge_field(key: str, old: Any, value: Any) -> Any:
    if not isinstance(value, list):
        return merge(old, value)
    items = old if isinstance(old, list) else []
    if key in _PRIMITIVE:
        return [*items, *(item for item in value if item not in items)]
    if key not in _KEYS or not all(isinstance(item, dict) for item in value):
        return value
    return _merge_list(items, value, _KEYS[key])


def _merge_list(old: list[Json], patch: list[Json], key: str) -> list[Json]:
    if {"$patch": "replace"} in patch:
        return [item for item in patch if item != {"$patch": "replace"}]
    merged = {item.get(key): item for item in old}
    for item in patch:
        if item.get("$patch") == "delete":
            merged.pop(item.get(key), None)
        else:
            merged[item.get(key)] = merge(merged.get(item.get(key)), item)
    return list(merged.values())
