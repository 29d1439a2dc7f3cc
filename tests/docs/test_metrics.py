"""docs/metrics.md tells of every metric, and of no other; and no label can grow without end."""

import random
import re
from pathlib import Path
from typing import Final

import pytest
from prometheus_client import Counter, Gauge, Histogram
from prometheus_client.metrics import MetricWrapperBase

from controller.runtime.bounded import Bounded
from controller.runtime.metrics import Metrics

PAGE: Final = Path(__file__).parents[2] / "docs" / "metrics.md"
ROW: Final = re.compile(r"^\| `(tpu_\w+)` \| (\w+) \| (.*?) ?\| (.+?) \| (.+) \|$", re.MULTILINE)
KINDS: Final = {Counter: "counter", Gauge: "gauge", Histogram: "histogram"}
#: Values of these are kinds, methods, codes and phrases; `project` is bounded by fifty.
ALLOWED: Final = {"kind", "reason", "cause", "method", "code", "action", "outcome", "project"}
#: What Prometheus recommends as the most for one metric, and some more.
MOST: Final = 300


def made() -> dict[str, MetricWrapperBase]:
    """Every metric by the name that it is scraped under."""
    metrics = Metrics()
    found = {}
    for each in vars(metrics).values():
        metric = each.metric if isinstance(each, Bounded) else each
        if isinstance(metric, MetricWrapperBase):
            found[metric._name + ("_total" if isinstance(metric, Counter) else "")] = metric
    assert len(found) == len(list(metrics.registry.collect()))
    return found


def test_the_page_has_a_row_for_each_metric_as_the_code_has_it() -> None:
    rows = {name: (kind, labels, meaning) for name, kind, labels, meaning, _ in ROW.findall(PAGE.read_text("utf-8"))}
    assert rows == {
        name: (
            KINDS[type(metric)],
            ", ".join(f"`{label}`" for label in metric._labelnames),
            metric._documentation,
        )
        for name, metric in made().items()
    }


def test_no_label_is_a_moment_or_an_objects_name() -> None:
    assert {label for metric in made().values() for label in metric._labelnames} <= ALLOWED


def test_every_metric_with_labels_is_a_bounded_one() -> None:
    bounded = {each.metric._name for each in Metrics().labelled}
    assert {metric._name for metric in made().values() if metric._labelnames} == bounded


@pytest.mark.parametrize("which", range(len(Metrics().labelled)), ids=lambda n: Metrics().labelled[n].metric._name)
def test_ten_thousand_names_make_no_more_than_the_bounded_rows(which: int) -> None:
    dice = random.Random(which)
    each = Metrics().labelled[which]
    for _ in range(10_000):
        each.labels(*(f"{dice.getrandbits(48):x}" for _ in each.metric._labelnames))
    rows = {tuple(sorted(sample.labels.items())) for found in each.metric.collect() for sample in found.samples}
    distinct = {tuple(pair for pair in row if pair[0] != "le") for row in rows}
    assert len(distinct) == each.most <= MOST
    assert tuple((label, "other") for label in sorted(each.metric._labelnames)) in distinct


def test_a_row_that_is_forgotten_makes_room() -> None:
    bounded = Bounded(Gauge("g", "A gauge.", ["project"], registry=None), most=2)
    bounded.labels("a").set(1)
    bounded.labels("b").set(2)
    bounded.remove("a")
    bounded.labels("c").set(3)
    rows = {sample.labels["project"]: sample.value for found in bounded.metric.collect() for sample in found.samples}
    assert rows == {"other": 2, "c": 3}
