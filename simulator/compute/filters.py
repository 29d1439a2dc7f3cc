"""The `filter` of list calls: the few forms that a client of ours sensibly sends; everything else is refused.

Supported, joined by ` AND `: `name="x"`, `name=x`, `name!="x"`, `name:prefix*`, `name eq "regex"`, `name ne "regex"`
over a resource's own text fields. `eq` and `ne` match the whole value (RE2; Python's engine stands in for it).
"""

import re
from collections.abc import Callable, Iterable
from typing import Final

from simulator.seams import Json
from simulator.world.errors import ApiError, invalid

__all__ = ["matching"]

_TERM: Final = re.compile(
    r"""^\(?\s*(?P<field>[A-Za-z]+)\s*(?P<op>!=|=|:|\beq\b|\bne\b)\s*(?P<value>"[^"]*"|[^\s"()]+)\s*\)?$"""
)
_FIELDS: Final = frozenset({"name", "status", "instanceStatus", "currentAction", "id", "description"})
_Test = Callable[[str], bool]


def matching(items: Iterable[Json], text: str) -> list[Json]:
    """The items that the filter admits; raises 400 for a filter that is not supported."""
    if not text:
        return list(items)
    tests = [_term(part) for part in text.split(" AND ")]
    return [item for item in items if all(test(str(item.get(field, ""))) for field, test in tests)]


def _term(text: str) -> tuple[str, _Test]:
    found = _TERM.match(text.strip())
    if found is None or found["field"] not in _FIELDS:
        raise _unsupported(text)
    value = found["value"].strip('"')
    return found["field"], _test(found["op"], value, text)


def _test(operator: str, value: str, text: str) -> _Test:
    if operator in {"eq", "ne"}:
        try:
            pattern = re.compile(value)
        except re.error as error:
            raise _unsupported(text) from error
        return lambda have: (pattern.fullmatch(have) is not None) == (operator == "eq")
    if operator == ":":
        if value.endswith("*"):
            return lambda have: have.startswith(value[:-1])
        return lambda have: value in have
    return lambda have: (have == value) == (operator == "=")


def _unsupported(text: str) -> ApiError:
    return invalid(f"Invalid value for field 'filter': '{text}'. Invalid list filter expression.")
