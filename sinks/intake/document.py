"""Whole documents of log entries, for people: what `gcloud logging read --format=json` prints, files, push envelopes.

Pure and total, as the decoding of one entry is. Subscriptions deliver bare entries and have no need of this.
"""

import base64
import binascii
import json
import re
from collections.abc import Iterator
from typing import Any, Final

from sinks.intake.entry import decode
from sinks.intake.events import Decoded, Event, Ignored, Unreadable

_BLANK: Final = re.compile(r"[ \t\r\n\ufeff]*")
#: The start of a line that does not go on with the value before it (which is indented, or a member, or an end).
_NEXT_VALUE: Final = re.compile(r"\n(?=[^\s\]},\"])")
_DECODER: Final = json.JSONDecoder()


def decode_document(document: str | bytes) -> list[Decoded]:
    """Every entry of a document, in its order: one entry, an array of them, or many in a row (JSON lines).

    Each may be in a Pub/Sub push envelope (`{"message": {"data": base64}}`). What cannot be parsed is one Unreadable,
    and reading goes on with the next line that can begin an entry.
    """
    if isinstance(document, bytes):
        try:
            document = document.decode("utf-8")
        except UnicodeError:
            return [Unreadable("not UTF-8")]
    return list(_entries(document))


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
    position = _skip_blanks(text, 0)
    while position < len(text):
        try:
            value, position = _DECODER.raw_decode(text, position)
        except RecursionError:
            yield Unreadable("nested too deeply")
            position = _resume(text, position)
        except ValueError:
            yield Unreadable("not JSON")
            position = _resume(text, position)
        else:
            for entry in value if isinstance(value, list) else [value]:
                yield _entry(entry)
        position = _skip_blanks(text, position)


def _skip_blanks(text: str, position: int) -> int:
    blank = _BLANK.match(text, position)
    return blank.end() if blank else position


def _resume(text: str, position: int) -> int:
    """Where to go on after a broken value: behind what belongs to it if an entry was begun, else at the next line."""
    if text[position] in "{[":
        following = _NEXT_VALUE.search(text, position)
        return following.end() if following else len(text)
    line_end = text.find("\n", position)
    return len(text) if line_end < 0 else line_end


def _entry(value: Any) -> Decoded:
    if isinstance(value, dict) and "logName" not in value and isinstance(message := value.get("message"), dict):
        return _enveloped(message)
    try:
        return decode(json.dumps(value).encode())
    except RecursionError:
        return Unreadable("nested too deeply")


def _enveloped(message: dict[str, Any]) -> Decoded:
    data = message.get("data")
    if not isinstance(data, str):
        return Unreadable("envelope without data")
    try:
        return decode(base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError):
        return Unreadable("envelope data is not base64")
