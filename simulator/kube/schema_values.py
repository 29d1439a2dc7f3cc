"""Validation of a value against its schema, without the CEL rules. Unchanged values are not refused (ratcheting)."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from simulator.kube.schema_defaults import ROOT_FIELDS, child_of
from simulator.kube.schema_errors import (
    FieldError,
    duplicate,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
    type_name,
    wrong_type,
)
from simulator.kube.schema_node import Node

_INT_RANGE = {"int32": 2**31, "int64": 2**63}


def value_errors(new: Any, old: Any, node: Node, path: str, *, root: bool = False) -> Iterator[FieldError]:
    """Every error below `path`. `old` is the stored value, None where there is none."""
    if old is not None and new == old:
        return
    if new is None and node.nullable:
        return
    if not _has_type(new, node.type):
        yield wrong_type(path, new, node.type)
        return
    if "enum" in node.constraints and new not in node.constraints["enum"]:
        yield not_supported(path, new, node.constraints["enum"])
    if isinstance(new, dict):
        yield from _object_errors(new, old if isinstance(old, dict) else {}, node, path, root=root)
    elif isinstance(new, list):
        yield from _list_errors(new, old if isinstance(old, list) else [], node, path)
    elif isinstance(new, str):
        yield from _string_errors(new, node, path)
    elif not isinstance(new, bool):
        yield from _number_errors(new, node, path)


def _has_type(value: Any, wanted: str) -> bool:
    found = type_name(value)
    return found == wanted or (wanted == "number" and found == "integer")


def _object_errors(
    new: dict[str, Any], old: dict[str, Any], node: Node, path: str, *, root: bool
) -> Iterator[FieldError]:
    limit = node.constraints.get("maxProperties")
    if limit is not None and len(new) > limit:
        yield too_many(path, len(new), limit)
    least = node.constraints.get("minProperties", 0)
    if len(new) < least:
        yield invalid(path, len(new), f"{path} in body should have at least {least} properties")
    for name in node.required:
        if name not in new:
            yield required(f"{path}.{name}" if path else name)
    for key, item in new.items():
        child = child_of(node, key)
        if child is None or (root and key in ROOT_FIELDS):
            continue
        yield from value_errors(item, old.get(key), child, f"{path}.{key}" if path else key)


def _list_errors(new: list[Any], old: list[Any], node: Node, path: str) -> Iterator[FieldError]:
    limit = node.constraints.get("maxItems")
    if limit is not None and len(new) > limit:
        yield too_many(path, len(new), limit)
    least = node.constraints.get("minItems", 0)
    if len(new) < least:
        yield invalid(path, len(new), f"{path} in body should have at least {least} items")
    before = correlated(new, old, node)
    for i, item in enumerate(new):
        if node.items is not None:
            yield from value_errors(item, before[i], node.items, f"{path}[{i}]")
    yield from _duplicates(new, node, path)


def correlated(new: list[Any], old: list[Any], node: Node) -> list[Any]:
    """For each item of `new` the old item that it continues: by keys in a list of type `map`, else none."""
    if node.list_type != "map":
        return [None] * len(new)
    by_key = {_key(item, node): item for item in old if isinstance(item, dict)}
    return [by_key.get(_key(item, node)) if isinstance(item, dict) else None for item in new]


def _key(item: dict[str, Any], node: Node) -> tuple[str, ...]:
    return tuple(repr(item.get(name)) for name in node.list_keys)


def _duplicates(new: list[Any], node: Node, path: str) -> Iterator[FieldError]:
    if node.list_type == "atomic":
        return
    seen = set()
    for i, item in enumerate(new):
        key = _key(item, node) if node.list_type == "map" and isinstance(item, dict) else (repr(item),)
        if key in seen:
            shown = {k: item.get(k) for k in node.list_keys} if node.list_type == "map" else item
            yield duplicate(f"{path}[{i}]", shown)
        seen.add(key)


def _string_errors(new: str, node: Node, path: str) -> Iterator[FieldError]:
    limit = node.constraints.get("maxLength")
    if limit is not None and len(new) > limit:
        yield too_long(path, limit)
    least = node.constraints.get("minLength", 0)
    if len(new) < least:
        yield invalid(path, new, f"{path} in body should be at least {least} chars long")
    if node.pattern is not None and not node.pattern.search(new):
        yield invalid(path, new, f"{path} in body should match '{node.constraints['pattern']}'")
    if node.constraints.get("format") == "date-time" and not _is_time(new):
        yield FieldError(
            path, f'Invalid value: "{new}": {path} in body must be of type date-time: "{new}"', "FieldValueTypeInvalid"
        )


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _number_errors(new: float, node: Node, path: str) -> Iterator[FieldError]:
    least, most = node.constraints.get("minimum"), node.constraints.get("maximum")
    if least is not None and new < least:
        yield invalid(path, new, f"{path} in body should be greater than or equal to {least}")
    if most is not None and new > most:
        yield invalid(path, new, f"{path} in body should be less than or equal to {most}")
    bound = _INT_RANGE.get(node.constraints.get("format", ""))
    if bound is not None and not -bound <= new < bound:
        fmt = node.constraints["format"]
        yield invalid(path, new, f'{path} in body must be of type {fmt}: "{new}"')
