"""The small JSONPath of CRD printer columns: `.status.conditions[?(@.type=="Ready")].status` and simpler.

A path is compiled to a function once per CRD; evaluation never raises, a missing value is None.
"""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

Finder = Callable[[Any], Any]
Step = Callable[[Iterable[Any]], Iterable[Any]]
_TOKEN = re.compile(
    r"""\.(?P<key>(?:\\.|[^.\[\]\\])+)
      | \[\?\(@\.(?P<field>[^=!\s]+)\s*(?P<op>==|!=)\s*(?P<quote>["'])(?P<value>.*?)(?P=quote)\)\]
      | \[(?P<index>-?\d+)\]
      | \[(?P<all>\*)\]
      | \[["'](?P<name>[^"']+)["']\]""",
    re.VERBOSE,
)


@lru_cache(maxsize=512)
def compile_path(path: str) -> Finder:
    """The function that finds the first value at `path`. Raises ValueError for a path it cannot read."""
    path = path.strip().removeprefix("{").removesuffix("}").removeprefix("$")
    steps: list[Step] = []
    at = 0
    while at < len(path):
        token = _TOKEN.match(path, at)
        if token is None:
            message = f"cannot read the JSONPath {path!r} from {path[at:]!r} on"
            raise ValueError(message)
        steps.append(_step(token))
        at = token.end()

    def find(value: Any) -> Any:
        values: Iterable[Any] = [value]
        for step in steps:
            values = step(values)
        return next(iter(values), None)

    return find


def _step(token: re.Match[str]) -> Step:
    if token["field"]:
        field, value, wanted = token["field"], token["value"], token["op"] == "=="
        return lambda values: [
            item
            for items in values
            if isinstance(items, list)
            for item in items
            if isinstance(item, dict) and (str(item.get(field)) == value) is wanted
        ]
    if token["index"]:
        index = int(token["index"])
        return lambda values: [items[index] for items in values if isinstance(items, list) and _within(items, index)]
    if token["all"]:
        return lambda values: [item for items in values if isinstance(items, list) for item in items]
    key = token["name"] or re.sub(r"\\(.)", r"\1", token["key"])
    return lambda values: [value[key] for value in values if isinstance(value, dict) and key in value]


def _within(items: list[Any], index: int) -> bool:
    return -len(items) <= index < len(items)
