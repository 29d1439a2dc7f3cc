"""The benchmark runs, at sizes that say nothing about speed, and judges what it measured."""

import io
import json
from collections import Counter

import pytest
from rich.console import Console

from benchmarks import intake, mix
from benchmarks.report import Target, show, targets
from controller.core.route import route
from sinks.intake.entry import decode
from sinks.intake.events import Event, Ignored
from tests.runtime.virtual_time import BEGINNING

TINY = [
    *("--entries", "500", "--rate", "100", "--seconds", "0.3"),
    *("--messages", "300", "--rounds", "1", "--events", "3000"),
]


@pytest.mark.slow
def test_a_tiny_run_measures_everything_and_leaves_no_process(capsys: pytest.CaptureFixture[str]) -> None:
    assert intake.main([*TINY, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert set(report) == {"machine", "decode_and_route", "paced", "full_speed", "backlog", "memory", "targets"}
    assert report["decode_and_route"]["per_second"] > 0
    for part in ("paced", "full_speed", "backlog"):
        for peer in ("operator", "raw", "threads"):
            assert report[part][peer]["per_second"] > 0
            assert 0 < report[part][peer]["p50_ms"] <= report[part][peer]["p99_ms"]
    assert report["memory"]["events"] == 3000
    assert [set(target) - {"at_least", "at_most"} for target in report["targets"]] == [{"name", "value", "met"}] * 5
    shown = io.StringIO()
    show(report, Console(file=shown, width=200))
    assert "publish to look at 100/s, p99 in ms" in shown.getvalue()


def test_the_mix_is_of_ours_and_of_others_and_a_third_of_it_wakes() -> None:
    templates = list(mix.messages(5000))
    results = [decode(template.stamped(number)) for number, template in enumerate(templates)]
    assert {type(result) for result in results} == {Event, Ignored}
    events = [result for result in results if isinstance(result, Event)]
    assert len({event.key for event in events}) == len(events)
    assert 0.25 < sum(template.wakes for template in templates) / len(templates) < 0.4
    keys = Counter(found.key for event in events if (found := route(event, mix.index(), BEGINNING)) is not None)
    assert len(keys) == mix.GROUPS
    assert sum(keys.values()) == sum(template.wakes for template in templates)


def test_a_paced_run_has_only_entries_that_wake() -> None:
    assert all(template.wakes for template in mix.messages(200, waking=True))


def test_a_promise_is_kept_at_its_bound_and_broken_beyond() -> None:
    figures = {"per_second": 10_000, "p50_ms": 10.0, "p99_ms": 50.1}
    report = {
        "decode_and_route": {"per_second": 5000},
        "paced": {"rate": 50, "operator": figures},
        "full_speed": {"operator_to_raw": 0.49},
        "memory": {"mb_per_100000": 1.0},
    }
    assert [target.met for target in targets(report)] == [True, True, False, False, True]
    assert targets({**report, "memory": None})[-1] == Target(
        "full speed, share of the raw client's rate", 0.49, 0.5, at_least=True
    )
