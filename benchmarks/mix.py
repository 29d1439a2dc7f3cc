"""A realistic mix of messages: published audit entries, addressed to groups of ours or left to be somebody else's.

What a sink sends while slices come and go: most entries are of our VMs, and of those only some have anything to see.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Final

from controller.core.model import Key, Kind
from controller.core.observed import ResourceRef
from controller.core.route import RoutingIndex, route
from sinks.intake.entry import decode
from sinks.intake.events import Event

PROJECT: Final = "bench-project"
ZONE: Final = "us-east5-a"
GROUPS: Final = 25
HOSTS: Final = 32

_SAMPLES: Final = Path(__file__).parents[1] / "tests/data/audit-log"
#: Stands in an entry where its insertId goes: twenty characters, so that all messages of an entry are of one size.
_STAMP: Final = b"@" * 20

#: How many of each in a round: a published sample by its number, a step of a VM's own log, a method that is ignored.
_OURS: Final = {
    "02": 3, "05": 3, "booted": 3, "waiting": 3, "joining": 3, "joined": 3, "20": 2, "21": 2, "13": 1, "15": 1, "08": 2,
    "09": 2,
}  # fmt: skip
_OTHERS: Final = {"06": 3, "07": 3, "22": 1, "23": 1, "03": 1, "11": 1, "12": 1, "setLabels": 1}


@dataclass(frozen=True, slots=True)
class Template:
    """A message but for its insertId. `wakes`: whether the operator looks at something because of it."""

    data: bytes
    wakes: bool

    def stamped(self, stamp: int) -> bytes:
        """The message, with an insertId of its own: a number of up to twenty digits."""
        return self.data.replace(_STAMP, b"%020d" % stamp)


def index() -> RoutingIndex:
    """Where the groups of the mix are known."""
    known = RoutingIndex()
    for number in range(GROUPS):
        key = Key(Kind.GROUP, "default", f"slice{number:02}")
        known.add_instances_of(ResourceRef(Kind.MIG, PROJECT, ZONE, _mig(number)), key)
    return known


def messages(count: int, *, waking: bool = False) -> Iterator[Template]:
    """So many messages, always the same. `waking`: only those that the operator looks for."""
    chosen = [template for template in _round() if template.wakes or not waking]
    return islice(cycle(chosen), count)


@cache
def _round() -> tuple[Template, ...]:
    """The mix once for every host, in an order in which hosts and groups alternate."""
    known, now = index(), datetime.now(UTC)  # noqa: TID251 - no controller runs here that could be given a clock
    bodies = {number: _sample(number) for number in (*_OURS, *_OTHERS)}
    templates: dict[bytes, Template] = {}
    made: list[Template] = []
    for host in range(HOSTS):
        for group in range(GROUPS):
            for number in _turn(_OURS, host * GROUPS + group):
                entry = _addressed(bodies[number], f"{_mig(group)}-{host:04x}", host * GROUPS + group + 1)
                made.append(_template(entry, templates, known, now))
            for number in _turn(_OTHERS, host * GROUPS + group):
                made.append(_template(bodies[number], templates, known, now))  # noqa: PERF401 - as above
    return tuple(made)


def _turn(shares: dict[str, int], turn: int) -> list[str]:
    """What one host contributes: a third of a round, another one each time."""
    spread = [number for number, share in shares.items() for _ in range(share)]
    return spread[turn % 3 :: 3]


def _template(entry: Any, known: dict[bytes, Template], groups: RoutingIndex, now: datetime) -> Template:
    data = json.dumps(entry, separators=(",", ":")).encode()
    if data not in known:
        event = decode(data)
        known[data] = Template(data, isinstance(event, Event) and route(event, groups, now) is not None)
    return known[data]


def _sample(number: str) -> Any:
    """A published entry, one like it that the operator ignores, or one that a VM writes of itself."""
    if number == "setLabels":
        ignored = _sample("06")
        return {**ignored, "protoPayload": {**ignored["protoPayload"], "methodName": f"v1.compute.instances.{number}"}}
    if not number.isdigit():
        return {
            "insertId": _STAMP.decode(),
            "jsonPayload": {"step": number},
            "labels": {"compute.googleapis.com/resource_name": "vm"},
            "logName": f"projects/{PROJECT}/logs/tpu-node-bootstrap",
            "resource": {"type": "gce_instance", "labels": {}},
            "severity": "INFO",
            "timestamp": "2026-01-02T03:04:05.678901Z",
        }
    (path,) = _SAMPLES.glob(f"{number}-*.json")
    entry = json.loads(path.read_bytes())
    return {**entry, "insertId": _STAMP.decode()}


def _addressed(entry: Any, name: str, instance_id: int) -> Any:
    """The entry, of one of our VMs."""
    labels = {"instance_id": str(instance_id), "project_id": PROJECT, "zone": ZONE}
    log = entry["logName"].partition("/logs/")[2]
    changed = {
        **entry,
        "logName": f"projects/{PROJECT}/logs/{log}",
        "resource": {"type": "gce_instance", "labels": labels},
    }
    if "protoPayload" in entry:
        # MIG-made names bear the project's number (facts: audit logs 0, item 4).
        resource_name = f"projects/123456789012/zones/{ZONE}/instances/{name}"
        changed["protoPayload"] = {**entry["protoPayload"], "resourceName": resource_name}
    else:
        changed["jsonPayload"] = {**entry["jsonPayload"], "instance": name}
    return changed


def _mig(number: int) -> str:
    return f"slice{number:02}-mig-0a1b2c3d"
