"""From messages to what becomes of them: late, doubled, reordered, forged, too many, too early. All in virtual time.

Field reports that a test repeats are named by their number and address. Where they ask for a message to be redelivered,
here the mailbox repeats the look: a message is acked once its wake is in the mailbox.
"""

import asyncio
import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from controller.core.failures import Failure, Rejected, Retry
from controller.core.model import Kind
from controller.runtime.mailbox import Limits
from sinks.intake.delivery import Answer
from tests.core.builders import ZONE, vm
from tests.runtime.event_path import OTHER_KEY, EventPath, add_other_group, instance_entry, settled, vm_of
from tests.runtime.test_group_look import joined
from tests.runtime.virtual_time import elapsed

AGO_20_MINUTES = "2026-01-31T11:40:00Z"


async def begun(*, paced: bool = False) -> EventPath:
    """Both VMs run, told by an event each, and have their tokens."""
    path = EventPath(paced=paced)
    for suffix, instance_id in (("aaaa", "1001"), ("bbbb", "1002")):
        path.vm_is(suffix, instance_id)
        path.tell("insert", suffix, id=instance_id)
    await settled(path)
    assert [path.tokens_of(instance_id) for instance_id in ("1001", "1002")] == [1, 1]
    return path


async def ready() -> EventPath:
    """The slice is Ready."""
    path = await begun()
    for suffix, instance_id in (("aaaa", "1001"), ("bbbb", "1002")):
        path.node_is(suffix, joined(suffix, instance_id))
        path.tell("insert", suffix, id=instance_id)
    await settled(path)
    path.boxes.post(*_drained(path))
    await settled(path)
    assert path.ready == ("True", "Ready")
    return path


def _drained(path: EventPath) -> Any:
    """What the Node watch has posted last; `Life` keeps it in a list."""
    return path.posts[-1]


async def test_what_is_told_of_a_group_before_it_is_seen_is_found_by_its_first_look() -> None:
    path = EventPath()
    path.dispatch.custom_resource(Kind.GROUP, "DELETED", path.raw)
    path.vm_is("aaaa", "1001")
    assert [path.tell("insert"), path.tell("delete", "cccc", id="3")] == [Answer.ACK] * 2
    await settled(path)
    assert (path.cloud.calls, path.cluster.calls) == ([], [])
    path.posts.clear()
    path.dispatch.custom_resource(Kind.GROUP, "ADDED", path.raw)
    for key, wake in path.posts:
        path.boxes.post(key, wake)
    await settled(path)
    assert path.tokens_of("1001") == 1


async def test_what_is_told_of_a_group_before_its_mig_is_seen_is_found_when_the_mig_is() -> None:
    path = EventPath()
    mig = path._child(Kind.MIG)
    path.dispatch.custom_resource(Kind.MIG, "DELETED", mig)
    path.vm_is("aaaa", "1001")
    path.mig({"running": 1})
    path.tell("insert")
    await settled(path)
    assert path.tokens_of("1001") == 0
    path.posts.clear()
    mig["metadata"] |= {"uid": "another"}
    path.dispatch.custom_resource(Kind.MIG, "ADDED", mig)
    for key, wake in path.posts:
        if key.kind is Kind.GROUP:
            path.boxes.post(key, wake)
    await settled(path)
    assert path.tokens_of("1001") == 1


async def test_five_thousand_messages_of_one_group_are_two_looks_at_the_vms_that_they_name() -> None:
    path = await ready()
    calls, looks = len(path.cloud.calls), path.looks_at()
    for number in range(5000):
        path.tell("stop", ("aaaa", "bbbb")[number % 2], id=("1001", "1002")[number % 2])
    await settled(path)
    assert path.looks_at() - looks <= 2
    assert path.reads_since(calls) <= 4


async def test_five_thousand_messages_of_which_two_tell_of_a_change_cost_what_the_two_do() -> None:
    path = await ready()
    path.vm_is("aaaa", "1001", "TERMINATED")
    calls = len(path.cloud.calls)
    for _ in range(2500):
        path.tell("stop", phase="first")
        path.tell("stop")
    await settled(path)
    assert path.reads_since(calls) <= 2
    assert path.ready == ("False", "InstanceLost")


