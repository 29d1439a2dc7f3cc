"""Validation of a value against its schema, without the CEL rules. Unchanged values are not refused (ratcheting)."""

from collections import Counter
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
    show,
    too_long,
    too_many,
    type_name,
    wrong_type,
)
from simulator.kube.schema_node import Node


def value_errors(new: Any, old: Any, node: Node, path: str, *, root: bool = False) -> Iterator[FieldError]:
    """Every error below `path`. `old` is the stored value, None where there is none."""
    if old is not None and same(new, old):
        return
    if new is None and node.nullable:
        return
    if "enum" in node.constraints and new not in node.constraints["enum"]:
        yield not_supported(path, new, node.constraints["enum"])
    if not _has_type(new, node.type):
        yield wrong_type(path, new, node.type)
        return
    if isinstance(new, dict):
        yield from _object_errors(new, old if isinstance(old, dict) else {}, node, path, root=root)
    elif isinstance(new, list):
        yield from _list_errors(new, old if isinstance(old, list) else [], node, path)
    elif isinstance(new, str):
        yield from _string_errors(new, node, path)
    elif not isinstance(new, bool):
        yield from _number_errors(new, node, path)


def same(new: Any, old: Any) -> bool:
    """Equal as JSON: in Python True equals 1 and 1.0, there it does not."""
    if type(new) is not type(old) or new != old:
        return False
    if isinstance(new, dict):
        return all(same(item, old[key]) for key, item in new.items())
    if isinstance(new, list):
        return all(same(item, previous) for item, previous in zip(new, old, strict=True))
    return True


def _has_type(value: Any, wanted: str) -> bool:
    """Whether a JSON value has an OpenAPI type; a number without a fraction (2.0) is an integer too."""
    found = type_name(value)
    if wanted == "integer" and found == "number":
        return float(value).is_integer()
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
    if not any(_duplicates(old, node, path)):
        yield from _duplicates(new, node, path)


def correlated(new: list[Any], old: list[Any], node: Node) -> list[Any]:
    """For each item of `new` the old item that it continues: by keys in a list of type `map`, else none."""
    if node.list_type != "map":
        return [None] * len(new)
    by_key = {show(_key(item, node)): item for item in old}
    return [by_key.get(show(_key(item, node))) for item in new]


def _key(item: Any, node: Node) -> Any:
    """What tells items of a list of type `map` or `set` apart."""
    if node.list_type == "map":
        return {name: item[name] for name in node.list_keys if isinstance(item, dict) and name in item}
    return item


def _duplicates(new: list[Any], node: Node, path: str) -> Iterator[FieldError]:
    """The second of equal items, and of a list of type `map` also the first item that is no object."""
    if node.list_type == "atomic":
        return
    for i, item in enumerate(new):
        if node.list_type == "map" and item is not None and not isinstance(item, dict):
            yield invalid(f"{path}[{i}]", item, "must be an object for an array of list-type map")
            return
    seen: Counter[str] = Counter()
    for i, item in enumerate(new):
        key = _key(item, node)
        seen[show(key)] += 1
        if seen[show(key)] == 2:
            yield duplicate(f"{path}[{i}]", key)


def _string_errors(new: str, node: Node, path: str) -> Iterator[FieldError]:
    """Of length and pattern an API server names only the first that fails."""
    limit, least = node.constraints.get("maxLength"), node.constraints.get("minLength", 0)
    if limit is not None and len(new) > limit:
        yield too_long(path, limit)
    elif len(new) < least:
        yield invalid(path, new, f"{path} in body should be at least {least} chars long")
    elif node.pattern is not None and not node.pattern.search(new):
        yield invalid(path, new, f"{path} in body should match '{node.constraints['pattern']}'")
    if node.constraints.get("format") == "date-time" and not _is_time(new):
        shown = show(new)
        detail = f"Invalid value: {shown}: {path} in body must be of type date-time: {shown}"
        yield FieldError(path, detail, "FieldValueTypeInvalid")


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
