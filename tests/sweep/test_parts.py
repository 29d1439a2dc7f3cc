"""What a sweep compares and which runs it makes: the parts that decide whether it can find anything."""

from typing import Any

from tests.sweep.runs import LOST, Event, Run, events_of, one_by_one, shared
from tests.sweep.state import difference, states_of

Json = dict[str, Any]
_ZONE = "projects/p/zones/z"
_ID = "tpu.google.com/instance-id"


def world(group: str, made: str, *, vm_id: str = "1", node_id: str = "1", ready: str = "True") -> Json:
    """A world of one VM and its Node; `made`: hash and suffix in their name."""
    name = f"{group}-mig-{made}"
    node = {
        "kind": "Node",
        "metadata": {"name": name, "uid": made, "labels": {_ID: node_id}},
        "status": {"conditions": [{"type": "Ready", "status": ready, "lastTransitionTime": made}]},
    }
    vm = {"id": vm_id, "name": name, "status": "RUNNING", "creationTimestamp": made}
    return {"compute": {f"{_ZONE}/instances/{name}": vm}, "kubernetes": {f"nodes/{name}": node}}


def test_two_lives_of_one_kind_end_in_equal_states_whatever_their_names_ids_and_times() -> None:
    one = states_of(world("run0001", "00000000-abcd"))["run0001"]
    other = states_of(world("run0002", "ffffffff-zzzz", vm_id="77", node_id="77"))["run0002"]
    assert one == other
    assert difference(one, other) == "missing []; unexpected []"


def test_a_node_of_an_earlier_vm_one_that_is_not_ready_and_what_was_left_behind_are_seen() -> None:
    well = states_of(world("run0001", "00000000-abcd"))["run0001"]
    node = "nodes/GROUP-mig-vm"
    stale = states_of(world("run0001", "00000000-abcd", node_id="9"))["run0001"]
    label = f"{node} metadata labels {_ID}"
    assert difference(well, stale) == f'missing ["{label} = its VM\'s"]; unexpected ["{label} = another VM\'s"]'
    unready = states_of(world("run0001", "00000000-abcd", ready="False"))["run0001"]
    assert difference(well, unready) == (
        f"missing ['{node} status conditions Ready status = True']; "
        f"unexpected ['{node} status conditions Ready status = False']"
    )
    left = world("run0001", "00000000-abcd")
    secret = {"kind": "Secret", "metadata": {"labels": {"tpu.google.com/group": "run0001"}}}
    left["kubernetes"]["secrets/kube-system/bootstrap-token-abcdef"] = secret
    assert "bootstrap-token-abcdef" in difference(well, states_of(left)["run0001"])


def log(name: str, method: str, *, admitted: bool = True, **operation: bool) -> Json:
    """A record of a log entry."""
    payload = {"methodName": f"v1.compute.instances.{method}", "resourceName": f"{_ZONE}/instances/{name}"}
    return {"admitted": admitted, "entry": {"logName": "l", "protoPayload": payload, "operation": operation}}


def test_the_events_of_a_group_are_numbered_by_their_names() -> None:
    logs = [
        log("run0001-a", "insert", first=True),
        log("run0002-a", "insert", first=True),
        log("run0001-b", "insert", first=True),
        log("run0001-a", "setMetadata", admitted=False, last=True),
        log("run0001-a", "insert", last=True),
    ]
    first, last = "instance.inserted.first", "instance.inserted.last"
    events = events_of("run0001", logs)
    assert events == [Event(first, 1), Event(first, 2), Event(last, 1)]
    assert shared([events, events_of("run0002", logs)]) == [Event(first, 1)]


def test_each_fault_befalls_each_event_of_each_life_once() -> None:
    one, two = Event("a", 1), Event("b", 2)
    assert one_by_one({"life": [one, two], "preempt": [one]}, LOST) == [
        Run("life", "drop", one),
        Run("life", "drop", two),
        Run("preempt", "drop", one),
        Run("life", "hold", one),
        Run("life", "hold", two),
        Run("preempt", "hold", one),
    ]
    assert str(Run("life", "drop", two)) == "life, drop of b no. 2"
