"""Audit records: their shape, their determinism, their bounds, and that no secret gets in."""

import json
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from io import StringIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from sinks.audit.canary import canary_entry
from sinks.audit.entries import to_message
from sinks.audit.record import AuditCause, AuditFailure, AuditOperation, AuditRecord, Outcome
from sinks.audit.sink import FanOut, JsonLines

LOG = "projects/example-project/logs/tpu-node-group-actions"
STARTED = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
TOKEN = "abcdef.0123456789abcdef"


def make(**changes: Any) -> AuditRecord:
    """The injection of a token, which was accepted."""
    record = AuditRecord(
        action="InjectToken",
        resource="projects/example-project/zones/us-east5-a/instances/slice-x7kq",
        group="research/slice",
        identity="tpu-node-group/operator-0",
        cause=AuditCause("instance.bootstrap.booted", STARTED, "log|time|id", "", 3),
        outcome=Outcome.ACCEPTED,
        started=STARTED,
        latency_ms=12.3456,
        request_id="request-1",
        operation=AuditOperation("pass-1", first=True),
    )
    return replace(record, **changes)


def test_an_entry_tells_who_did_what_why_and_what_came_of_it() -> None:
    assert make().to_entry(LOG) == {
        "logName": LOG,
        "resource": {"type": "global", "labels": {"project_id": "example-project"}},
        "jsonPayload": {
            "action": "InjectToken",
            "resource": "projects/example-project/zones/us-east5-a/instances/slice-x7kq",
            "group": "research/slice",
            "identity": "tpu-node-group/operator-0",
            "outcome": "accepted",
            "cause": {
                "kind": "instance.bootstrap.booted",
                "at": "2026-01-02T03:04:05.678901Z",
                "event": "log|time|id",
                "generation": 3,
            },
            "latency_ms": 12.346,
            "request_id": "request-1",
        },
        "insertId": make().insert_id,
        "timestamp": "2026-01-02T03:04:05.678901Z",
        "severity": "NOTICE",
        "operation": {"id": "pass-1", "producer": "tpu-node-group-controller", "first": True, "last": False},
    }


def test_a_failure_is_an_error_with_its_code_and_message() -> None:
    record = make(outcome=Outcome.FAILED, failure=AuditFailure("412", "Invalid fingerprint"))
    assert record.severity == "ERROR"
    assert record.to_payload()["failure"] == {"code": "412", "message": "Invalid fingerprint"}


def test_insert_id_and_timestamp_are_those_of_the_act_not_of_the_writing() -> None:
    elsewhere = make(started=STARTED.astimezone(timezone(timedelta(hours=5))))
    assert (elsewhere.insert_id, elsewhere.timestamp) == (make().insert_id, make().timestamp)
    assert len(make().insert_id) == 32


@pytest.mark.parametrize(
    "changes",
    [
        {"action": "MintToken"},
        {"resource": "other"},
        {"group": "research/other"},
        {"identity": "tpu-node-group/operator-1"},
        {"outcome": Outcome.DONE},
        {"started": STARTED + timedelta(microseconds=1)},
        {"request_id": "request-2"},
        {"operation": AuditOperation("pass-2")},
        {"operation": None},
    ],
)
def test_another_act_has_another_insert_id(changes: dict[str, Any]) -> None:
    assert make(**changes).insert_id != make().insert_id


TEXT_FIELDS = ["action", "resource", "group", "identity", "request_id"]


def places(value: Any) -> list[AuditRecord]:
    """Records that have the value in each of their text fields."""
    return [
        *(make(**{name: value}) for name in TEXT_FIELDS),
        make(cause=AuditCause(kind=value)),
        make(cause=AuditCause("spec", event=value)),
        make(cause=AuditCause("spec", detail=value)),
        make(failure=AuditFailure(code=value, message="m")),
        make(failure=AuditFailure(code="c", message=value)),
        make(operation=AuditOperation(value)),
    ]


def everything(record: AuditRecord) -> str:
    """All that a record could show, wherever."""
    stream = StringIO()
    JsonLines(stream).write(record)
    return "\n".join(
        [repr(record), stream.getvalue(), json.dumps(record.to_entry(LOG)), str(to_message(record.to_entry(LOG)))]
    )


