"""A message becomes a wake, and is acked when the wake is safe: never before, and never instead."""

import asyncio
import json
from datetime import timedelta
from pathlib import Path as FilePath
from typing import Any

import pytest

from controller.api.reasons import Reason
from controller.core.model import Key, Scope, Wake
from controller.runtime.backlog import Backlog
from controller.runtime.hearing import Hearing, Path, Ways
from controller.runtime.intake import Intake
from controller.runtime.leadership import NotLeader
from sinks.intake.delivery import Answer, Delivery
from tests.core.builders import GROUP, GROUP_KEY, PROJECT, ZONE, make_instance, vm
from tests.runtime.virtual_time import BEGINNING
from tests.runtime.world import World

SAMPLES = FilePath(__file__).parents[1] / "data" / "audit-log"
Json = dict[str, Any]


def entry(method: str = "v1.compute.instances.insert", *, insert_id: str = "i1", name: str = "", **fields: Any) -> Json:
    """The last entry of an operation on the group's VM."""
    return {
        "insertId": insert_id,
        "logName": f"projects/{PROJECT}/logs/cloudaudit.googleapis.com%2Factivity",
        "timestamp": "2026-01-31T11:59:58Z",
        "resource": {
            "type": "gce_instance",
            "labels": {"project_id": PROJECT, "zone": ZONE, "instance_id": "1001"},
        },
        "operation": {"id": "operation-1", "last": True, "producer": "compute.googleapis.com"},
        "protoPayload": {
            "@type": "type.googleapis.com/google.cloud.audit.AuditLog",
            "serviceName": "compute.googleapis.com",
            "methodName": method,
            "resourceName": f"projects/{PROJECT}/zones/{ZONE}/instances/{name or vm()}",
        },
        **fields,
    }


def canary(instance: str) -> Json:
    """A canary that came back."""
    return {
        "insertId": "c1",
        "logName": f"projects/{PROJECT}/logs/tpu-node-group-canary",
        "timestamp": "2026-01-31T12:00:00Z",
        "resource": {"type": "global", "labels": {"project_id": PROJECT}},
        "jsonPayload": {"cluster": "c", "instance": instance},
    }


class Taking:
    """An intake of a world with one group."""

    def __init__(self) -> None:
        self.world = World()
        self.posts: list[tuple[Key, Wake]] = []
        self.full = False
        env = self.world.env
        env.knowledge.admit(GROUP_KEY, GROUP)
        span = timedelta(minutes=5)
        path = Path(PROJECT, f"projects/{PROJECT}/subscriptions/s", "c", "me", span, span)
        ways = Ways(lambda _: None, lambda: "", lambda: [PROJECT], lambda _: None)
        backlog = Backlog(env.clock, lambda: None)
        self.hearing = Hearing(env.clock, env.metrics, env.knowledge.awaited, backlog, path, ways)
        self.intake = Intake(env.knowledge, self.hearing, self._post, env.clock, env.metrics, env.may_act)

    def _post(self, key: Key, wake: Wake) -> None:
        if self.full:
            raise RuntimeError("the mailbox is broken")
        self.posts.append((key, wake))

    def take(self, data: bytes | Json, attempt: int = 0) -> Answer:
        """Hand over one message."""
        raw = data if isinstance(data, bytes) else json.dumps(data).encode()
        return self.intake.handle(Delivery(raw, "m1", BEGINNING, attempt))

    def count(self, name: str, **labels: str) -> float:
        """A counter's value."""
        return self.world.env.metrics.registry.get_sample_value(name, labels) or 0


def test_an_event_of_ours_wakes_its_group_and_is_acked() -> None:
    taking = Taking()
    assert taking.take(entry()) is Answer.ACK
    ((key, wake),) = taking.posts
    assert (key, wake.scope, list(wake.instances)) == (GROUP_KEY, Scope.INSTANCES, [vm()])
    assert (wake.cause.kind, wake.cause.at) == ("instance.inserted.last", BEGINNING)
    assert taking.world.env.knowledge.memory(GROUP_KEY).last_event == BEGINNING
    assert taking.count("tpu_events_received_total", kind="instance.inserted") == 1
    assert taking.count("tpu_event_age_seconds_sum") == 2


def test_an_event_whose_wake_is_not_safe_is_not_acked_and_not_taken_for_handled() -> None:
    taking = Taking()
    taking.full = True
    with pytest.raises(RuntimeError, match="broken"):
        taking.take(entry())
    assert taking.count("tpu_events_nacked_total", reason="failed") == 1
    taking.full = False
    assert taking.take(entry()) is Answer.ACK
    assert len(taking.posts) == 1


def test_a_replica_that_may_not_act_any_more_leaves_all_messages_to_the_one_that_may() -> None:
    taking = Taking()
    taking.world.lease = NotLeader("lost")
    messages: tuple[bytes | Json, ...] = (entry(), entry(name="another-abcd"), b"not JSON")
    assert [taking.take(message) for message in messages] == [Answer.NACK] * 3
    assert (taking.posts, taking.count("tpu_events_passed_over_total")) == ([], 0)
    taking.world.lease = None
    assert taking.take(entry()) is Answer.ACK
    assert len(taking.posts) == 1


def test_an_event_of_nobody_here_is_acked_with_no_call_and_counted() -> None:
    taking = Taking()
    assert taking.take(entry(name="another-abcd")) is Answer.ACK
    assert (taking.posts, taking.world.cloud.calls, taking.world.cluster.calls) == ([], [], [])
    assert (taking.count("tpu_events_foreign_total"), taking.count("tpu_events_nothing_new_total")) == (1, 0)


