"""A structural schema, read once into nodes: what an API server accepts as `openAPIV3Schema`, or a SchemaError.

A keyword that is not enforced here is refused, so that no constraint is ever silently ignored.
"""

import re
from dataclasses import dataclass, field
from typing import Any, Final

from simulator.kube.cel import Rule, compile_rules
from simulator.kube.schema_errors import SchemaError
from simulator.seams import Json

_TYPES: Final = frozenset({"object", "array", "string", "integer", "number", "boolean"})
_ENFORCED: Final = frozenset(
    {
        "type", "nullable", "default", "enum", "pattern", "format", "minimum", "maximum", "minLength", "maxLength",
        "minItems", "maxItems", "minProperties", "maxProperties", "required", "properties", "items",
        "additionalProperties", "x-kubernetes-validations", "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type",
    }
)  # fmt: skip
_DOCUMENTATION: Final = frozenset({"description", "title", "example", "externalDocs"})
_FORMATS: Final = frozenset({"", "date-time", "int32", "int64", "double", "float"})


@dataclass(frozen=True, slots=True)
class Node:
    """The schema of one value. `constraints` are the keywords of its own value, by their OpenAPI names."""

    type: str
    nullable: bool
    constraints: Json
    pattern: re.Pattern[str] | None
    required: tuple[str, ...]
    properties: dict[str, "Node"]
    items: "Node | None"
    additional: "Node | None"
    preserve: bool
    rules: tuple[Rule, ...]
    default: Any = None
    list_type: str = "atomic"
    list_keys: tuple[str, ...] = field(default=())

    @property
    def is_map(self) -> bool:
        """True for an object with free keys."""
        return self.additional is not None


def compile_node(raw: Json, path: str, *, root: bool = False) -> Node:
    """Read one schema; `path` is its place in the CRD, for errors."""
    _check_keywords(raw, path)
    properties = {k: compile_node(v, f"{path}.properties[{k}]") for k, v in raw.get("properties", {}).items()}
    items = compile_node(raw["items"], f"{path}.items") if "items" in raw else None
    extra = raw.get("additionalProperties")
    additional = compile_node(extra, f"{path}.additionalProperties") if isinstance(extra, dict) else None
    preserve = bool(raw.get("x-kubernetes-preserve-unknown-fields", False))
    node = Node(
        type=raw["type"],
        nullable=bool(raw.get("nullable", False)),
        constraints={
            k: raw[k] for k in _ENFORCED & set(raw) if k.startswith(("min", "max", "enum", "format", "pattern"))
        },
        pattern=compile_pattern(raw["pattern"], path) if "pattern" in raw else None,
        required=tuple(raw.get("required", ())),
        properties=properties,
        items=items,
        additional=additional,
        preserve=preserve,
        rules=(),
        default=raw.get("default"),
        list_type=raw.get("x-kubernetes-list-type", "atomic"),
        list_keys=tuple(raw.get("x-kubernetes-list-map-keys", ())),
    )
    rules = compile_rules(raw.get("x-kubernetes-validations", ()), path, lambda names: _knows(node, names, root=root))
    return node if not rules else _with_rules(node, rules)


def _with_rules(node: Node, rules: tuple[Rule, ...]) -> Node:
    fields = {name: getattr(node, name) for name in Node.__slots__}
    return Node(**{**fields, "rules": rules})


def _check_keywords(raw: Json, path: str) -> None:
    if raw.get("type") not in _TYPES:
        raise SchemaError(f"{path}.type: {raw.get('type')!r} is not one of {', '.join(sorted(_TYPES))}")
    if unknown := sorted(set(raw) - _ENFORCED - _DOCUMENTATION):
        raise SchemaError(f"{path}.{unknown[0]}: this API server does not know the keyword")
    if (fmt := raw.get("format", "")) not in _FORMATS:
        raise SchemaError(f"{path}.format: this API server does not know the format {fmt!r}")
    if "properties" in raw and "additionalProperties" in raw:
        raise SchemaError(f"{path}.additionalProperties: must not be used together with properties")
    if raw["type"] == "array" and "items" not in raw:
        raise SchemaError(f"{path}.items: Required value: must be specified")


def _knows(node: Node, names: list[str], *, root: bool) -> bool:
    """Whether `self.a.b` can be a field; a map or preserved object takes any key."""
    for i, name in enumerate(names):
        if root and i == 0 and name in {"metadata", "apiVersion", "kind"}:
            return names[1:] in ([], ["name"], ["generateName"])
        if node.is_map or node.preserve:
            return True
        if name not in node.properties:
            return False
        node = node.properties[name]
    return True


def compile_pattern(pattern: str, path: str) -> re.Pattern[str]:
    """A Go (RE2) pattern for Python: there `$` means the very end, here it would allow a newline after it."""
    strict = re.sub(r"(?<!\\)((?:\\\\)*)\$", r"\1\\Z", pattern)
    try:
        return re.compile(strict)
    except re.error as error:
        raise SchemaError(f"{path}.pattern: {pattern!r} is not a regular expression: {error}") from error