@pytest.mark.parametrize("invented", [False, True], ids=["of VMs that are there", "of VMs that were made up"])
async def test_a_flood_of_forged_entries_keeps_to_the_cap_and_delays_another_group_by_less_than_a_second(
    invented: bool,  # noqa: FBT001 - pytest's own way
) -> None:
    path = await begun(paced=True)
    other = add_other_group(path)
    await settled(path)
    looks, begin = path.looks_at(), elapsed()
    injected: dict[str, float] = {}
    for number in range(5000):
        suffix = f"{number:04}" if invented else ("aaaa", "bbbb")[number % 2]
        path.tell("stop", suffix, id=str(number + 1))
        if number == 2500:
            instance = vm_of(path, other, "9001")
            path.deliver(instance_entry("insert", instance.name, number, id="9001") | {"insertId": "other"})
            told = elapsed()
        if number > 2500 and instance.name in path.cloud.written:
            injected.setdefault("at", elapsed())
        await asyncio.sleep(0.004)
    seconds = elapsed() - begin
    limits = Limits()
    assert path.looks_at() - looks <= limits.burst + seconds * limits.looks_per_second + 10
    assert injected["at"] - told < 1.0
    await settled(path)
    await path.boxes.close(1)
    assert path.env.knowledge.resources.group(OTHER_KEY) is not None


async def test_a_look_that_fails_is_repeated_for_ever_behind_a_back_off_and_says_so() -> None:
    path = await ready()
    path.vm_is("aaaa", "1001", "TERMINATED")
    path.cloud.fail("get_instance", *[Retry("Compute Engine is not itself.", "503")] * 300)
    assert path.tell("stop") is Answer.ACK
    await asyncio.sleep(30)
    assert path.ready == ("Unknown", "ReconcileError")
    await asyncio.sleep(6 * 3600)
    assert path.cloud.count("get_instance") > 300
    assert path.ready == ("False", "InstanceLost")


FAILURES: list[Failure] = [Rejected("Forbidden.", "403"), Retry("Internal error.", "500")]
#: What is written once a VM runs, and once it has joined: the port, its method, and what the world shows of it.
WRITES: list[tuple[str, str, Callable[[EventPath], object]]] = [
    ("cloud", "set_metadata", lambda path: "kubeadm-join-token" in path.cloud.written.get(vm(), {})),
    ("cluster", "create_token_secret", lambda path: path.tokens_of("1001") and path.cluster.secrets),
    ("cluster", "patch_status", lambda path: path.ready == ("False", "Provisioning")),
]


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: failure.code)
@pytest.mark.parametrize("write", WRITES, ids=lambda write: write[1])
async def test_b2_a_write_that_is_refused_once_takes_effect_after_the_mailboxs_retry(
    write: tuple[str, str, Callable[[EventPath], object]], failure: Failure
) -> None:
    """https://github.com/aws/aws-node-termination-handler/issues/1284."""
    port, method, shows = write
    path = EventPath()
    path.vm_is("aaaa", "1001")
    getattr(path, port).fail(method, failure)
    assert path.tell("insert") is Answer.ACK
    await asyncio.sleep(900)
    assert shows(path), path.ready
    assert (path.tokens_of("1001") - (method == "create_token_secret"), path.messages) == (1, 1)


async def test_b2_a_taint_that_is_refused_once_is_there_after_the_mailboxs_retry() -> None:
    """https://github.com/aws/aws-node-termination-handler/issues/1284."""
    for failure in FAILURES:
        path = await begun()
        path.cluster.fail("taint_node", failure)
        path.node_is("aaaa", replace(joined("aaaa", "1001"), taints=()))
        path.boxes.post(*path.posts[-1])
        await asyncio.sleep(900)
        assert path.cluster.count("taint_node") >= 2