def test_an_event_of_ours_that_leaves_nothing_to_see_is_counted_apart() -> None:
    taking = Taking()
    assert taking.take(entry("v1.compute.instances.setMetadata")) is Answer.ACK
    assert (taking.count("tpu_events_foreign_total"), taking.count("tpu_events_nothing_new_total")) == (0, 1)


def test_an_event_of_an_earlier_vm_of_the_name_is_counted() -> None:
    taking = Taking()
    taking.world.env.knowledge.memory(GROUP_KEY).take(vm(), make_instance(id="1002"), 0)
    taking.take(entry("v1.compute.instances.delete"))
    taking.take(entry("v1.compute.instances.insert", insert_id="i2"))
    assert taking.count("tpu_events_stale_total") == 1


def test_a_duplicate_is_acked_and_wakes_nobody() -> None:
    taking = Taking()
    assert [taking.take(entry()) for _ in range(3)] == [Answer.ACK] * 3
    assert (len(taking.posts), taking.count("tpu_events_duplicate_total")) == (1, 2)


def test_b7_the_parts_of_an_oversized_entry_are_one_wake_that_reads_the_vm_anew() -> None:
    """B7: https://github.com/abcxyz/lumberjack/issues/128. What an entry lost to its size is read from the API."""
    taking = Taking()
    for index in range(3):
        part = entry(insert_id=f"i1{index}", split={"uid": "u1", "index": index, "totalSplits": 3})
        assert taking.take(part) is Answer.ACK
    ((key, wake),) = taking.posts
    assert (key, wake.scope, list(wake.instances), wake.cause.instance_id) == (
        GROUP_KEY, Scope.INSTANCES, [vm()], "1001",
    )  # fmt: skip
    assert taking.count("tpu_events_duplicate_total") == 2


def test_another_entry_of_the_same_vm_is_no_duplicate() -> None:
    taking = Taking()
    for insert_id in ("i1", "i2"):
        taking.take(entry(insert_id=insert_id))
    assert len(taking.posts) == 2


def test_what_was_handled_is_forgotten_after_twenty_thousand_others() -> None:
    taking = Taking()
    taking.take(entry())
    for number in range(20_000):
        taking.take(entry(insert_id=f"n{number}", name="another-abcd"))
    taking.take(entry())
    assert len(taking.posts) == 2


def test_an_entry_that_is_none_of_our_business_is_acked_and_counted_by_its_reason() -> None:
    taking = Taking()
    assert taking.take(entry("v1.compute.disks.insert")) is Answer.ACK
    assert taking.posts == []
    assert (
        sum(
            s.value
            for m in taking.world.env.metrics.ignored.metric.collect()
            for s in m.samples
            if s.name.endswith("_total")
        )
        == 1
    )


BAD = [b"", b"not JSON", b"[]", b"\xff", b"{}", b'{"logName": 7}']


@pytest.mark.parametrize("data", BAD, ids=str)
@pytest.mark.parametrize(
    ("attempt", "answer"),
    [
        pytest.param(0, Answer.ACK, id="acked where no dead-letter policy could take it"),
        pytest.param(1, Answer.NACK, id="nacked for the dead-letter policy"),
        pytest.param(5, Answer.NACK, id="nacked again"),
    ],
)
def test_a_message_that_cannot_be_read_is(data: bytes, attempt: int, answer: Answer) -> None:
    taking = Taking()
    assert taking.take(data, attempt) is answer
    assert taking.posts == []
    assert taking.count("tpu_events_dead_lettered_total") == (attempt == 5)
    assert taking.count("tpu_events_nacked_total", reason="unreadable") == (answer is Answer.NACK)
    assert taking.take(entry()) is Answer.ACK
    assert (len(taking.posts), taking.count("tpu_events_acked_total")) == (1, 1 + (answer is Answer.ACK))


@pytest.mark.parametrize(("writer", "reason"), [("me", Reason.FLOWING), ("another", Reason.AWAITING_FIRST_EVENT)])
async def test_a_canary_wakes_nobody_and_ours_is_heard(writer: str, reason: Reason) -> None:
    taking = Taking()
    task = asyncio.create_task(taking.hearing.run())
    await asyncio.sleep(0)
    assert taking.take(canary(writer)) is Answer.ACK
    assert (taking.hearing.verdict(PROJECT).reason, taking.posts) == (reason, [])
    task.cancel()


def test_a_hint_is_remembered_for_its_incarnation() -> None:
    taking = Taking()
    taking.take(entry("compute.instances.hostError", operation={"id": "s", "first": True, "last": True}))
    hints = taking.world.env.knowledge.memory(GROUP_KEY).hints
    assert {instance_id: reason for instance_id, (reason, _) in hints.items()} == {"1001": Reason.HOST_ERROR}


def test_an_entry_of_a_time_to_come_has_no_age() -> None:
    taking = Taking()
    taking.take(entry(timestamp="2027-01-31T11:59:58Z"))
    assert taking.count("tpu_event_age_seconds_sum") == 0


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.json")), ids=lambda path: path.stem)
def test_real_entries_of_other_projects_are_acked_and_wake_nobody(path: FilePath) -> None:
    taking = Taking()
    assert taking.take(path.read_bytes(), attempt=0) is Answer.ACK
    assert taking.posts == []
