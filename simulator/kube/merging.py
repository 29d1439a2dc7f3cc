"""The two edits of a server-side apply: laying the applied object over the live one, and taking away what is no longer
applied. Pure; nothing is mutated.
"""

from collections.abc import Set as AbstractSet
from typing import Any

from simulator.kube.fieldsets import Path
from simulator.kube.shapes import Shape
from simulator.seams import Json


def merge_applied(live: Any, applied: Any, shape: Shape) -> Any:
    """`live` with everything that `applied` states, merged as the shape says."""
    if isinstance(live, dict) and isinstance(applied, dict) and not shape.atomic:
        merged = dict(live)
        for key, value in applied.items():
            merged[key] = merge_applied(live[key], value, shape.child(key)) if key in live else value
        return merged
    if isinstance(live, list) and isinstance(applied, list) and shape.list_type != "atomic":
        return _merge_lists(live, applied, shape)
    return applied


def _merge_lists(live: list[Any], applied: list[Any], shape: Shape) -> list[Any]:
    stated = {shape.element(item): item for item in applied}
    merged = []
    for item in live:
        element = shape.element(item)
        merged.append(merge_applied(item, stated.pop(element), shape.item()) if element in stated else item)
    return [*merged, *stated.values()]


def remove_paths(body: Json, paths: AbstractSet[Path], kept: AbstractSet[Path], shape: Shape) -> Json:
    """`body` without what is at `paths`, and without the maps and items that this leaves empty.

    What a path in `kept` goes through stays.
    """
    needed = {path[:length] for path in kept for length in range(1, len(path) + 1)}
    # The shortest first: an item that goes as a whole must still bear its key when it is looked for.
    for path in sorted(paths, key=len):
        if path not in needed:
            body = _without(body, path, (), needed, shape)
    return body


def _without(value: Any, path: Path, at: Path, needed: AbstractSet[Path], shape: Shape) -> Any:
    element, *rest = path
    here = (*at, element)
    if isinstance(value, dict):
        key = element.removeprefix("f:")
        if key not in value:
            return value
        below = _without(value[key], tuple(rest), here, needed, shape.child(key)) if rest else None
        if rest and (below or here in needed or not isinstance(below, (dict, list))):
            return {**value, key: below}
        return {name: item for name, item in value.items() if name != key}
    if not isinstance(value, list):
        return value
    items = []
    for item in value:
        if shape.element(item) != element:
            items.append(item)
        elif rest:
            items.append(_without(item, tuple(rest), here, needed, shape.item()))
    return items
