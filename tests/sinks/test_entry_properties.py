"""Decoding is total: whatever arrives, the outcome is one of three values, can be printed, and is always the same.

And what does not change the meaning of an entry does not change its event.
"""

import json
from datetime import UTC
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sinks.intake.document import decode_document, to_json
from sinks.intake.entry import decode
from sinks.intake.events import Event, Ignored, Phase, Unreadable, moment

SAMPLES = [path.read_bytes() for path in sorted((Path(__file__).parents[1] / "data" / "audit-log").glob("*.json"))]
#: What stands in for an entry of the operator's own logs.
SAID = [
    {
        "logName": f"projects/example-project/logs/{log}",
        "resource": {"type": "global", "labels": {"project_id": "example-project", "zone": "us-east5-a"}},
        "jsonPayload": payload,
        "insertId": "id-1",
        "timestamp": "2026-01-02T03:04:05.678Z",
    }
    for log, payload in (
        ("tpu-node-bootstrap", {"instance": "slice-x7kq", "step": "failed", "reason": "größer 😀"}),
        ("tpu-node-group-canary", {"cluster": "prod-1", "instance": "operator-0"}),
    )
]
ENTRIES = [*SAMPLES, *(json.dumps(entry).encode() for entry in SAID)]

awkward = st.sampled_from(
    ["\ud800", "\0", "", "0", "00", "\u202e", "9" * 400, "projects/", "/", "|", "a" * 5000, -1, 2**31, 2**64, 10**400]
)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40) | awkward
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)


def paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value."""
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(path for key, inner in below for path in paths(inner, (*at, key)))]


def holder_of(entry: Any, path: tuple[Any, ...]) -> Any:
    """What holds the place."""
    for key in path[:-1]:
        entry = entry[key]
    return entry


@st.composite
def mutated_entries(draw: st.DrawFn) -> bytes:
    """An entry in which a few values are replaced, removed or put under another's name."""
    entry = json.loads(draw(st.sampled_from(ENTRIES)))
    for _ in range(draw(st.integers(1, 4))):
        places = [path for path in paths(entry) if path]
        path = draw(st.sampled_from(places)) if places else None
        if path is None:
            break
        holder = holder_of(entry, path)
        match draw(st.sampled_from(["remove", "replace", "swap"])):
            case "remove":
                del holder[path[-1]]
            case "replace":
                holder[path[-1]] = draw(values)
            case "swap":
                other = draw(st.sampled_from(places))
                holder[path[-1]] = json.loads(json.dumps(holder_of(entry, other)[other[-1]]))
    return json.dumps(entry).encode()


@st.composite
def damaged_entries(draw: st.DrawFn) -> bytes:
    """An entry with bytes cut out, put in or overwritten, or cut off."""
    data = bytearray(draw(st.sampled_from(ENTRIES)))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        data[start : start + draw(st.integers(0, 40))] = draw(st.binary(max_size=20))
    return bytes(data[: draw(st.integers(0, len(data)) | st.just(len(data)))])


@st.composite
def doubled_keys(draw: st.DrawFn) -> bytes:
    """An entry that has a member twice, or a thousand times within itself."""
    data = draw(st.sampled_from(ENTRIES))
    name = draw(st.sampled_from(["logName", "timestamp", "protoPayload", "jsonPayload", "resource", "operation", "x"]))
    value = json.dumps(draw(values))
    if draw(st.booleans()):
        deep = draw(st.sampled_from([10, 500, 990, 2000, 50_000]))
        opening, closing = draw(st.sampled_from([("[", "]"), ('{"a":', "}")]))
        value = opening * deep + "1" + closing * deep
    member = f'"{name}":{value}'.encode()
    return (
        data.replace(b"{", b"{" + member + b",", 1)
        if draw(st.booleans())
        else data.rstrip()[:-1] + b"," + member + b"}"
    )


def check(data: bytes) -> None:
    for result in [decode(data), *decode_document(data)]:
        assert isinstance(result, Event | Ignored | Unreadable)
        json.dumps(to_json(result), ensure_ascii=False).encode()
        if isinstance(result, Event):
            assert moment(result.at).tzinfo is UTC
            assert result.project
            assert result.name
            assert "/logs/" in result.key
            assert result.instance_id is None or int(result.instance_id) > 0
            assert result.phase in Phase
    assert decode(data) == decode(data)


