"""Where a field path leads in a LogEntry (REST JSON), and what type it has there."""

import re
import unicodedata
from collections.abc import Iterator
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from simulator.logging.query.tokens import QueryError

#: LogSeverity, with the numbers that inequality uses.
SEVERITIES = {
    "DEFAULT": 0,
    "DEBUG": 100,
    "INFO": 200,
    "NOTICE": 300,
    "WARNING": 400,
    "ERROR": 500,
    "CRITICAL": 600,
    "ALERT": 700,
    "EMERGENCY": 800,
}


class FieldType(Enum):
    """How a field compares. `VALUE` is decided by the JSON value that is there (payloads and labels)."""

    STRING = "string"
    BOOL = "bool"
    INTEGER = "integer"
    SEVERITY = "severity"
    TIMESTAMP = "timestamp"
    #: A map or message: may only be asked whether it is there.
    OBJECT = "object"
    VALUE = "value"


_S, _B, _I = FieldType.STRING, FieldType.BOOL, FieldType.INTEGER
_SCHEMA: dict[str, FieldType | dict[str, FieldType]] = {
    "logName": _S,
    "insertId": _S,
    "severity": FieldType.SEVERITY,
    "timestamp": FieldType.TIMESTAMP,
    "receiveTimestamp": FieldType.TIMESTAMP,
    "textPayload": _S,
    "trace": _S,
    "spanId": _S,
    "traceSampled": _B,
    "operation": {"id": _S, "producer": _S, "first": _B, "last": _B},
    "sourceLocation": {"file": _S, "line": _I, "function": _S},
    "split": {"uid": _S, "index": _I, "totalSplits": _I},
}
#: Roots with free keys below; `resource` has `type` beside its labels.
_OPEN = ("jsonPayload", "protoPayload", "labels")


def type_of(path: tuple[str, ...]) -> FieldType:
    """The type of a field path. Raises QueryError for a path that no LogEntry can have."""
    root, rest = path[0], path[1:]
    if root in _OPEN:
        return FieldType.VALUE if rest else FieldType.OBJECT
    if root == "resource":
        return _type_in_resource(path)
    known = _SCHEMA.get(root)
    if known is None:
        fields = ", ".join(sorted([*_SCHEMA, *_OPEN, "resource"]))
        raise QueryError(f"a log entry has no field {root}; the fields known here are {fields}")
    if isinstance(known, FieldType):
        if rest:
            raise QueryError(f"{root} has no fields below it: {'.'.join(path)}")
        return known
    if not rest:
        return FieldType.OBJECT
    if len(rest) > 1 or rest[0] not in known:
        raise QueryError(f"{root} has no field {'.'.join(rest)}; it has {', '.join(known)}")
    return known[rest[0]]


def _type_in_resource(path: tuple[str, ...]) -> FieldType:
    if path == ("resource", "type"):
        return FieldType.STRING
    if path in {("resource",), ("resource", "labels")}:
        return FieldType.OBJECT
    if len(path) == 3 and path[1] == "labels":
        return FieldType.VALUE
    raise QueryError(f"resource has no field {'.'.join(path[1:])}; it has type and labels")


def leaves(value: Any, path: tuple[str, ...], *, any_case: bool) -> Iterator[Any]:
    """The values at a path; every member of an array counts. `any_case`: keys of a protoPayload match so."""
    if isinstance(value, list):
        for member in value:
            yield from leaves(member, path, any_case=any_case)
    elif not path:
        yield value
    elif isinstance(value, dict):
        key, rest = path[0], path[1:]
        if key in value:
            yield from leaves(value[key], rest, any_case=any_case)
        elif any_case:
            wanted = _plain(key)
            for candidate in value:
                if _plain(candidate) == wanted:
                    yield from leaves(value[candidate], rest, any_case=any_case)


def _plain(key: str) -> str:
    return key.replace("_", "").lower()


def fold(text: str) -> str:
    """Strings are compared in this form: NFKC with case folded."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


_RFC3339 = re.compile(r"(\d{4}-\d\d-\d\d)(?:[Tt](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|z|[+-]\d\d:\d\d))?")


def instant(text: str) -> tuple[int, int] | None:
    """(seconds since 1970, nanoseconds) of an RFC 3339 time or a plain date; None if it is neither."""
    found = _RFC3339.fullmatch(text)
    if found is None:
        return None
    day, time, fraction, zone = found.groups()
    try:
        moment = datetime.fromisoformat(f"{day}T{time or '00:00:00'}{zone if zone and zone not in 'Zz' else '+00:00'}")
    except ValueError:
        return None
    seconds = int((moment.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds())
    return seconds, int((fraction or "").ljust(9, "0"))
