"""The object of `--json`."""

from dataclasses import replace

from controller.demo.measure import injections
from controller.demo.report import Report, calls_made
from tests.demo.builders import make_act, make_life

REPORT = Report(
    scenario="life",
    ready_seconds=5.25,
    injections=injections([make_life(running=(2,), tokens=(("a", 2.75),))], [make_act(2.7, cause_at=2.5)]),
    gce_calls={"instances.get": 3},
    left_behind=(),
    failures=(),
)


def test_the_report_has_these_keys_and_numbers() -> None:
    one, none = {"n": 1, "p50": 250, "p99": 250, "max": 250}, {"n": 0, "p50": None, "p99": None, "max": None}
    assert REPORT.to_json() == {
        "ok": True,
        "scenario": "life",
        "ready_seconds": 5.25,
        "running_to_token_ms": {"n": 1, "p50": 750, "p99": 750, "max": 750},
        "event_to_token_ms": {**one, "by_cause": {"insert_last": one, "booted": none, "follow_up": none}},
        "gce_calls": {"instances.get": 3},
        "left_behind": [],
        "failures": [],
    }


def test_it_is_not_ok_when_something_failed_or_stayed_or_never_was_ready() -> None:
    assert not replace(REPORT, failures=("x",)).ok
    assert not replace(REPORT, left_behind=("x",)).ok
    assert not replace(REPORT, ready_seconds=None).ok


def test_calls_are_those_made_in_between_the_most_called_first() -> None:
    before = {"instances.get": 2, "instances.list": 1}
    after = {"instances.get": 3, "instances.list": 1, "instances.setMetadata": 4, "a.b": 1}
    assert list(calls_made(before, after).items()) == [("instances.setMetadata", 4), ("a.b", 1), ("instances.get", 1)]
