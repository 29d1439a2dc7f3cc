"""Whether events reach us: what is told, when, and what never is."""

import asyncio
from datetime import timedelta

import pytest

from controller.core.verdicts import Verdict
from controller.runtime.canaries import Canaries, Return
from sinks.intake.delivery import StreamState
from sinks.intake.events import EventKind, Resource
from tests.runtime.listening import ANOTHER, OWN, UP, Listening, all_lost, canary_of, down, entry_of, mig
from tests.runtime.virtual_time import BEGINNING, elapsed

FLOWING = Verdict("True", "Flowing", "events arrive")
WAITING = Verdict("Unknown", "AwaitingFirstEvent", "no event has been expected to be here yet")


@pytest.fixture
def ears() -> Listening:
    """Connected."""
    made = Listening()
    made.hearing.stream(UP)
    return made


def test_before_anything_is_expected_nothing_is_known_and_nobody_is_told() -> None:
    ears = Listening()
    ears.hearing.stream(StreamState(connected=False, since=0.0))
    assert (ears.verdict, ears.changes, ears.hearing.details) == (WAITING, [], [])


async def test_an_idle_healthy_hour_is_told_once_and_costs_a_canary_each_five_minutes(ears: Listening) -> None:
    async with ears.running():
        await asyncio.sleep(3601)
    assert (ears.verdict, ears.changes) == (FLOWING, [(2, OWN, "Flowing")])
    assert ears.canaries == [300 * n for n in range(13)]
    assert ears.flowing() == 1


async def test_where_nothing_comes_the_sink_is_named_after_the_limit_with_the_commands_that_check_it(
    ears: Listening,
) -> None:
    async with ears.running():
        await asyncio.sleep(10)
        ears.lost = all_lost
        await asyncio.sleep(500)
    assert ears.changes == [(2, OWN, "Flowing"), (421, OWN, "NoEvents")]
    assert ears.flowing() == 0
    assert ears.verdict.message == (
        "no entry of project my-gcp-project has arrived for 120 s, not even tpu-node-group-canary. The log sink is "
        "missing or disabled, its filter admits nothing, or its writer identity lacks roles/pubsub.publisher on the "
        "topic. Check the sink (destination, disabled, filter, writerIdentity): `gcloud logging sinks list "
        "--project=my-gcp-project --format=yaml`; and who may publish: `gcloud pubsub topics get-iam-policy "
        '"$(gcloud pubsub subscriptions describe projects/my-gcp-project/subscriptions/tpu-node-group-events '
        "--format='value(topic)')\"`"
    )
    assert ears.hearing.details == [f"events of my-gcp-project: NoEvents: {ears.verdict.message}"]


async def test_while_one_is_late_canaries_go_out_more_often_and_the_first_that_comes_ends_it(ears: Listening) -> None:
    async with ears.running():
        await asyncio.sleep(10)
        ears.lost = all_lost
        await asyncio.sleep(500)
        ears.lost = lambda _: False
        await asyncio.sleep(30)
    assert ears.canaries[:6] == [0, 300, 321, 341, 361, 381]
    assert ears.reasons == ["Flowing", "NoEvents", "Flowing"]
    assert ears.flowing() == 1


async def test_audit_entries_without_the_canary_name_its_part_of_the_filter(ears: Listening) -> None:
    async with ears.running():
        await asyncio.sleep(10)
        ears.lost = all_lost
        for _ in range(10):
            await asyncio.sleep(50)
            ears.comes(entry_of(Resource.INSTANCE, "a-vm"))
    assert ears.reasons == ["Flowing", "CanaryMissing"]
    assert 'does not admit log_id("tpu-node-group-canary")' in ears.verdict.message


async def test_a_canary_that_cannot_be_written_is_told_in_the_writers_own_words(ears: Listening) -> None:
    async with ears.running():
        await asyncio.sleep(10)
        ears.trouble = "not allowed to write projects/p/logs/x (403)"
        await asyncio.sleep(150)
        assert ears.changes == [(2, OWN, "Flowing"), (131, OWN, "CanaryNotWritten")]
        assert "not known: not allowed to write projects/p/logs/x (403)" in ears.verdict.message
        assert "logging.logEntries.create" in ears.verdict.message
        ears.trouble = ""
        await asyncio.sleep(700)
    assert ears.reasons == ["Flowing", "CanaryNotWritten", "Flowing"]


