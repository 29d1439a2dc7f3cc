"""Sets of field paths, as `metadata.managedFields[].fieldsV1` has them (structured-merge-diff).

A path is a tuple of elements in FieldsV1's own notation: `f:spec`, `k:{"type":"Ready"}`, `v:"x"`. Only leaves are in a
set: scalars, values that merge as one, empty maps, and the items of keyed lists and sets themselves.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from simulator.kube.shapes import Shape
from simulator.seams import Json

Path = tuple[str, ...]
#: metadata that no manager owns.
_UNOWNED = frozenset(
    {
        "f:name",
        "f:namespace",
        "f:uid",
        "f:creationTimestamp",
        "f:deletionTimestamp",
        "f:deletionGracePeriodSeconds",
        "f:generation",
        "f:generateName",
        "f:managedFields",
        "f:resourceVersion",
        "f:selfLink",
    }
)
_MISSING = object()


def owned(paths: Iterable[Path], subresource: str, *, has_status: bool) -> frozenset[Path]:
    """Those of the paths that a writer of the object (or of its status) can own."""
    return frozenset(path for path in paths if _can_own(path, subresource, has_status=has_status))


def _can_own(path: Path, subresource: str, *, has_status: bool) -> bool:
    top = path[0]
    if subresource == "status":
        return top == "f:status"
    if top in {"f:apiVersion", "f:kind"} or (top == "f:status" and has_status):
        return False
    return top != "f:metadata" or (len(path) > 1 and path[1] not in _UNOWNED)


def leaves(value: Any, shape: Shape, path: Path = ()) -> Iterator[Path]:
    """All leaves of a value."""
    for at, _ in differences(_MISSING, value, shape, path):
        yield at


def differences(old: Any, new: Any, shape: Shape, path: Path = ()) -> Iterator[tuple[Path, bool]]:
    """The leaves at which two values differ; with each, whether it is there in `new`."""
    if old is new or (old is not _MISSING and old == new):
        return
    if _merges(old, shape, dict) and _merges(new, shape, dict):
        yield from _of_maps(_or_empty(old, {}), _or_empty(new, {}), shape, path, whole=_MISSING in (old, new))
    elif shape.list_type != "atomic" and _merges(old, shape, list) and _merges(new, shape, list):
        yield from _of_lists(_or_empty(old, []), _or_empty(new, []), shape, path)
    elif new is _MISSING:
        yield from ((at, False) for at in _leaves_or_self(old, shape, path))
    else:
        yield from ((at, False) for at in _leaves_or_self(old, shape, path) if at != path)
        yield from ((at, True) for at in _leaves_or_self(new, shape, path))


def _leaves_or_self(value: Any, shape: Shape, path: Path) -> list[Path]:
    """The leaves of a value of any kind."""
    if value is _MISSING:
        return []
    if isinstance(value, dict) and not shape.atomic:
        found = [
            at for key, item in value.items() for at in _leaves_or_self(item, shape.child(key), (*path, f"f:{key}"))
        ]
        return found or [path]
    if isinstance(value, list) and shape.list_type != "atomic":
        found = [at for item in value for at in _item_leaves(item, shape, path)]
        return found or [path]
    return [path]


def _item_leaves(item: Any, shape: Shape, path: Path) -> list[Path]:
    here = (*path, shape.element(item))
    if shape.list_type == "set":
        return [here]
    return [here, *(at for at in _leaves_or_self(item, shape.item(), here) if at != here)]


def _of_maps(old: Json, new: Json, shape: Shape, path: Path, *, whole: bool) -> Iterator[tuple[Path, bool]]:
    if whole and not (old or new):
        yield path, True
    for key in {**old, **new}:
        yield from differences(old.get(key, _MISSING), new.get(key, _MISSING), shape.child(key), (*path, f"f:{key}"))


def _of_lists(old: list[Any], new: list[Any], shape: Shape, path: Path) -> Iterator[tuple[Path, bool]]:
    before = {shape.element(item): item for item in old}
    after = {shape.element(item): item for item in new}
    for element in {**before, **after}:
        here = (*path, element)
        if (element in before) is not (element in after):
            yield here, element in after
        if shape.list_type == "map":
            pair = before.get(element, _MISSING), after.get(element, _MISSING)
            yield from ((at, there) for at, there in differences(*pair, shape.item(), here) if at != here)


def _merges(value: Any, shape: Shape, kind: type) -> bool:
    return value is _MISSING or (isinstance(value, kind) and not shape.atomic)


def _or_empty(value: Any, empty: Any) -> Any:
    return empty if value is _MISSING else value


def to_fields(paths: Iterable[Path]) -> Json:
    """The nested form of FieldsV1."""
    tree: Json = {}
    for path in sorted(paths):
        at = tree
        for element in path:
            at = at.setdefault(element, {})
        at["."] = {}
    return _without_dots(tree)


def _without_dots(tree: Json) -> Json:
    """A leaf is written as {}; the dot is needed only for a member that has members below it."""
    if tree.keys() == {"."}:
        return {}
    return {key: value if key == "." else _without_dots(value) for key, value in tree.items()}


def from_fields(tree: Json, path: Path = ()) -> Iterator[Path]:
    """The paths of a FieldsV1."""
    if not tree and path:
        yield path
    for key, below in tree.items():
        if key == ".":
            yield path
        else:
            yield from from_fields(below, (*path, key))


def dotted(path: Path) -> str:
    """A path as conflicts name it: `.spec.containers[name="x"].image`."""
    return "".join(_dotted(element) for element in path)


def _dotted(element: str) -> str:
    kind, _, rest = element.partition(":")
    if kind == "f":
        return f".{rest}"
    if kind == "k":
        return "[" + rest.removeprefix('{"').removesuffix("}").replace('":', "=").replace(',"', ",") + "]"
    return f"[={rest}]"
