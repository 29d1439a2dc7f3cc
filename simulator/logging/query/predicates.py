"""Turns a query into a function on log entries: compiled once, then cheap for each entry."""

import operator
from collections.abc import Callable
from typing import Any, TypeAlias
from urllib.parse import unquote

from simulator.logging.query import syntax
from simulator.logging.query.fields import SEVERITIES, FieldType, fold, instant, leaves, type_of
from simulator.logging.query.patterns import compile_pattern
from simulator.logging.query.tokens import QueryError
from simulator.seams import Json

Predicate: TypeAlias = Callable[[Json], bool]
_Test: TypeAlias = Callable[[Any], bool]

_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    ":": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
#: What a field of the LogEntry type is where it is absent: it compares as if it were there with this value.
_DEFAULTS: dict[FieldType, Any] = {
    FieldType.STRING: "",
    FieldType.BOOL: False,
    FieldType.INTEGER: 0,
    FieldType.SEVERITY: "DEFAULT",
}


def compile_query(query: str) -> Predicate:
    """The predicate that a query means; an empty query admits every entry. Raises QueryError."""
    return _predicate(syntax.parse(query))


def _predicate(node: syntax.Node) -> Predicate:
    match node:
        case syntax.AllOf(items):
            every = [_predicate(item) for item in items]
            return lambda entry: all(test(entry) for test in every)
        case syntax.AnyOf(items):
            some = [_predicate(item) for item in items]
            return lambda entry: any(test(entry) for test in some)
        case syntax.Not(item):
            inner = _predicate(item)
            return lambda entry: not inner(entry)
        case syntax.LogId(text):
            wanted = fold(text)
            return lambda entry: fold(unquote(entry.get("logName", "").partition("/logs/")[2])) == wanted
        case syntax.Anywhere(text):
            needle = fold(text)
            return lambda entry: _contains(entry, needle)
        case syntax.Comparison():
            return _comparison(node)


def _contains(value: Any, needle: str) -> bool:
    if isinstance(value, dict):
        return any(_contains(member, needle) for member in value.values())
    if isinstance(value, list):
        return any(_contains(member, needle) for member in value)
    return needle in fold(_text(value))


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _comparison(node: syntax.Comparison) -> Predicate:
    path, kind = node.field, type_of(node.field)
    any_case = path[0] == "protoPayload"
    if node.operator == ":" and node.value == syntax.Value("*", quoted=False):
        return lambda entry: any(True for _ in leaves(entry, path, any_case=any_case))
    if kind is FieldType.OBJECT:
        raise QueryError(f"{'.'.join(path)} is an object: only {'.'.join(path)}:* is known for it")
    if node.value == syntax.Value("*", quoted=False):
        raise QueryError(f"a bare * goes only with the operator ':', not with {node.operator!r}")
    test = _test(node, kind)
    default = _DEFAULTS.get(kind)

    def holds(entry: Json) -> bool:
        # A missing field fails every comparison, also != and !~; NOT of it then holds.
        found = False
        for value in leaves(entry, path, any_case=any_case):
            found = True
            if test(value):
                return True
        return not found and default is not None and test(default)

    return holds


def _test(node: syntax.Comparison, kind: FieldType) -> _Test:
    if node.operator in {"=~", "!~"}:
        return _regular_expression(node, kind)
    if kind in _TYPED:
        return _TYPED[kind](node.value.text, _ORDER[node.operator])
    return _string(node.value.text, node.operator) if kind is FieldType.STRING else _any_value(node)


def _regular_expression(node: syntax.Comparison, kind: FieldType) -> _Test:
    if kind not in {FieldType.STRING, FieldType.VALUE}:
        raise QueryError(f"{'.'.join(node.field)} is no string: a regular expression cannot match it")
    if not node.value.quoted:
        raise QueryError(f"a regular expression must be in double quotes: {node.value.text}")
    search = compile_pattern(node.value.text).search
    if node.operator == "=~":
        return lambda value: isinstance(value, str) and search(value) is not None
    return lambda value: isinstance(value, str) and search(value) is None


def _severity(text: str, compare: Callable[[Any, Any], bool]) -> _Test:
    if text.upper() not in SEVERITIES:
        raise QueryError(f"{text!r} is no severity; severities are {', '.join(SEVERITIES)}")
    level = SEVERITIES[text.upper()]
    return lambda value: compare(SEVERITIES.get(str(value).upper(), 0), level)


def _timestamp(text: str, compare: Callable[[Any, Any], bool]) -> _Test:
    moment = instant(text)
    if moment is None:
        raise QueryError(f"{text!r} is no RFC 3339 time and no date (2016-11-29)")
    return lambda value: (at := instant(value)) is not None and compare(at, moment)


def _boolean(text: str, compare: Callable[[Any, Any], bool]) -> _Test:
    wanted = {"true": True, "false": False}.get(text.lower())
    return lambda value: wanted is not None and isinstance(value, bool) and compare(value, wanted)


def _number(text: str, compare: Callable[[Any, Any], bool]) -> _Test:
    try:
        wanted = float(text)
    except ValueError:
        # "If an attempted conversion fails, then the comparison fails."
        return lambda _value: False
    # 64-bit integers are strings in JSON.
    return lambda value: not isinstance(value, bool) and compare(float(value), wanted)


def _string(text: str, how: str) -> _Test:
    wanted = fold(text)
    if how == ":":
        return lambda value: wanted in fold(str(value))
    compare = _ORDER[how]
    return lambda value: compare(fold(str(value)), wanted)


def _any_value(node: syntax.Comparison) -> _Test:
    """Payloads and labels: the type of the value that is there decides."""
    how = node.operator
    if node.field[0] == "protoPayload" and how in {"<", "<=", ">", ">="} and node.field[1:] != ("status", "code"):
        # 64-bit integers and enums of a message look like strings in JSON, and would compare as such.
        raise QueryError(f"{how} on {'.'.join(node.field)} is not known here: its type is not in the entry")
    boolean = _boolean(node.value.text, _ORDER[how])
    number = _number(node.value.text, _ORDER[how])
    string = _string(node.value.text, how)

    def test(value: Any) -> bool:
        if isinstance(value, bool):
            return boolean(value)
        if isinstance(value, int | float):
            return number(value)
        return isinstance(value, str) and string(value)

    return test


_TYPED: dict[FieldType, Callable[[str, Callable[[Any, Any], bool]], _Test]] = {
    FieldType.SEVERITY: _severity,
    FieldType.TIMESTAMP: _timestamp,
    FieldType.BOOL: _boolean,
    FieldType.INTEGER: _number,
}
