"""Edits of JSON objects that never mutate: the store's objects are shared by every reader.

Each function returns a new object which shares all that it did not change.
"""

from collections.abc import Sequence
from typing import Any

from simulator.seams import Json


def put(body: Json, path: Sequence[str], value: Any) -> Json:
    """`body` with `value` at `path`; missing maps on the way are made."""
    key, *rest = path
    changed = dict(body)
    changed[key] = put(_map(body.get(key)), rest, value) if rest else value
    return changed


def drop(body: Json, path: Sequence[str]) -> Json:
    """`body` without what is at `path`; the same object if nothing is there."""
    key, *rest = path
    if key not in body:
        return body
    if not rest:
        return {name: value for name, value in body.items() if name != key}
    inner = body[key]
    if not isinstance(inner, dict):
        return body
    shorter = drop(inner, rest)
    return body if shorter is inner else {**body, key: shorter}


def dig(body: Any, path: Sequence[str]) -> Any:
    """What is at `path`, or None if a part of it is missing."""
    for key in path:
        if not isinstance(body, dict):
            return None
        body = body.get(key)
    return body


def _map(value: Any) -> Json:
    return value if isinstance(value, dict) else {}
