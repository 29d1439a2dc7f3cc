"""What must hold of the decoding whatever it is fed. The fuzzer and the tests check the same."""

import json
import re
from datetime import UTC, datetime
from typing import Any

from controller.core.model import Key, Kind
from controller.core.route import Route, RoutingIndex, route
from sinks.intake.document import decode_document, to_json
from sinks.intake.entry import JSON, STEPS, decode
from sinks.intake.events import Decoded, Event, EventKind, Ignored, Phase, Resource, Unreadable, moment

_PUBLISHED = datetime(2026, 1, 2, tzinfo=UTC)
_NOBODYS = RoutingIndex()


class _EverythingIsOurs(RoutingIndex):
    """Every event has somebody who looks."""

    def owner_of_instance(self, project: str, zone: str | None, name: str) -> Key | None:
        return Key(Kind.GROUP, f"{project}/{zone}", name)

    def owner_of_resource(self, kind: Kind, project: str, name: str) -> Key | None:
        return Key(kind, project, name)


_OURS = _EverythingIsOurs()


def check(data: bytes) -> None:
    """Raises AssertionError, or what the decoding raised, where an invariant is broken."""
    result = decode(data)
    _check_result(result)
    assert decode(data) == result, "decoding is not deterministic"
    again = respaced(data)
    assert again is None or decode(again) == result, "blanks change the event"
    whole = decode_document(data)
    assert whole, "a document without an outcome"
    for each in whole:
        _check_result(each)


def respaced(data: bytes) -> bytes | None:
    """The same JSON with other blanks and escapes, None where it is none or could not be written again."""
    try:
        value = JSON.decode(data.decode("utf-8"))
        return json.dumps(value, separators=(" ,\n", "\t:\r "), allow_nan=False).encode()
    except (ValueError, RecursionError):
        # A number beyond a double's range is read as infinity, which JSON cannot say.
        return None


def _check_result(result: Decoded) -> None:
    assert isinstance(result, Event | Ignored | Unreadable), type(result)
    shown: dict[str, Any] = to_json(result)
    assert JSON.decode(json.dumps(shown)) == shown
    json.dumps(shown, ensure_ascii=False).encode("utf-8")
    if isinstance(result, Event):
        _check_event(result)
    else:
        assert 0 < len(result.reason) <= 130


def _check_event(event: Event) -> None:
    assert event.resource in Resource
    assert event.kind in EventKind
    assert event.phase in Phase
    assert re.fullmatch(r"[a-z0-9.:-]{1,164}", event.project)
    assert event.zone is None or re.fullmatch(r"[a-z0-9-]{1,63}", event.zone)
    if event.resource is not Resource.CANARY:
        assert re.fullmatch(r"[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?", event.name)
    assert 0 < len(event.name) <= 256
    assert event.instance_id is None or re.fullmatch(r"[1-9][0-9]{0,19}", event.instance_id)
    assert event.failure is None or (event.failure.code != 0 and len(event.failure.message) <= 2048)
    assert event.key.count("|") >= 2
    assert len(event.key) < 1200
    assert moment(event.at).tzinfo is UTC
    assert event.step in {*STEPS, ""}
    assert max(map(len, (event.operation_id, event.reason, event.writer))) <= 256
    assert route(event, _NOBODYS, _PUBLISHED) is None
    assert isinstance(route(event, _OURS, _PUBLISHED), Route | None)