@pytest.mark.parametrize("replaced", [False, True], ids=["gone", "replaced"])
async def test_b4_an_event_that_comes_20_minutes_late_gives_no_token_to_the_dead_and_serves_the_living(
    replaced: bool,  # noqa: FBT001 - pytest's own way
) -> None:
    """https://github.com/aws/aws-node-termination-handler/issues/1022."""
    path = EventPath()
    if replaced:
        path.vm_is("aaaa", "2001")
    path.mig({"running": int(replaced)})
    path.tell("start", id="2001" if replaced else "1001")
    await settled(path)
    before = path.env.metrics.registry.get_sample_value("tpu_events_stale_total")
    path.tell("start", id="1001", timestamp=AGO_20_MINUTES)
    await settled(path)
    assert (path.tokens_of("1001"), path.tokens_of("2001")) == (0, int(replaced))
    if replaced:
        after = path.env.metrics.registry.get_sample_value("tpu_events_stale_total")
        assert (before, after) == (0, 1)


#: A VM that ran, was stopped, and was made anew under its name: method, phase and id of each entry.
STORY = (("insert", "last", "1001"), ("stop", "first", "1001"), ("stop", "last", "1001"), ("insert", "last", "2001"))


@pytest.mark.parametrize("truth", [("2001", "RUNNING"), ("2001", "TERMINATED"), ("1001", "STOPPING")], ids=str)
async def test_b5_in_whatever_order_events_come_the_status_is_what_the_api_says(truth: tuple[str, str]) -> None:
    """https://github.com/flynn/flynn/issues/3449."""
    instance_id, status = truth
    seen = set()
    for order in itertools.permutations(STORY):
        path = await begun()
        path.vm_is("aaaa", instance_id, status)
        path.mig({"running": 2} if status == "RUNNING" else {"running": 1, status.lower(): 1})
        for method, phase, id_of_event in order:
            path.tell(method, id=id_of_event, phase=phase)
            await settled(path)
        seen.add((path.ready, path.tokens_of("1001"), path.tokens_of("2001")))
        await path.boxes.close(0)
    reason = {"RUNNING": "AwaitingNodeJoin", "TERMINATED": "InstanceLost", "STOPPING": "InstanceLost"}[status]
    assert seen == {(("False", reason), 1, int(truth == ("2001", "RUNNING")))}


async def test_events_of_an_earlier_vm_do_not_undo_what_is_known_of_the_present_one() -> None:
    path = await ready()
    calls = len(path.cluster.calls)
    for method, phase, instance_id in STORY[:3]:
        path.tell(method, id=f"9{instance_id}", phase=phase)
        await settled(path)
    assert path.ready == ("True", "Ready")
    assert path.cluster.calls[calls:] == []


async def test_b8_ten_thousand_events_of_others_cost_no_call_and_our_own_come_through() -> None:
    """https://github.com/aws/aws-node-termination-handler/issues/787."""
    path = EventPath()
    path.vm_is("aaaa", "1001")
    foreign: list[dict[str, Any]] = [
        {"name": "gke-pool-1-abcd"},
        {"name": "web-1"},
        {"name": "slice-mig-00000000-abcd"},
        {"resource": {"type": "gce_instance", "labels": {"project_id": "another-project", "zone": ZONE}}},
    ]
    answers = []
    for number in range(10_000):
        if number == 5000:
            path.tell("insert")
        fields: dict[str, Any] = {"name": vm(), **foreign[number % 4]}
        answers.append(path.deliver(instance_entry("insert", fields.pop("name"), 20_000 + number, **fields)))
    await settled(path)
    assert set(answers) == {Answer.ACK}
    assert path.tokens_of("1001") == 1
    alone = EventPath()
    alone.vm_is("aaaa", "1001")
    alone.tell("insert")
    await settled(alone)
    assert [call[0] for call in path.cloud.calls] == [call[0] for call in alone.cloud.calls]
    assert path.env.metrics.registry.get_sample_value("tpu_events_foreign_total") == 10_000
