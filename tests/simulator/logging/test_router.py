"""The way of an entry from its writer to the topic."""

import base64
import json
import random
from pathlib import Path
from typing import Any

import pytest

from simulator.faults import FaultError
from simulator.logging import kinds
from simulator.logging.kinds import event_names, known_event
from simulator.logging.latency import Latency
from simulator.logging.query import compile_query
from simulator.logging.sink_filter import sink_filter
from sinks.intake.entry import decode
from sinks.intake.events import Event
from sinks.intake.methods import COLLECTIONS, KINDS
from tests.simulator.logging.conftest import Logs, audit, written

SAMPLES = Path(__file__).parents[2] / "data" / "audit-log"


async def names(logs: Logs, count: int) -> list[str]:
    """The VMs of the first so many messages, in the order of their publication."""
    await logs.topic.reached(count)
    return [
        json.loads(data).get("protoPayload", {"resourceName": "/other"})["resourceName"].rpartition("/")[2]
        for data, _ in logs.topic.messages
    ]


async def test_an_admitted_entry_is_published_as_json_with_its_timestamp(logs: Logs) -> None:
    logs.router.write(audit("vm-1"))
    await names(logs, 1)
    data, attributes = logs.topic.messages[0]
    assert (json.loads(data), attributes) == (
        audit("vm-1") | {"receiveTimestamp": "2026-01-02T03:04:05.678901000Z"},
        {"logging.googleapis.com/timestamp": "2026-01-02T03:04:05.000001Z"},
    )
    assert logs.router.records.shown(full=False, last=10) == [
        {
            "key": f"{audit('vm-1')['logName']}|2026-01-02T03:04:05.000001Z|id-vm-1",
            "event": "instance.inserted",
            "admitted": True,
            "fault": "",
            "published": [{"at": "2026-01-02T03:04:05.678901Z", "messageId": "1"}],
        }
    ]


async def test_what_the_filter_drops_is_remembered_but_not_published(logs: Logs) -> None:
    logs.router.write(audit("vm-1", "v1.compute.instances.setMetadata"))
    logs.router.write(audit("vm-2"))
    assert await names(logs, 1) == ["vm-2"]
    shown = logs.router.records.shown(full=False, last=10)
    assert [(record["event"], record["admitted"]) for record in shown] == [
        ("instance.metadata", False),
        ("instance.inserted", True),
    ]


async def test_an_entry_without_insert_id_and_time_gets_them(logs: Logs) -> None:
    logs.router.write(written("tpu-node-bootstrap", instance="vm-1", step="booted"))
    await names(logs, 1)
    entry = json.loads(logs.topic.messages[0][0])
    assert (len(entry["insertId"]), entry["timestamp"]) == (13, "2026-01-02T03:04:05.678901Z")


SYSTEM_EVENT = "projects/p/logs/cloudaudit.googleapis.com%2Fsystem_event"


def _named(path: str) -> dict[str, Any]:
    return {
        "serviceName": "compute.googleapis.com",
        "methodName": f"v1.compute.{path.split('/')[-2]}.insert",
        "resourceName": path,
    }


ADMITTED: list[tuple[dict[str, Any], bool]] = [
    (audit("vm"), True),
    (audit("vm", operation={"first": True}), True),
    (audit("vm", "v1.compute.instances.setMetadata"), False),
    (audit("vm", "v1.compute.instances.setMetadata", severity="ERROR"), True),
    (audit("vm", "v1.compute.instances.setLabels"), False),
    (audit("vm", "v1.compute.instances.setLabels", severity="ERROR"), False),
    (audit("vm", "compute.instances.preempted", logName=SYSTEM_EVENT), True),
    (audit("vm", "compute.instances.somethingNew", logName=SYSTEM_EVENT), True),
    (audit("vm", resource={"type": "gce_resource_policy"}), True),
    (audit("vm", resource={"type": "gce_disk"}), False),
    (audit("vm", logName="projects/p/logs/cloudaudit.googleapis.com%2Fdata_access"), False),
    (audit("vm", protoPayload=audit("vm")["protoPayload"] | {"serviceName": "storage.googleapis.com"}), False),
    (written("tpu-node-bootstrap", instance="vm-1", step="booted"), True),
    (written("tpu-node-group-canary", cluster="c"), True),
    (written("tpu-node-group-actions", action="InjectToken"), False),
    (written("stdout"), False),
]


@pytest.mark.parametrize(("entry", "admitted"), ADMITTED)
def test_the_sinks_filter_admits_what_the_operator_needs_and_nothing_else(
    entry: dict[str, Any],
    *,
    admitted: bool,
) -> None:
    assert compile_query(sink_filter())(entry) is admitted


