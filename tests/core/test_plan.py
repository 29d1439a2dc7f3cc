"""Waits that double, back-stop looks in steps, and what a timer posts."""

from datetime import datetime, timedelta

import pytest

from controller.core.model import Cause, Scope, Wake
from controller.core.plan import Recheck, doubling, step_of
from tests.core.builders import NOW, after, ago

STEPS = tuple(timedelta(seconds=s) for s in (5, 15, 30, 60))


@pytest.mark.parametrize(
    ("attempt", "seconds"), [(0, 0.5), (1, 1), (2, 2), (3, 4), (4, 8), (5, 8), (31, 8), (10_000, 8)]
)
def test_a_wait_doubles_up_to_its_bound(attempt: int, seconds: float) -> None:
    assert doubling(timedelta(seconds=0.5), timedelta(seconds=8), attempt) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("since", "due"),
    [
        pytest.param(NOW, after(seconds=5), id="the first step is to come"),
        pytest.param(ago(seconds=5), after(seconds=10), id="a step that is due now has passed"),
        pytest.param(ago(seconds=29), after(seconds=1), id="the third step"),
        pytest.param(ago(seconds=59), after(seconds=1), id="the last step"),
        pytest.param(ago(seconds=60), after(seconds=60), id="the last step again"),
        pytest.param(ago(hours=1, seconds=1), after(seconds=59), id="and again, for ever"),
    ],
)
def test_back_stop_looks_come_at_their_steps(since: datetime, due: datetime) -> None:
    assert step_of(STEPS, since, NOW) == due


def test_a_timer_posts_its_scope_and_names_with_itself_as_their_cause() -> None:
    cause = Cause("unconfirmed", NOW)
    assert Recheck(NOW, "unconfirmed", Scope.INSTANCES, ("a", "b")).wake == Wake(
        Scope.INSTANCES, cause, {"a": cause, "b": cause}
    )
