"""Durations, as people write them."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.settings.duration import format_duration, parse_duration


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("30s", 30), ("5m", 300), ("1h", 3600), ("250ms", 0.25), ("0.5s", 0.5), ("90", 90), (90, 90), (0.5, 0.5)],
)
def test_a_duration_is_a_number_with_a_unit_or_bare_seconds(written: object, seconds: float) -> None:
    assert parse_duration(written) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "written", ["", "s", "5 parsecs", "-5s", "1h30m", "nan", True, None, [], float("nan"), float("inf"), -1]
)
def test_anything_else_is_refused(written: object) -> None:
    with pytest.raises(ValueError, match="duration"):
        parse_duration(written)


@given(st.integers(0, 10**9))
def test_what_is_written_reads_back_the_same(milliseconds: int) -> None:
    duration = timedelta(milliseconds=milliseconds)
    assert parse_duration(format_duration(duration)) == duration
