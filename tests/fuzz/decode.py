"""Coverage-guided fuzzing of the decoding, by atheris: `make fuzz`, ten minutes unless SECONDS says otherwise.

The published entries are where it begins. What it learns stays in .fuzz/corpus, and the next run goes on from there. An
input that breaks an invariant is left in .fuzz as crash-*, and belongs into tests/data/fuzz with the mending.
"""

import argparse
import importlib.util
import json
import platform
import random
import sys
from pathlib import Path
from typing import Any, Final

_ROOT: Final = Path(__file__).parents[2]
_WORK: Final = _ROOT / ".fuzz"
_SEEDS: Final = (_ROOT / "tests/data/audit-log", _ROOT / "tests/data/fuzz")
#: Longer inputs find nothing that shorter ones do not, and slow the search.
_LONGEST: Final = 16_384
#: Seconds for one input: the decoding of the longest takes a few milliseconds.
_SLOWEST: Final = 10

#: Names and values that chance would take long to find.
_WORDS: Final = (
    "logName", "resource", "type", "labels", "protoPayload", "jsonPayload", "textPayload", "insertId", "timestamp",
    "receiveTimestamp", "severity", "operation", "id", "producer", "first", "last", "split", "uid", "index",
    "totalSplits", "serviceName", "methodName", "resourceName", "status", "code", "message", "details", "request",
    "response", "metadata", "instance_id", "project_id", "zone", "location", "step", "instance", "reason", "cluster",
    "data", "attributes", "messageId", "message_id", "publishTime", "publish_time", "entries", "receivedMessages",
    "compute.googleapis.com", "type.googleapis.com/google.cloud.audit.AuditLog", "gce_instance", "audited_resource",
    "projects/p/logs/cloudaudit.googleapis.com%2Factivity", "projects/p/logs/tpu-node-bootstrap",
    "projects/p/logs/tpu-node-group-canary", "projects/1/zones/z/instances/vm-x7kq", "booted", "waiting", "joining",
    "joined", "failed", "/zones/", "/regions/", "/global/", "/instances/", "true", "false", "null", "NaN", "1e999",
    "\\ud800", "2026-01-02T03:04:05.123456789Z", "v1.", "beta.", "alpha.",
)  # fmt: skip
#: What a member may be replaced with.
_VALUES: Final[tuple[Any, ...]] = (
    None, True, False, 0, 1, -1, 2**31, 2**64, 10**400, 1.5, "", "0", "1", "\ud800", "\0", "x" * 300, [], {}, [[]],
)  # fmt: skip


def main() -> int:
    """Fuzz for the time asked for; libFuzzer's exit code. 0 with the reason where atheris cannot be had."""
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--seconds", type=int, default=600)
    seconds = parser.parse_args().seconds
    if importlib.util.find_spec("atheris") is None:
        here = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
        print(f"make fuzz: skipped, atheris has no wheel for {here}")  # noqa: T201 - the command's own voice
        return 0
    return fuzz(seconds)


def fuzz(seconds: int) -> int:
    """Run libFuzzer in this process. It ends the process itself when it is done."""
    import atheris  # noqa: PLC0415 - only where there is one

    with atheris.instrument_imports(include=["sinks", "controller.core.route"]):
        from sinks.intake.methods import KINDS  # noqa: PLC0415 - instrumented
        from tests.fuzz.invariants import check  # noqa: PLC0415 - instrumented

    def mutate(data: bytes, longest: int, seed: int) -> bytes:
        changed = mutated(data, random.Random(seed))
        return changed if changed and len(changed) <= longest else bytes(atheris.Mutate(data, longest))

    words = {*_WORDS, *(f"compute.{collection}.{method}" for collection, method in KINDS)}
    atheris.Setup([sys.argv[0], *_prepare(sorted(words)), f"-max_total_time={seconds}"], check, custom_mutator=mutate)
    atheris.Fuzz()
    return 0


def _prepare(words: list[str]) -> list[str]:
    """The corpus and the dictionary on disk, and libFuzzer's arguments for them."""
    corpus = _WORK / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for path in (path for folder in _SEEDS for path in sorted(folder.glob("*")) if path.suffix != ".md"):
        (corpus / path.name).write_bytes(path.read_bytes())
    for name, document in documents().items():
        (corpus / name).write_text(document)
    dictionary = _WORK / "words.dict"
    dictionary.write_text("".join(f"{json.dumps(word)}\n" for word in words))
    return [
        str(corpus),
        f"-dict={dictionary}",
        f"-artifact_prefix={_WORK}/",
        f"-max_len={_LONGEST}",
        f"-timeout={_SLOWEST}",
        "-print_final_stats=1",
    ]


def documents() -> dict[str, str]:
    """Seeds that are not published entries: the operator's own logs, and what holds several entries."""
    said = {
        "logName": "projects/p/logs/tpu-node-bootstrap",
        "resource": {"type": "gce_instance", "labels": {"instance_id": "42", "project_id": "p", "zone": "z"}},
        "jsonPayload": {"instance": "vm-x7kq", "step": "failed", "reason": "größer 😀"},
        "insertId": "id-1",
        "timestamp": "2026-01-02T03:04:05Z",
    }
    canary = {
        **said,
        "logName": "projects/p/logs/tpu-node-group-canary",
        "jsonPayload": {"cluster": "c", "instance": "operator-0"},
    }
    push = {"message": {"data": "e30=", "messageId": "1", "message_id": "1"}, "subscription": "s"}
    values = {
        "bootstrap": said,
        "canary": canary,
        "split": {**said, "split": {"uid": "u", "index": 1, "totalSplits": 2}},
        "push": push,
        "page": {"entries": [said, canary, push], "nextPageToken": "t"},
        "pull": {"receivedMessages": [{"ackId": "a", **push}]},
    }
    lines = "\n".join(json.dumps(value) for value in values.values())
    return {**{name: json.dumps(value) for name, value in values.items()}, "lines": lines}


def mutated(data: bytes, chance: random.Random) -> bytes | None:
    """The JSON with one member removed, replaced or put elsewhere; None half of the time, and of what is no JSON."""
    if chance.random() < 0.5:
        return None
    try:
        value = json.loads(data)
        places = list(_places(value))
        if not places:
            return None
        holder, key = chance.choice(places)
        match chance.randrange(3):
            case 0:
                del holder[key]
            case 1:
                holder[key] = chance.choice(_VALUES)
            case _:
                other, its = chance.choice(places)
                holder[key] = json.loads(json.dumps(other[its]))
        return json.dumps(value).encode()
    except (ValueError, RecursionError):
        return None


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every member of a JSON value, as (what holds it, its key)."""
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, inner in below for place in [(value, key), *_places(inner)]]


if __name__ == "__main__":
    sys.exit(main())
