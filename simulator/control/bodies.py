"""Checks the JSON bodies of the control face. Every refusal names the field, what it was, and what it may be."""

from collections.abc import Mapping
from typing import Any

from simulator.seams import Json

__all__ = ["BodyError", "capacity", "permission", "template"]


class BodyError(ValueError):
    """A body that cannot be used."""


def template(body: Any) -> tuple[str, Json, bool, str]:
    """`{name, properties, joins?, project?}` -> (name, properties, joins, project)."""
    fields = _fields(body, required={"name": str, "properties": dict}, optional={"joins": bool, "project": str})
    return fields["name"], fields["properties"], fields.get("joins", False), fields.get("project", "my-gcp-project")


def capacity(body: Any) -> tuple[str, str, int | None]:
    """`{zone, machineType, available}` -> the same; `available` null is without limit."""
    fields = _fields(body, required={"zone": str, "machineType": str, "available": (int, type(None))}, optional={})
    available = fields["available"]
    if isinstance(available, bool) or (available is not None and available < 0):
        raise BodyError(f'"available" is {available!r}; it must be a whole number from 0, or null for no limit')
    return fields["zone"], fields["machineType"], available


def permission(body: Any) -> tuple[str, bool]:
    """`{permission, granted}` -> the same."""
    fields = _fields(body, required={"permission": str, "granted": bool}, optional={})
    return fields["permission"], fields["granted"]


def _fields(body: Any, *, required: Mapping[str, Any], optional: Mapping[str, Any]) -> Json:
    if not isinstance(body, dict):
        raise BodyError(f"the body must be a JSON object with {', '.join(required)}")
    allowed = {**required, **optional}
    for key in body:
        if key not in allowed:
            raise BodyError(f"unknown field {key!r}; allowed here are {', '.join(allowed)}")
    for key, kind in allowed.items():
        if key not in body:
            if key in required:
                raise BodyError(f'"{key}" is missing; needed are {", ".join(required)}')
        elif not isinstance(body[key], kind) or body[key] == "":
            raise BodyError(f'"{key}" is {body[key]!r}; it must be {_named(kind)}')
    return body


def _named(kind: Any) -> str:
    names = {str: "a text that is not empty", dict: "an object", bool: "true or false"}
    return names.get(kind, "a whole number from 0, or null for no limit")
