"""What a log line looks like, for people and for Cloud Logging, and that no token value can be in one."""

import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from controller.logs import configure

TOKEN = "abcdef.0123456789abcdef"


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    root, libraries = logging.getLogger(), logging.getLogger("kopf")
    before = (root.handlers, root.level, libraries.level)
    yield
    root.handlers, root.level, libraries.level = before
    structlog.reset_defaults()


def log_all() -> None:
    """A line of the controller, one of a leaf that uses the standard library, and one with a traceback."""
    structlog.get_logger("ours").warning("token refused", value=TOKEN)
    logging.getLogger("leaf").warning("refused: %s", TOKEN)
    try:
        int(TOKEN)
    except ValueError:
        structlog.get_logger("ours").exception("failed")


def test_lines_for_cloud_logging_are_json_with_its_severity(capsys: pytest.CaptureFixture[str]) -> None:
    configure("info", "json")
    log_all()
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [(line["event"], line["logger"], line["severity"]) for line in lines] == [
        ("token refused", "ours", "WARNING"),
        ("refused: <token>", "leaf", "WARNING"),
        ("failed", "ours", "ERROR"),
    ]


def test_lines_for_people_say_their_level_once(capsys: pytest.CaptureFixture[str]) -> None:
    configure("info", "console")
    structlog.get_logger("ours").warning("lease not renewed", failure="timeout")
    line = capsys.readouterr().err
    assert "[warning  ] lease not renewed" in line
    assert "severity" not in line


@pytest.mark.parametrize("style", ["console", "json"])
def test_what_has_the_form_of_a_token_is_cut_out_of_every_line(style: str, capsys: pytest.CaptureFixture[str]) -> None:
    configure("info", style)
    log_all()
    said = capsys.readouterr()
    assert TOKEN not in said.err
    assert said.err.count("<token>") == 3
    assert said.out == ""


def test_what_is_below_the_level_is_not_logged(capsys: pytest.CaptureFixture[str]) -> None:
    configure("error", "json")
    structlog.get_logger("ours").warning("quiet")
    logging.getLogger("leaf").warning("quiet")
    assert capsys.readouterr().err == ""
