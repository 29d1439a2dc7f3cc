"""Whole documents of entries: every usual form, and an outcome for whatever else is in them."""

import base64
import json
from typing import Any

import pytest

from sinks.intake.document import decode_document, to_json
from sinks.intake.events import Unreadable
from tests.sinks.test_entry import audit, expected, sample

LINES = [json.dumps(json.loads(sample(number))) for number in ("01", "13")]


def push(entry: bytes, **message: Any) -> dict[str, Any]:
    """The body of a push request."""
    return {
        "message": {"data": base64.b64encode(entry).decode(), **message},
        "subscription": "projects/p/subscriptions/s",
    }


ENVELOPES = [push(sample(number)) for number in ("01", "13")]
#: Both spellings, as Pub/Sub pushes them.
SPELLED = [
    push(sample("01"), messageId="1", publishTime="2026-01-02T03:04:05Z"),
    push(sample("13"), message_id="2", publish_time="2026-01-02T03:04:05Z", attributes={"a": "b"}),
]


@pytest.mark.parametrize(
    "document",
    [
        sample("01") + b"\n" + sample("13"),
        b"[" + sample("01") + b"," + sample("13") + b"]",
        json.dumps([json.loads(line) for line in LINES], indent=2),
        "\n".join(LINES),
        "\r\n".join(LINES) + "\r\n",
        ",".join(LINES),
        json.dumps({"entries": [json.loads(line) for line in LINES], "nextPageToken": "t"}),
        json.dumps({"nextPageToken": "", "entries": ENVELOPES}),
        json.dumps(ENVELOPES),
        "\n".join(json.dumps(envelope) for envelope in SPELLED),
        json.dumps({"receivedMessages": [{"ackId": "a", **envelope} for envelope in ENVELOPES]}),
        b"\xef\xbb\xbf" + sample("01") + b"\r\n\r\n" + sample("13") + b"\n",
    ],
    ids=[
        "in a row", "array", "array of many lines", "lines", "lines of Windows", "with commas", "page of a list",
        "page of envelopes", "array of envelopes", "both spellings of an envelope", "a pull's answer",
        "byte order mark and blank lines",
    ],
)  # fmt: skip
def test_a_document_may_hold_its_entries_in_any_usual_form(document: str | bytes) -> None:
    assert [to_json(result) for result in decode_document(document)] == [expected("01"), expected("13")]


def test_the_push_envelope_holds_an_entry_without_payload() -> None:
    assert [to_json(result) for result in decode_document(sample("24"))] == [
        {"outcome": "ignored", "reason": "no payload"}
    ]


def test_a_broken_line_costs_itself_alone() -> None:
    lines = [json.dumps(audit()), '{"logName": "pro', "what is this", json.dumps(audit()), "{}"]
    outcomes = [type(result).__name__ for result in decode_document("\n".join(lines))]
    assert outcomes == ["Event", "Unreadable", "Unreadable", "Event", "Unreadable"]


def test_what_is_nested_too_deeply_costs_itself_alone_but_not_without_end() -> None:
    deep = '{"a":' * 100_000
    assert decode_document(f"{deep}\n{LINES[0]}") == [Unreadable("nested too deeply"), *decode_document(LINES[0])]
    assert decode_document('{"a":\n' * 100_000) == [Unreadable("nested too deeply")] * 100


@pytest.mark.parametrize("indent", [None, 2])
def test_a_list_that_was_cut_off_keeps_the_entries_before_the_cut(indent: int | None) -> None:
    whole = json.dumps([json.loads(line) for line in [*LINES, LINES[0]]], indent=indent)
    assert [to_json(result) for result in decode_document(whole[:-200])] == [
        expected("01"),
        expected("13"),
        {"outcome": "unreadable", "reason": "not JSON"},
    ]


@pytest.mark.parametrize(
    ("document", "outcomes"),
    [
        (b"", [("unreadable", "empty")]),
        (b" \n\t", [("unreadable", "empty")]),
        (b"[]", [("ignored", "no entries")]),
        (b'{"entries": []}', [("ignored", "no entries")]),
        (b"[" * 100_000, [("ignored", "no entries")]),
        (b"{}", [("unreadable", "no logName")]),
        (b'{"entries": 1}', [("unreadable", "no logName")]),
        (b'{"entries": [1, {}]}', [("unreadable", "not a JSON object"), ("unreadable", "no logName")]),
        (b"\xff", [("unreadable", "not UTF-8")]),
        (b"\x7fELF\x02\x01\x01\x00", [("unreadable", "not JSON")]),
        (b"NaN", [("unreadable", "not JSON")]),
        (b'{"message": {}}', [("unreadable", "envelope without data")]),
        (b'{"message": {"data": "***"}}', [("unreadable", "envelope data is not base64")]),
        (b'{"message": {"data": "AAAA"}}', [("unreadable", "not JSON")]),
        (b"[[1]]", [("unreadable", "not a JSON object")]),
        (b'{"a":' * 100_000, [("unreadable", "nested too deeply")]),
    ],
)
def test_a_document_without_a_readable_entry_says_why(document: bytes, outcomes: list[tuple[str, str]]) -> None:
    assert [(json_["outcome"], json_["reason"]) for json_ in map(to_json, decode_document(document))] == outcomes