async def test_our_own_mutation_without_its_entry_names_the_filter_and_the_type(ears: Listening) -> None:
    async with ears.running():
        await asyncio.sleep(10)
        ears.inserts(comes=False)
        await asyncio.sleep(150)
    assert ears.changes == [(2, OWN, "Flowing"), (131, OWN, "ActivityMissing")]
    assert ears.verdict.message.startswith(
        "the audit entry of insert of projects/my-gcp-project/zones/us-central1-c/instanceGroupManagers/slice-mig has "
        "not arrived within 120 s: the filter of the log sink of project my-gcp-project does not admit "
        "gce_instance_group_manager, or a sink of a folder or of the organization intercepts them."
    )


async def test_an_operation_may_take_its_time_where_other_entries_come(ears: Listening) -> None:
    async with ears.running():
        operation = ears.inserts(comes=False)
        for _ in range(20):
            await asyncio.sleep(60)
            ears.comes(entry_of(Resource.INSTANCE, "a-vm"))
        assert ears.reasons == ["Flowing"]
        ears.awaited.ended(operation, ears.clock.monotonic())
        await asyncio.sleep(100)
        assert ears.reasons == ["Flowing"]
        await asyncio.sleep(60)
        assert ears.reasons == ["Flowing", "ActivityMissing"]
        ears.comes(entry_of(name="slice-mig", operation=operation))
        await asyncio.sleep(5)
    assert ears.reasons == ["Flowing", "ActivityMissing", "Flowing"]


async def test_an_entry_that_comes_before_the_answer_is_not_waited_for(ears: Listening) -> None:
    async with ears.running():
        began = ears.clock.monotonic()
        ears.hearing.heard(entry_of(operation="operation-1"), BEGINNING)
        ears.awaited.mutated(mig(), "insert", "operation-1", began, ears.clock.monotonic())
        await asyncio.sleep(400)
    assert ears.reasons == ["Flowing"]


async def test_each_project_is_told_of_by_itself(ears: Listening) -> None:
    ears.projects = {OWN, ANOTHER}
    async with ears.running():
        ears.inserts("theirs", ANOTHER)
        await asyncio.sleep(10)
        ears.inserts("lost", ANOTHER, comes=False)
        await asyncio.sleep(150)
        assert [(project, reason) for _, project, reason in ears.changes] == [
            (OWN, "Flowing"),
            (ANOTHER, "Flowing"),
            (ANOTHER, "NoEvents"),
        ]
        assert "--project=another-project" in ears.hearing.verdict(ANOTHER).message
        assert (ears.flowing(), ears.flowing(ANOTHER)) == (1, 0)
        ears.projects = {OWN}
        await asyncio.sleep(2)
    assert (ears.flowing(), ears.flowing(ANOTHER)) == (1, None)


async def test_where_nothing_at_all_comes_no_project_is_heard(ears: Listening) -> None:
    ears.projects = {OWN, ANOTHER}
    async with ears.running():
        ears.lost = all_lost
        await asyncio.sleep(130)
    assert {(project, reason) for _, project, reason in ears.changes} == {(OWN, "NoEvents"), (ANOTHER, "NoEvents")}


async def test_what_a_resync_finds_makes_deaf_only_if_no_entry_tells_it_in_time(ears: Listening) -> None:
    async with ears.running():
        await asyncio.sleep(10)
        assert ears.awaited.found(mig(), ["vm-1"], [], ears.clock.monotonic()) == 1
        ears.comes(entry_of(Resource.INSTANCE, "vm-1", kind=EventKind.PREEMPTED))
        await asyncio.sleep(200)
        assert ears.reasons == ["Flowing"]
        # That it was lost has been told, long before the API showed it.
        assert ears.awaited.found(mig(), ["vm-1"], [], ears.clock.monotonic()) == 0
        assert ears.awaited.found(mig(), ["vm-2"], [], ears.clock.monotonic()) == 1
        await asyncio.sleep(130)
    assert ears.reasons == ["Flowing", "ActivityMissing"]
    assert "what became of projects/my-gcp-project/zones/us-central1-c/instances/vm-2" in ears.verdict.message


async def test_a_stream_that_ends_and_comes_again_is_no_news(ears: Listening) -> None:
    async with ears.running():
        await asyncio.sleep(10)
        for _ in range(10):
            ears.hearing.stream(down("the stream ended; reconnecting", ""))
            await asyncio.sleep(1)
            ears.hearing.stream(UP)
            await asyncio.sleep(600)
    assert ears.reasons == ["Flowing"]
    assert ears.metrics.registry.get_sample_value("tpu_subscriber_restarts_total") == 10


