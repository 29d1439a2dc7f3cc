"""JSON merge patch (RFC 7386) and JSON patch (RFC 6902) on objects that are never mutated.

What a patch cannot do is refused as an API server refuses it: 422 where the patch does not fit the object (a failed
`test`, a missing path), 400 where it is no patch at all.
"""

from collections.abc import Callable, Sequence
from typing import Any

from simulator.kube.errors import ApiError, bad_request
from simulator.seams import Json


def merge(target: Any, patch: Any) -> Any:
    """RFC 7386: maps merge, null removes, everything else replaces."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), value)
    return merged


def json_patch(target: Any, operations: Any) -> Any:
    """RFC 6902, all operations or none. Raises ApiError 422 or 400."""
    if not isinstance(operations, list):
        raise bad_request("error decoding patch: a JSON patch is a list of operations")
    for operation in operations:
        if not isinstance(operation, dict) or operation.get("op") not in _OPERATIONS:
            raise bad_request(f"error decoding patch: no such operation: {operation!r}")
        try:
            target = _OPERATIONS[operation["op"]](target, operation)
        except KeyError as missing:
            raise bad_request(f"error decoding patch: the operation lacks {missing}") from missing
    return target


def _does_not_fit() -> ApiError:
    # The real server says no more than this of a failed test or a missing path.
    return ApiError(422, "Invalid", "the server rejected our request due to an error in our request")


def _pointer(text: str) -> list[str]:
    if text and not text.startswith("/"):
        raise bad_request(f"error decoding patch: {text!r} is no JSON pointer")
    return [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:]]


def _read(target: Any, path: Sequence[str]) -> Any:
    for part in path:
        if isinstance(target, dict) and part in target:
            target = target[part]
        elif isinstance(target, list):
            target = target[_index(target, part, len(target) - 1)]
        else:
            raise _does_not_fit()
    return target


def _index(items: list[Any], part: str, largest: int) -> int:
    if not part.removeprefix("-").isdigit():
        raise _does_not_fit()
    index = int(part)
    if index < 0:
        index += len(items)
    if not 0 <= index <= largest:
        raise _does_not_fit()
    return index


def _edit(target: Any, path: Sequence[str], leaf: Callable[[Any, str], Any]) -> Any:
    """A copy of `target` in which `leaf(parent, last part)` has replaced the parent of `path`."""
    part, *rest = path
    if not rest:
        return leaf(target, part)
    child = _read(target, [part])
    changed = _edit(child, rest, leaf)
    if isinstance(target, dict):
        return {**target, part: changed}
    copied = list(target)
    copied[_index(target, part, len(target) - 1)] = changed
    return copied


def _added(value: Any) -> Callable[[Any, str], Any]:
    def leaf(parent: Any, part: str) -> Any:
        if isinstance(parent, dict):
            return {**parent, part: value}
        if not isinstance(parent, list):
            raise _does_not_fit()
        at = len(parent) if part == "-" else _index(parent, part, len(parent))
        return [*parent[:at], value, *parent[at:]]

    return leaf


def _removed(parent: Any, part: str) -> Any:
    if isinstance(parent, dict) and part in parent:
        return {key: value for key, value in parent.items() if key != part}
    if not isinstance(parent, list):
        raise _does_not_fit()
    at = _index(parent, part, len(parent) - 1)
    return [*parent[:at], *parent[at + 1 :]]


def _add(target: Any, operation: Json) -> Any:
    path = _pointer(operation["path"])
    value = operation["value"]
    return _edit(target, path, _added(value)) if path else value


def _remove(target: Any, operation: Json) -> Any:
    path = _pointer(operation["path"])
    if not path:
        raise _does_not_fit()
    return _edit(target, path, _removed)


def _replace(target: Any, operation: Json) -> Any:
    path = _pointer(operation["path"])
    value = operation["value"]
    _read(target, path)

    def leaf(parent: Any, part: str) -> Any:
        if isinstance(parent, dict):
            return {**parent, part: value}
        copied = list(parent)
        copied[_index(parent, part, len(parent) - 1)] = value
        return copied

    return _edit(target, path, leaf) if path else value


def _move(target: Any, operation: Json) -> Any:
    source = _pointer(operation["from"])
    value = _read(target, source)
    shorter = _edit(target, source, _removed)
    return _edit(shorter, _pointer(operation["path"]), _added(value))


def _copy(target: Any, operation: Json) -> Any:
    return _edit(target, _pointer(operation["path"]), _added(_read(target, _pointer(operation["from"]))))


def _test(target: Any, operation: Json) -> Any:
    wanted = operation["value"]
    try:
        actual = _read(target, _pointer(operation["path"]))
    except ApiError:
        # A missing path equals null (github.com/evanphx/json-patch).
        actual = None
    if actual != wanted or isinstance(actual, bool) is not isinstance(wanted, bool):
        raise _does_not_fit()
    return target


_OPERATIONS: dict[str, Callable[[Any, Json], Any]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}
