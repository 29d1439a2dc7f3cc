"""How findings look to people, and which end the command with 1."""

import io

import pytest
from rich.console import Console

from controller.doctor.findings import Finding, failed, ok, skipped, warning, well
from controller.doctor.show import show, stdout_console

LONG = "gcloud pubsub topics add-iam-policy-binding " + "x" * 100
FINDINGS = (
    Finding("sink", "Log sink", ok("tpu-node-group-events")),
    Finding("sink-writer", "Log sink may publish", warning("it has no right that can be seen from here", LONG)),
    Finding("operator", "Operator runs", failed("nobody holds the Lease", "kubectl get pods")),
    Finding("events-flow", "Events flow", skipped("no TPUNodeGroup says so")),
)


def test_each_check_has_a_row_and_its_mend_a_line_that_is_not_cut() -> None:
    console = Console(file=io.StringIO(), width=60)
    show(FINDINGS, console)
    assert isinstance(console.file, io.StringIO)
    assert [line.rstrip() for line in console.file.getvalue().splitlines()] == [
        "ok       Log sink              tpu-node-group-events",
        "warning  Log sink may publish  it has no right that can be",
        "                               seen from here",
        f"  mend: {LONG}",
        "failed   Operator runs         nobody holds the Lease",
        "  mend: kubectl get pods",
        "skipped  Events flow           no TPUNodeGroup says so",
        "",
        "1 ok, 1 warning, 1 failed, 1 skipped",
    ]


def test_a_message_in_a_pipe_stays_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    topic = "projects/my-gcp-project/topics/tpu-node-group-events"
    message = f"nobody may publish to {topic}: nothing is exported, unless the project grants it, unseen from here"
    show([Finding("sink-writer", "Log sink may publish", warning(message, LONG))], stdout_console())
    assert capsys.readouterr().out == f"warning  Log sink may publish  {message}\n  mend: {LONG}\n\n1 warning\n"


def test_only_what_failed_is_not_well() -> None:
    assert [well((finding,)) for finding in FINDINGS] == [True, True, False, True]


def test_a_finding_as_json_has_all_that_the_line_has() -> None:
    assert FINDINGS[2].shown() == {
        "check": "operator",
        "title": "Operator runs",
        "status": "failed",
        "message": "nobody holds the Lease",
        "mend": "kubectl get pods",
    }