def test_of_the_published_samples_the_filter_drops_setmetadata_and_the_foreign_entry() -> None:
    admits = compile_query(sink_filter())
    samples = {path.name[:2]: json.loads(path.read_text(encoding="utf-8")) for path in SAMPLES.glob("*.json")}
    samples["24"] = json.loads(base64.b64decode(samples["24"]["message"]["data"]))
    assert sorted(number for number, entry in samples.items() if not admits(entry)) == ["20", "21", "24"]
    assert len(samples) == 24


@pytest.mark.parametrize("version", ["v1.", "beta.", "alpha.", ""])
def test_the_filter_admits_every_method_that_the_operator_reacts_to(version: str) -> None:
    admits = compile_query(sink_filter())
    dropped = []
    for collection, method in KINDS:
        name = f"{version}compute.{collection}.{method}"
        called, reported = audit("x", name), audit("x", name, logName=SYSTEM_EVENT)
        if not (admits(called) or admits(reported)):
            dropped.append(name)
    assert dropped == []


_ELSEWHERE = {"type": "gce_instance", "labels": {"zone": "us-east5-b", "instance_id": "1"}}
NARROWED: list[tuple[dict[str, Any], bool]] = [
    (audit("train-1"), True),
    (audit("serve-1"), False),
    (audit("a-train-1"), False),
    (audit("train-1", protoPayload=_named("projects/1/zones/us-central1-ab/instances/train-1")), False),
    (audit("train-1", protoPayload=_named("projects/1/zones/us-central1-b/instances/train-1")), False),
    (audit("x", protoPayload=_named("projects/1/regions/us-central1/resourcePolicies/train-1")), True),
    (audit("x", protoPayload=_named("projects/1/regions/us-east1/resourcePolicies/train-1")), False),
    (audit("x", protoPayload=_named("projects/1/global/instanceTemplates/train-1")), True),
    (audit("x", protoPayload=_named("projects/1/global/instanceTemplates/serve-1")), False),
    (written("tpu-node-bootstrap", instance="train-1", step="booted"), True),
    (written("tpu-node-bootstrap", instance="serve-1", step="booted"), False),
    (written("tpu-node-bootstrap", instance="train-1", step="booted") | {"resource": _ELSEWHERE}, False),
    (written("tpu-node-group-canary", cluster="c"), True),
]


@pytest.mark.parametrize(("entry", "admitted"), NARROWED)
def test_a_filter_can_be_narrowed_to_zones_and_names(entry: dict[str, Any], *, admitted: bool) -> None:
    narrowed = sink_filter(zones="us-central1-a|us-central1-c", regions="us-central1", names="train-|eval-")
    assert compile_query(narrowed)(entry) is admitted


def test_the_events_of_this_world_are_named_as_the_operator_names_them() -> None:
    for method, kind in kinds.OF_INSTANCE.items():
        assert KINDS.get(("instances", method), "absent") == kind
    for (collection, _), kind in KINDS.items():
        assert known_event(f"{COLLECTIONS[collection][0]}.{kind}")


async def test_a_dropped_event_never_comes(logs: Logs) -> None:
    logs.faults.plan({"event": "instance.inserted", "nth": 2, "effect": "drop"})
    for name in ("vm-1", "vm-2", "vm-3"):
        logs.router.write(audit(name))
    assert await names(logs, 2) == ["vm-1", "vm-3"]
    assert [record["fault"] for record in logs.router.records.shown(full=False, last=10)] == ["", "drop", ""]


async def test_each_third_event_may_be_dropped(logs: Logs) -> None:
    planned = logs.faults.plan({"event": "instance.inserted", "nth": "every 3", "effect": "drop"})
    assert planned["nth"] == "every 3"
    for number in range(1, 8):
        logs.router.write(audit(f"vm-{number}"))
    assert await names(logs, 5) == ["vm-1", "vm-2", "vm-4", "vm-5", "vm-7"]


async def test_a_duplicated_event_comes_twice_with_the_same_insert_id(logs: Logs) -> None:
    logs.faults.plan({"event": "*", "effect": "duplicate"})
    logs.router.write(audit("vm-1"))
    assert await names(logs, 2) == ["vm-1", "vm-1"]
    assert len({json.loads(data)["insertId"] for data, _ in logs.topic.messages}) == 1


async def test_a_swapped_event_comes_after_the_next_one(logs: Logs) -> None:
    logs.faults.plan({"event": "instance.inserted.last", "effect": "swap"})
    for name in ("vm-1", "vm-2", "vm-3"):
        logs.router.write(audit(name))
    assert await names(logs, 3) == ["vm-2", "vm-1", "vm-3"]


async def test_a_swapped_event_that_nothing_passes_comes_alone(logs: Logs) -> None:
    logs.faults.plan({"event": "instance.inserted", "effect": "swap", "ms": 20})
    logs.router.write(audit("vm-1"))
    assert await names(logs, 1) == ["vm-1"]


async def test_a_delayed_event_comes_late(logs: Logs) -> None:
    logs.faults.plan({"event": "instance.inserted", "effect": "delay", "ms": 50})
    logs.router.write(audit("vm-1"))
    logs.router.write(audit("vm-2"))
    assert await names(logs, 2) == ["vm-2", "vm-1"]


