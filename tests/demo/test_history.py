"""One look at the world, read as values."""

from typing import Any

from controller.demo.history import history_of
from controller.demo.records import Act
from controller.demo.steps import Announcement
from tests.demo.builders import at


def record(entry: dict[str, Any], key: str = "k", published: str = "") -> dict[str, Any]:
    return {"key": key, "published": [{"at": published, "messageId": "1"}] if published else [], "entry": entry}


def action(seconds: int, cause: dict[str, Any]) -> dict[str, Any]:
    return {
        "logName": "projects/p/logs/tpu-node-group-actions",
        "timestamp": f"2026-03-01T12:00:{seconds:02}Z",
        "jsonPayload": {
            "action": "InjectToken",
            "resource": "projects/p/zones/z/instances/vm-a",
            "outcome": "accepted",
            "cause": cause,
        },
    }


def history(*records: dict[str, Any]) -> Any:
    return history_of({"history": {"instances": {}, "logs": list(records), "failures": ["oops"]}})


def act(seconds: float, cause: str, cause_at: float) -> Act:
    return Act("InjectToken", "projects/p/zones/z/instances/vm-a", at(seconds), "accepted", cause, at(cause_at))


def test_the_publication_of_the_waking_entry_is_the_routers_word() -> None:
    entry = {"logName": "projects/p/logs/cloudaudit.googleapis.com%2Factivity", "timestamp": "2026-03-01T12:00:01Z"}
    said = {"kind": "instance.inserted", "at": "2026-03-01T12:00:04Z", "event": "k1"}
    found = history(record(entry, "k1", "2026-03-01T12:00:02Z"), record(action(5, said)))
    assert found.acts == (act(5, "instance.inserted", 2),)


def test_of_a_timer_the_operators_word_is_taken_and_acts_are_in_the_order_of_time() -> None:
    later = {"kind": "follow_up", "at": "2026-03-01T12:00:06Z"}
    sooner = {"kind": "follow_up", "at": "2026-03-01T12:00:03Z"}
    found = history(record(action(7, later)), record(action(4, sooner)))
    assert found.acts == (act(4, "follow_up", 3), act(7, "follow_up", 6))


def test_what_compute_engine_announced_is_read_from_the_system_events() -> None:
    entry = {
        "logName": "projects/p/logs/cloudaudit.googleapis.com%2Fsystem_event",
        "timestamp": "2026-03-01T12:00:01Z",
        "protoPayload": {
            "methodName": "compute.instances.hostError",
            "resourceName": "projects/p/zones/z/instances/vm-a",
            "status": {"message": "Instance terminated by Compute Engine."},
        },
    }
    found = history(record(entry))
    assert found.announcements == (Announcement(at(1), "hostError", "vm-a", "Instance terminated by Compute Engine."),)


def test_failures_of_the_simulator_itself_are_told() -> None:
    assert history().failures == ("the simulator itself failed: oops",)
