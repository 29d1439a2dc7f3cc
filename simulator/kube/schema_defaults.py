"""Pruning and defaulting, as an API server does them before it validates."""

import copy
from collections.abc import Iterator
from typing import Any, Final

from simulator.kube.schema_node import Node

#: Never pruned at the root: the API server's own business.
ROOT_FIELDS: Final = frozenset({"apiVersion", "kind", "metadata"})


def pruned(value: Any, node: Node, *, root: bool = False) -> Any:
    """A deep copy without fields that the schema does not know."""
    if isinstance(value, dict):
        result = {}
        for key, item in value.items():
            child = child_of(node, key)
            if root and key in ROOT_FIELDS:
                result[key] = copy.deepcopy(item)
            elif child is not None:
                result[key] = pruned(item, child)
            elif node.preserve:
                result[key] = copy.deepcopy(item)
        return result
    if isinstance(value, list) and node.items is not None:
        return [pruned(item, node.items) for item in value]
    return copy.deepcopy(value)


def unknown_fields(value: Any, node: Node, path: str = "", *, root: bool = False) -> Iterator[str]:
    """Paths that pruning would drop, for `fieldValidation=Strict` (`unknown field "spec.x"`)."""
    if isinstance(value, dict):
        for key, item in value.items():
            if root and key in ROOT_FIELDS:
                continue
            here = f"{path}.{key}" if path else key
            child = child_of(node, key)
            if child is not None:
                yield from unknown_fields(item, child, here)
            elif not node.preserve:
                yield here
    elif isinstance(value, list) and node.items is not None:
        for i, item in enumerate(value):
            yield from unknown_fields(item, node.items, f"{path}[{i}]")


def child_of(node: Node, key: str) -> Node | None:
    """The schema of a field, of a named property or of a free key."""
    return node.properties.get(key, node.additional)


def apply_defaults(value: Any, node: Node) -> None:
    """Fill defaults in place. A null where none may be counts as absent: it is dropped, or replaced by the default."""
    if isinstance(value, dict):
        for key in [key for key, item in value.items() if item is None and _is_not_nullable(child_of(node, key))]:
            del value[key]
        for key, child in node.properties.items():
            if child.default is not None and key not in value:
                value[key] = copy.deepcopy(child.default)
        for key, item in value.items():
            child_node = child_of(node, key)
            if child_node is not None:
                apply_defaults(item, child_node)
    elif isinstance(value, list) and node.items is not None:
        for item in value:
            apply_defaults(item, node.items)


def _is_not_nullable(node: Node | None) -> bool:
    return node is not None and not node.nullable
