"""What an API server does with the schema of a custom resource. Pure: no store, no clock.

It may be stricter than an API server only about the CRD itself (an unknown keyword is refused), never about an object.
"""

from collections.abc import Iterator
from typing import Any

from simulator.kube.cel import Scope
from simulator.kube.schema_defaults import ROOT_FIELDS, apply_defaults, child_of, pruned, unknown_fields
from simulator.kube.schema_errors import BLOCKING, FieldError, SchemaError, rules_not_checked
from simulator.kube.schema_node import Node, compile_node
from simulator.kube.schema_values import correlated, same, value_errors
from simulator.seams import Json

__all__ = ["FieldError", "SchemaError", "StructuralSchema"]


class StructuralSchema:
    """The `openAPIV3Schema` of one version of a CRD. Raises SchemaError if an API server would refuse the CRD."""

    def __init__(self, openapi: Json) -> None:
        self._root = compile_node(openapi, "openAPIV3Schema", root=True)

    def prune_and_default(self, obj: Json) -> Json:
        """A new object without unknown fields and with defaults. `apiVersion`, `kind` and `metadata` stay as given."""
        result: Json = pruned(obj, self._root, root=True)
        apply_defaults(result, self._root)
        return result

    def unknown_fields(self, obj: Json) -> list[str]:
        """Paths that pruning drops: an error under fieldValidation=Strict, a warning under Warn."""
        return list(unknown_fields(obj, self._root, root=True))

    def validate(self, new: Json, old: Json | None) -> list[FieldError]:
        """Why `new` (pruned and defaulted) may not be stored; `old` is the stored object, None for a creation.

        CEL rules are not run when an earlier error blocks them; a last error then says so.
        """
        errors = list(value_errors(new, old, self._root, "", root=True))
        if any(error.reason in BLOCKING for error in errors):
            return [*errors, rules_not_checked()]
        return [*errors, *_rule_errors(new, old, self._root, "", root=True)]


def _rule_errors(new: Any, old: Any, node: Node, path: str, *, root: bool = False) -> Iterator[FieldError]:
    if new is None:
        return
    if node.rules:
        scope = Scope(_root_view(new, node) if root else new, _root_view(old, node) if root else old)
        yield from scope.failures(node.rules, path, node.type, unchanged=old is not None and same(new, old))
    if isinstance(new, dict):
        before = old if isinstance(old, dict) else {}
        for key, item in new.items():
            child = child_of(node, key)
            if child is not None and not (root and key in ROOT_FIELDS):
                yield from _rule_errors(item, before.get(key), child, f"{path}.{key}" if path else key)
    elif isinstance(new, list) and node.items is not None:
        pairs = zip(new, correlated(new, old if isinstance(old, list) else [], node), strict=True)
        for i, (item, previous) in enumerate(pairs):
            yield from _rule_errors(item, previous, node.items, f"{path}[{i}]")


def _root_view(obj: Json | None, node: Node) -> Json | None:
    """What root rules may see: of metadata only the name and generateName."""
    if obj is None:
        return None
    view = {key: obj[key] for key in node.properties.keys() & obj.keys()}
    names = {key: value for key, value in obj.get("metadata", {}).items() if key in {"name", "generateName"}}
    return view | {"apiVersion": obj.get("apiVersion", ""), "kind": obj.get("kind", ""), "metadata": names}