@pytest.mark.parametrize(
    "value",
    [
        TOKEN,
        f"kubeadm join --token {TOKEN} failed",
        f'{{"kubeadm-join-token": "{TOKEN}"}}',
        "x" * 4090 + TOKEN,
        SecretStr(TOKEN),
        {"kubeadm-join-token": TOKEN},
        RuntimeError(TOKEN),
        TOKEN.encode(),
    ],
    ids=["bare", "in words", "in JSON", "across the cut", "SecretStr", "mapping", "exception", "bytes"],
)
def test_no_token_gets_into_any_field_in_any_dress(value: Any) -> None:
    for record in places(value):
        assert "0123456789abcdef" not in everything(record)


def test_a_redacted_token_keeps_its_public_id() -> None:
    record = make(failure=AuditFailure("400", f"token {TOKEN} is unknown"))
    assert record.to_payload()["failure"]["message"] == "token abcdef.<redacted> is unknown"


@pytest.mark.parametrize("character", ["x", "\0", "ü", "😀", "\ud800"])
def test_an_entry_stays_below_the_limit_of_a_log_entry(character: str) -> None:
    long = character * 1_000_000
    record = AuditRecord(
        long, long, long, long, AuditCause(long, STARTED, long, long, 1), Outcome.FAILED, STARTED,
        AuditFailure(long, long), 1.0, long, AuditOperation(long),
    )  # fmt: skip
    assert to_message(record.to_entry(LOG)).ByteSize() < 250_000
    assert len(json.dumps(record.to_entry(LOG))) < 250_000


@given(st.text())
def test_any_text_can_be_written(text: str) -> None:
    for record in places(text):
        to_message(record.to_entry(LOG)).SerializeToString()


def test_a_json_line_is_one_line_with_what_log_agents_know() -> None:
    stream = StringIO()
    JsonLines(stream).write(make(outcome=Outcome.FAILED, failure=AuditFailure("500", "two\nlines")))
    (line,) = stream.getvalue().splitlines()
    written = json.loads(line)
    assert (written["log"], written["severity"], written["timestamp"], written["pass"], written["action"]) == (
        "tpu-node-group-actions", "ERROR", "2026-01-02T03:04:05.678901Z", "pass-1", "InjectToken",
    )  # fmt: skip
    assert written["failure"] == {"code": "500", "message": "two\nlines"}


def test_a_write_ahead_line_has_no_latency_yet() -> None:
    stream = StringIO()
    JsonLines(stream).write(make(outcome=Outcome.BEGUN, latency_ms=0.0))
    written = json.loads(stream.getvalue())
    assert (written["outcome"], "latency_ms" in written) == ("begun", False)


def test_a_closed_stream_costs_the_line_and_is_counted() -> None:
    stream = StringIO()
    stream.close()
    lines = JsonLines(stream)
    lines.write(make())
    assert lines.dropped == 1


def test_a_fan_out_hands_each_record_to_every_sink() -> None:
    one, two = StringIO(), StringIO()
    FanOut([JsonLines(one), JsonLines(two)]).write(make())
    assert one.getvalue() == two.getvalue() != ""


def test_a_canary_is_harmless_and_names_cluster_and_process() -> None:
    assert canary_entry("example-project", "prod-1", "operator-0", STARTED) == {
        "logName": "projects/example-project/logs/tpu-node-group-canary",
        "resource": {"type": "global", "labels": {"project_id": "example-project"}},
        "jsonPayload": {"cluster": "prod-1", "instance": "operator-0"},
        "insertId": "canary-operator-0-2026-01-02T03:04:05.678901Z",
        "timestamp": "2026-01-02T03:04:05.678901Z",
        "severity": "DEBUG",
    }


def test_a_record_costs_less_than_a_third_of_a_millisecond() -> None:
    """The least of several rounds, so that a busy machine does not count."""
    sink = JsonLines(StringIO())
    rounds: list[float] = []
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(100):
            record = make()
            sink.write(record)
            to_message(record.to_entry(LOG)).SerializeToString()
        rounds.append((time.perf_counter() - began) / 100)
    assert min(rounds) < 0.0003