@pytest.mark.parametrize(
    ("code", "command"),
    [
        ("NOT_FOUND", "gcloud pubsub subscriptions describe projects/my-gcp-project/subscriptions/"),
        ("PERMISSION_DENIED", "gcloud pubsub subscriptions get-iam-policy projects/my-gcp-project/subscriptions/"),
    ],
)
async def test_a_stream_that_is_refused_twice_is_told_at_once_with_its_cause(
    ears: Listening, code: str, command: str
) -> None:
    async with ears.running():
        await asyncio.sleep(10)
        ears.hearing.stream(down("refused", code))
        assert ears.reasons == ["Flowing"]
        ears.hearing.stream(down("refused", code, failures=2))
        assert (ears.reason, ears.flowing()) == ("StreamDown", 0)
        assert command in ears.verdict.message
        ears.hearing.stream(UP)
        await asyncio.sleep(25)
    assert ears.reasons == ["Flowing", "StreamDown", "AwaitingFirstEvent", "Flowing"]
    assert ears.metrics.registry.get_sample_value("tpu_subscriber_up") == 1


async def test_a_stream_that_cannot_be_held_is_told_though_it_connects_again_and_again(ears: Listening) -> None:
    ears.lost = all_lost
    async with ears.running():
        for _ in range(40):
            ears.hearing.stream(down())
            await asyncio.sleep(3)
            ears.hearing.stream(UP)
            await asyncio.sleep(1)
    assert ears.reasons == ["StreamDown"]
    assert "gcloud pubsub subscriptions describe" in ears.verdict.message


async def test_what_was_lost_with_a_subscription_is_not_missed_when_there_is_one_again(ears: Listening) -> None:
    async with ears.running():
        await asyncio.sleep(10)
        for n in range(5):
            ears.hearing.stream(down("it does not exist", "NOT_FOUND", failures=n))
        ears.lost = all_lost
        ears.inserts(comes=False)
        await asyncio.sleep(400)
        ears.lost = lambda _: False
        ears.hearing.stream(UP)
        await asyncio.sleep(1000)
    assert ears.reasons == ["Flowing", "StreamDown", "AwaitingFirstEvent", "Flowing"]


async def test_what_was_lost_in_an_outage_of_the_sink_is_not_missed_after_it(ears: Listening) -> None:
    async with ears.running():
        await asyncio.sleep(10)
        ears.lost = all_lost
        ears.inserts(comes=False)
        await asyncio.sleep(400)
        ears.lost = lambda _: False
        await asyncio.sleep(1000)
    assert ears.reasons == ["Flowing", "NoEvents", "Flowing"]


async def test_words_that_change_with_each_attempt_are_not_told_each_time(ears: Listening) -> None:
    async with ears.running():
        for number in range(2, 100):
            ears.hearing.stream(down(f"refused for the {number}th time", "PERMISSION_DENIED", failures=number))
            await asyncio.sleep(2)
    assert ears.reasons == ["StreamDown", "StreamDown"]


async def test_a_backlog_is_told_as_one() -> None:
    ears = Listening()
    ears.hearing.stream(UP)
    ears.backlog = 600
    async with ears.running():
        for _ in range(400):
            ears.comes(entry_of(Resource.INSTANCE, "a-vm"))
            await asyncio.sleep(3)
    assert ears.reasons[-1] == "Behind"
    assert ears.verdict.status == "True"
    assert ears.metrics.registry.get_sample_value("tpu_events_flowing", {"project": OWN}) == 1


async def test_a_look_that_keeps_failing_leaves_the_operator_behind_not_deaf(ears: Listening) -> None:
    async with ears.running():
        await asyncio.sleep(10)
        ears.waiting = BEGINNING + timedelta(seconds=elapsed())
        await asyncio.sleep(100)
        assert ears.reasons == ["Flowing"]
        await asyncio.sleep(100)
        assert ears.reasons == ["Flowing", "Behind"]
        ears.waiting = None
        await asyncio.sleep(2)
    assert ears.reasons == ["Flowing", "Behind", "Flowing"]


@pytest.mark.parametrize(("cluster", "writer"), [("c", "another"), ("another", "me")])
async def test_the_canary_of_another_replica_or_cluster_does_not_prove_our_own(cluster: str, writer: str) -> None:
    canaries = Canaries("c", "me")
    canaries.written(BEGINNING, 1.0)
    assert canaries.came(canary_of(BEGINNING, cluster, writer)) is None
    assert canaries.came(canary_of(BEGINNING + timedelta(microseconds=1))) is None
    assert canaries.came(canary_of(BEGINNING)) == Return(None, 1.0, 0)
    assert canaries.came(canary_of(BEGINNING)) is None