@settings(max_examples=200, deadline=None)
@given(st.binary() | damaged_entries())
def test_arbitrary_bytes_never_raise(data: bytes) -> None:
    check(data)


@settings(max_examples=300, deadline=None)
@given(mutated_entries())
def test_a_mutated_entry_never_raises(data: bytes) -> None:
    check(data)


@settings(max_examples=60, deadline=None)
@given(doubled_keys())
def test_doubled_members_and_deep_ones_never_raise(data: bytes) -> None:
    check(data)


@settings(max_examples=100, deadline=None)
@given(values)
def test_arbitrary_json_never_raises(value: Any) -> None:
    check(json.dumps(value).encode())


def test_an_entry_cut_off_at_any_byte_is_unreadable() -> None:
    for entry in (ENTRIES[1], ENTRIES[13], *ENTRIES[-2:]):
        whole = entry.rstrip()
        assert isinstance(decode(whole), Event)
        for length in range(len(whole)):
            assert isinstance(decode(whole[:length]), Unreadable)


events = st.sampled_from([entry for entry in ENTRIES if isinstance(decode(entry), Event)])


@settings(max_examples=60, deadline=None)
@given(events, st.sampled_from([None, 0, 1, 4, "\t"]), st.booleans(), st.randoms(use_true_random=False))
def test_blanks_escapes_and_order_change_nothing(entry: bytes, indent: Any, escaped: bool, random: Any) -> None:  # noqa: FBT001
    def shuffled(value: Any) -> Any:
        if isinstance(value, dict):
            members = list(value.items())
            random.shuffle(members)
            return {key: shuffled(inner) for key, inner in members}
        return [shuffled(inner) for inner in value] if isinstance(value, list) else value

    again = json.dumps(shuffled(json.loads(entry)), indent=indent, ensure_ascii=escaped).encode()
    if escaped:
        again = again.replace(b"/", b"\\/")
    assert decode(again) == decode(entry)
    assert decode_document(again) == [decode(entry)]


#: What an event does not depend on.
BODY = ["request", "response", "metadata", "authorizationInfo", "authenticationInfo", "requestMetadata", "policy"]


@settings(max_examples=60, deadline=None)
@given(events, st.sampled_from(BODY), values)
def test_bodies_and_unknown_members_change_nothing(entry: bytes, name: str, value: Any) -> None:
    changed = json.loads(entry)
    changed["receiveTimestamp"] = changed["severity"] = changed["a new member"] = value
    changed.setdefault("protoPayload" if "protoPayload" in changed else "jsonPayload", {})[name] = value
    if isinstance(value, float) and value - value != 0:
        assert decode(json.dumps(changed).encode()) == Unreadable("not JSON")
    elif "NaN" not in json.dumps(value) and "Infinity" not in json.dumps(value):
        assert decode(json.dumps(changed).encode()) == decode(entry)


@settings(max_examples=60, deadline=None)
@given(events)
def test_what_is_left_out_is_false_zero_or_empty(entry: bytes) -> None:
    """Proto JSON leaves such members out; a writer that does not says the same."""
    spelled = json.loads(entry)
    if "protoPayload" in spelled:
        operation = spelled.setdefault("operation", {})
        for name, empty in (("id", ""), ("producer", ""), ("first", False), ("last", False)):
            operation.setdefault(name, empty)
        spelled["protoPayload"].setdefault("status", {}).setdefault("code", 0)
        spelled["protoPayload"]["status"].setdefault("message", "")
    spelled.setdefault("textPayload", None)
    spelled.setdefault("split", {"uid": "", "index": 0, "totalSplits": 0})
    assert decode(json.dumps(spelled).encode()) == decode(entry)


@given(events, st.sampled_from(["", "v1.", "beta.", "alpha."]))
@settings(max_examples=60, deadline=None)
def test_the_version_of_the_api_changes_nothing(entry: bytes, prefix: str) -> None:
    changed = json.loads(entry)
    if payload := changed.get("protoPayload"):
        payload["methodName"] = prefix + payload["methodName"].removeprefix("v1.").removeprefix("beta.")
    assert decode(json.dumps(changed).encode()) == decode(entry)
