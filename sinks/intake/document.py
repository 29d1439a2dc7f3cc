"""Whole documents of log entries, for people: what `gcloud logging read --format=json` prints, files, push envelopes.

Pure and total, as the decoding of one entry is. Subscriptions deliver bare entries and have no need of this.
"""

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Any, Final

from sinks.intake.entry import JSON, decode, decode_value
from sinks.intake.events import Decoded, Event, Ignored, Unreadable

#: What stands between entries: blanks, and what holds an array together.
_BETWEEN: Final = re.compile(r"[ \t\r\n\ufeff,\[\]]*")
#: The start of a line that does not go on with the value before it (which is indented, or a member, or an end).
_NEXT_VALUE: Final = re.compile(r"\n(?=[^\s\]},\"])")
#: To find out that a value is nested too deeply takes long: after so many the rest is left unread.
_MOST_DEEP: Final = 100
#: The members that lists of entries are in: entries.list answers with the one, a pull with the other.
_LISTS: Final = ("entries", "receivedMessages")


def decode_document(document: str | bytes) -> list[Decoded]:
    """Every entry of a document, in its order: one entry, an array of them, or many in a row (JSON lines).

    Each may be in a Pub/Sub envelope (`{"message": {"data": base64}}`), or all in the answer of entries.list or of a
    pull. What cannot be parsed is one Unreadable, and reading goes on with the next line that can begin an entry. There
    is always an outcome: a document without an entry is itself Unreadable or Ignored.
    """
    if isinstance(document, bytes):
        try:
            document = document.decode("utf-8")
        except UnicodeError:
            return [Unreadable("not UTF-8")]
    found = list(_entries(document))
    if found:
        return found
    return [Ignored("no entries") if "[" in document else Unreadable("empty")]


def to_json(result: Decoded) -> dict[str, Any]:
    """The result as the JSON object that `events decode` prints for it."""
    match result:
        case Event():
            return {
                "outcome": "event",
                "resource": result.resource.value,
                "kind": result.kind.value,
                "project": result.project,
                "zone": result.zone,
                "name": result.name,
                "instance_id": result.instance_id,
                "phase": result.phase.value,
                "failure": {"code": result.failure.code, "message": result.failure.message} if result.failure else None,
                "at": result.at,
                "key": result.key,
            }
        case Ignored():
            return {"outcome": "ignored", "reason": result.reason}
        case Unreadable():
            return {"outcome": "unreadable", "reason": result.reason}


def _entries(text: str) -> Iterator[Decoded]:
    position, deep = _skip(text, 0), 0
    while position < len(text) and deep < _MOST_DEEP:
        try:
            value, position = JSON.raw_decode(text, position)
        except RecursionError:
            yield Unreadable("nested too deeply")
            position, deep = _resume(text, position), deep + 1
        except ValueError:
            yield Unreadable("not JSON")
            position = _resume(text, position)
        else:
            yield from _unwrap(value)
        position = _skip(text, position)


def _skip(text: str, position: int) -> int:
    between = _BETWEEN.match(text, position)
    return between.end() if between else position


def _resume(text: str, position: int) -> int:
    """Where to go on after a broken value: behind what belongs to it if an entry was begun, else at the next line."""
    if text[position] == "{":
        following = _NEXT_VALUE.search(text, position)
        return following.end() if following else len(text)
    line_end = text.find("\n", position)
    return len(text) if line_end < 0 else line_end


def _unwrap(value: Any) -> Iterator[Decoded]:
    """The entries of one value: itself, what is in its envelope, or the list of an answer."""
    if not isinstance(value, dict) or "logName" in value:
        yield decode_value(value)
        return
    for inner in next((value[name] for name in _LISTS if isinstance(value.get(name), list)), [value]):
        message = inner.get("message") if isinstance(inner, dict) and "logName" not in inner else None
        yield _enveloped(message) if isinstance(message, dict) else decode_value(inner)


def _enveloped(message: dict[str, Any]) -> Decoded:
    data = message.get("data")
    if not isinstance(data, str):
        return Unreadable("envelope without data")
    try:
        return decode(base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError):
        return Unreadable("envelope data is not base64")
