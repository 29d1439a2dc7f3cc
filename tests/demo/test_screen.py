"""What the demo prints, as a pipe gets it."""

import io
from dataclasses import replace

from rich.console import Console

from controller.demo.measure import injections
from controller.demo.report import Report
from controller.demo.screen import Screen
from controller.demo.steps import Step
from tests.demo.builders import at, make_act, make_life

REPORT = Report(
    scenario="life",
    ready_seconds=5.25,
    injections=injections([make_life(running=(2,), tokens=(("a", 2.75),))], [make_act(2.7, cause_at=2.5)]),
    gce_calls={"instances.get": 3, "instances.setMetadata": 1},
    left_behind=(),
    failures=(),
)


def printed(report: Report, *steps: Step) -> str:
    pipe = io.StringIO()
    screen = Screen(Console(file=pipe, width=80))
    screen.start(at(0))
    screen.tell(steps)
    screen.end(report)
    return pipe.getvalue()


def test_no_line_ends_with_blanks() -> None:
    assert [line for line in printed(REPORT).splitlines() if line != line.rstrip()] == []


def test_the_tables_have_all_their_rows() -> None:
    said = printed(REPORT)
    assert all(words in said for words in ("VM RUNNING to token", "instances.get ", "instances.setMetadata "))


def test_a_long_line_is_whole_in_a_pipe() -> None:
    text = "Ready=False, NodeNotReady: " + "x" * 300
    assert f"   1.00 s  {text}\n" in printed(REPORT, Step(at(1), text))


def test_what_was_kept_up_was_not_left_behind() -> None:
    assert "Left behind: nothing\n" in printed(REPORT)
    assert "Left behind" not in printed(replace(REPORT, kept=True))