async def test_a_held_event_comes_when_its_fault_is_deleted(logs: Logs) -> None:
    fault = logs.faults.plan({"event": "instance.inserted", "effect": "hold"})
    for name in ("vm-1", "vm-2"):
        logs.router.write(audit(name))
    assert await names(logs, 1) == ["vm-2"]
    logs.faults.delete(fault["id"])
    assert await names(logs, 2) == ["vm-2", "vm-1"]


async def test_a_fault_of_one_groups_events_leaves_those_of_others_alone(logs: Logs) -> None:
    planned = logs.faults.plan({"event": "instance.inserted", "effect": "drop", "nth": "every", "of": "one-"})
    assert planned["of"] == "one-"
    logs.faults.plan({"event": "instance.bootstrap.booted", "effect": "drop", "of": "other-"})
    for name in ("one-1", "other-1"):
        logs.router.write(written("tpu-node-bootstrap", instance=name, step="booted"))
        logs.router.write(audit(name))
    await names(logs, 2)
    shown = logs.router.records.shown(full=False, last=10)
    assert [record["fault"] for record in shown] == ["", "drop", "drop", ""]


async def test_a_swapped_event_is_passed_by_the_next_one_of_its_own_group(logs: Logs) -> None:
    logs.faults.plan({"event": "instance.inserted", "effect": "swap", "of": "one-"})
    for name in ("one-1", "other-1", "one-2"):
        logs.router.write(audit(name))
    assert await names(logs, 3) == ["other-1", "one-2", "one-1"]


async def test_only_admitted_entries_count_for_a_fault(logs: Logs) -> None:
    logs.faults.plan({"event": "instance.metadata", "nth": 1, "effect": "drop"})
    logs.router.write(audit("vm-1", "v1.compute.instances.setMetadata"))
    logs.router.write(audit("vm-2", "v1.compute.instances.setMetadata", severity="ERROR"))
    logs.router.write(audit("vm-3"))
    assert await names(logs, 1) == ["vm-3"]


NAMED = [
    (audit("vm"), ("instance.inserted", "instance.inserted.last", "*")),
    (audit("vm", operation={"first": True}), ("instance.inserted", "instance.inserted.first", "*")),
    (
        audit("vm", "compute.instances.preempted", operation={"first": True, "last": True}),
        ("instance.preempted", "instance.preempted.only", "*"),
    ),
    (audit("vm", "beta.compute.instanceGroupManagers.resize"), ("group.changed", "group.changed.last", "*")),
    (audit("vm", "compute.instances.repair.recreateInstance"), ("instance.repair", "instance.repair.last", "*")),
    (
        written("tpu-node-bootstrap", instance="vm", step="joined"),
        ("instance.bootstrap", "instance.bootstrap.joined", "*"),
    ),
    (written("tpu-node-group-canary", cluster="c", instance="i"), ("canary.canary", "*")),
    (written("other"), ("*",)),
]


@pytest.mark.parametrize(("entry", "expected"), NAMED)
def test_an_entry_has_the_names_that_events_decode_gives_it(entry: dict[str, Any], expected: tuple[str, ...]) -> None:
    assert event_names(entry) == expected
    assert all(known_event(name) for name in expected)
    decoded = decode(json.dumps({"timestamp": "2026-01-02T03:04:05Z", "insertId": "x"} | entry).encode())
    if expected != ("*",) and "resize" not in json.dumps(entry) and "repair" not in json.dumps(entry):
        assert isinstance(decoded, Event)
        assert f"{decoded.resource}.{decoded.kind}" == expected[0]


@pytest.mark.parametrize("name", ["instance.exploded", "group.preempted", "instance.inserted.middle", "instance", ""])
def test_a_fault_for_an_event_that_does_not_exist_is_refused(logs: Logs, name: str) -> None:
    with pytest.raises(FaultError, match="events decode"):
        logs.faults.plan({"event": name, "effect": "drop"})


@pytest.mark.parametrize(
    ("entry", "median", "most"),
    [
        (audit("vm", operation={"first": True}), 1.2, 2.8),
        (audit("vm"), 0.7, 1.2),
        (audit("vm", logName="projects/p/logs/cloudaudit.googleapis.com%2Fsystem_event"), 0.7, 1.3),
        (written("tpu-node-bootstrap"), 0.7, 1.2),
    ],
)
def test_latencies_are_those_of_the_facts(entry: dict[str, Any], median: float, most: float) -> None:
    seed = random.randrange(10**6)
    latency = Latency(seed)
    drawn = sorted(latency.seconds(entry) for _ in range(2000))
    assert drawn[-1] <= most, f"seed {seed}"
    assert abs(drawn[1000] - median) < 0.1, f"seed {seed}"
    assert Latency(seed, 0.5).seconds(entry) == Latency(seed).seconds(entry) / 2
