"""`events decode`, as at the end of a pipe."""

import io
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from controller.cli import execute

Output = pytest.CaptureFixture[str]

ENTRY: dict[str, Any] = {
    "protoPayload": {
        "serviceName": "compute.googleapis.com",
        "methodName": "v1.compute.instances.insert",
        "resourceName": "projects/123/zones/us-central1-c/instances/vm-a",
    },
    "resource": {
        "type": "gce_instance",
        "labels": {"instance_id": "42", "project_id": "my-project", "zone": "us-central1-c"},
    },
    "operation": {"id": "operation-1", "last": True},
    "timestamp": "2026-03-01T12:00:00.123456Z",
    "insertId": "abc",
    "logName": "projects/my-project/logs/cloudaudit.googleapis.com%2Factivity",
}
DECODED = {
    "outcome": "event",
    "resource": "instance",
    "kind": "inserted",
    "project": "my-project",
    "zone": "us-central1-c",
    "name": "vm-a",
    "instance_id": "42",
    "phase": "last",
    "failure": None,
    "at": "2026-03-01T12:00:00.123456Z",
    "key": "projects/my-project/logs/cloudaudit.googleapis.com%2Factivity|2026-03-01T12:00:00.123456Z|abc",
}


def given(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))


def printed(capsys: Output) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize("arguments", [[], ["-"]])
def test_standard_input_is_read_when_no_file_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: Output, arguments: list[str]
) -> None:
    given(monkeypatch, json.dumps([ENTRY, ENTRY]))
    assert execute(["events", "decode", *arguments]) == 0
    assert printed(capsys) == [DECODED, DECODED]


def test_files_are_read_in_their_order(tmp_path: Path, capsys: Output) -> None:
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    first.write_text(json.dumps(ENTRY))
    second.write_text("no JSON\n")
    assert execute(["events", "decode", str(second), str(first)]) == 0
    said = capsys.readouterr()
    assert [json.loads(line) for line in said.out.splitlines()] == [
        {"outcome": "unreadable", "reason": "not JSON"},
        DECODED,
    ]
    assert said.err == f"tpu-node-group: {second}: not JSON\n"


def test_of_one_input_nothing_more_needs_to_be_said(monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    given(monkeypatch, "no JSON\n")
    assert execute(["events", "decode"]) == 0
    assert capsys.readouterr() == ('{"outcome": "unreadable", "reason": "not JSON"}\n', "")


def test_a_file_that_cannot_be_read_is_named_and_the_others_are_decoded(tmp_path: Path, capsys: Output) -> None:
    file = tmp_path / "entry.json"
    file.write_text(json.dumps(ENTRY))
    assert execute(["events", "decode", str(tmp_path), str(file)]) == 2
    said = capsys.readouterr()
    assert json.loads(said.out) == DECODED
    assert said.err == f"tpu-node-group: cannot read {tmp_path}: Is a directory\n"


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("", {"outcome": "unreadable", "reason": "empty"}),
        ("[]", {"outcome": "ignored", "reason": "no entries"}),
        ("\0\1\2", {"outcome": "unreadable", "reason": "not JSON"}),
    ],
)
def test_whatever_is_fed_has_an_outcome(
    monkeypatch: pytest.MonkeyPatch, capsys: Output, text: str, outcome: dict[str, str]
) -> None:
    given(monkeypatch, text)
    assert execute(["events", "decode"]) == 0
    assert printed(capsys) == [outcome]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("no-such-file", "No such file or directory"),
        ("nul\0byte", "embedded null byte"),
        ("/dev/zero", "it has more than 1 MiB; decode it in parts"),
    ],
)
def test_what_cannot_be_read_is_said_in_words(
    monkeypatch: pytest.MonkeyPatch, capsys: Output, name: str, reason: str
) -> None:
    monkeypatch.setattr("controller.cli.events._MOST", 1 << 20)
    assert execute(["events", "decode", name]) == 2
    assert capsys.readouterr() == ("", f"tpu-node-group: cannot read {name}: {reason}\n")


def test_a_closed_standard_input_is_said_in_words(monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    monkeypatch.setattr("sys.stdin", None)
    assert execute(["events", "decode"]) == 2
    assert capsys.readouterr() == ("", "tpu-node-group: cannot read standard input: it is closed\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_is_said_in_words(tmp_path: Path) -> None:
    file = tmp_path / "entry.json"
    file.write_text(json.dumps(ENTRY))
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-c", "from controller.cli import main; main()", "events", "decode", str(file)],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (
        1,
        "tpu-node-group: cannot write to standard output: No space left on device\n",
    )
