"""Decoding is total: whatever arrives, the outcome is one of three values, and it can be printed."""

import json
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sinks.intake.document import decode_document, to_json
from sinks.intake.entry import decode
from sinks.intake.events import Event, Ignored, Unreadable, moment

SAMPLES = [path.read_bytes() for path in sorted((Path(__file__).parents[1] / "data" / "audit-log").glob("*.json"))]

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("\ud800")
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=8
)


def paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value."""
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(path for key, inner in below for path in paths(inner, (*at, key)))]


@st.composite
def mutated_samples(draw: st.DrawFn) -> bytes:
    """A sample in which a few values are replaced or removed."""
    entry = json.loads(draw(st.sampled_from(SAMPLES)))
    for _ in range(draw(st.integers(1, 4))):
        path = draw(st.sampled_from(paths(entry)))
        if not path:
            continue
        holder = entry
        for key in path[:-1]:
            holder = holder[key]
        if draw(st.booleans()) and isinstance(holder, dict):
            del holder[path[-1]]
        else:
            holder[path[-1]] = draw(values)
    return json.dumps(entry).encode()


@st.composite
def damaged_samples(draw: st.DrawFn) -> bytes:
    """A sample with bytes cut out, put in or overwritten."""
    data = bytearray(draw(st.sampled_from(SAMPLES)))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        data[start : start + draw(st.integers(0, 40))] = draw(st.binary(max_size=20))
    return bytes(data)


def check(data: bytes) -> None:
    for result in [decode(data), *decode_document(data)]:
        assert isinstance(result, Event | Ignored | Unreadable)
        json.dumps(to_json(result), ensure_ascii=False).encode()
        if isinstance(result, Event):
            assert moment(result.at).tzinfo is not None
            assert result.project
            assert result.name
            assert result.instance_id is None or int(result.instance_id) > 0


@settings(max_examples=200, deadline=None)
@given(st.binary() | damaged_samples())
def test_arbitrary_bytes_never_raise(data: bytes) -> None:
    check(data)


@settings(max_examples=300, deadline=None)
@given(mutated_samples())
def test_a_mutated_sample_never_raises(data: bytes) -> None:
    check(data)


@settings(max_examples=100, deadline=None)
@given(values)
def test_arbitrary_json_never_raises(value: Any) -> None:
    check(json.dumps(value).encode())
