"""Durations as people write them: `30s`, `5m`, `250ms`, `1h`, or a bare number of seconds. Pure."""

import re
from collections.abc import Iterable
from datetime import timedelta
from itertools import pairwise
from typing import Annotated, Any, Final

from pydantic import BeforeValidator
from pydantic_settings import NoDecode

_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "": 1.0}
_WRITTEN: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|)\s*")
_FORM: Final = 'write a number with ms, s, m or h, such as "30s" or "5m"'


def parse_duration(value: object) -> timedelta:
    """A duration from its written form. Raises ValueError that says which form is right."""
    if isinstance(value, timedelta):
        return value
    text = str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
    match = _WRITTEN.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ValueError(f"is not a duration: {_FORM}")
    try:
        return timedelta(seconds=float(match[1]) * _UNITS[match[2]])
    except OverflowError:
        raise ValueError("is longer than any duration can be") from None


def format_duration(value: timedelta) -> str:
    """The shortest written form that parses back to the same: `5m`, `0.5s`, `1h`."""
    seconds = value.total_seconds()
    for unit in ("h", "m"):
        if seconds and seconds % _UNITS[unit] == 0:
            return f"{seconds / _UNITS[unit]:g}{unit}"
    return f"{seconds:.10g}s"


def parse_durations(value: object) -> tuple[timedelta, ...]:
    """Several durations, separated by commas or given as a list."""
    if isinstance(value, str):
        return tuple(parse_duration(part) for part in value.split(","))
    if isinstance(value, Iterable):
        return tuple(parse_duration(part) for part in value)
    return (parse_duration(value),)


def _positive(value: object) -> timedelta:
    duration = parse_duration(value)
    if duration <= timedelta(0):
        raise ValueError("must be longer than 0s")
    return duration


def _rising(value: Any) -> tuple[timedelta, ...]:
    durations = parse_durations(value)
    if not durations or any(later <= earlier for earlier, later in pairwise((timedelta(0), *durations))):
        raise ValueError('must be durations that rise, each longer than 0s, such as "5s,15s,30s"')
    return durations


#: A setting that is a duration longer than zero.
Duration = Annotated[timedelta, BeforeValidator(_positive)]
#: A setting that is a rising series of durations; NoDecode because the environment gives it as text, not as JSON.
Durations = Annotated[tuple[timedelta, ...], NoDecode, BeforeValidator(_rising)]
