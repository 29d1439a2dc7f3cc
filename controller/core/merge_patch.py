"""JSON merge patch (RFC 7386) from one document to another: what a status write sends."""

from collections.abc import Mapping
from typing import Any


def merge_patch(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The smallest patch that turns `old` into `new`; empty when they are equal. Lists are replaced as a whole."""
    patch: dict[str, Any] = {key: None for key in old if key not in new}
    for key, value in new.items():
        before = old.get(key)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            if nested := merge_patch(before, value):
                patch[key] = nested
        elif before != value:
            patch[key] = value
    return patch
