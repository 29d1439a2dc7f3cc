"""The project of the event path: what is missing in an installation is missing in the world."""

import json
from collections.abc import Callable

import pytest

from simulator.event_path import EventPath
from simulator.faults import Faults
from simulator.logging.kinds import known_event
from simulator.logging.latency import Latency
from simulator.logging.router import LogRouter
from simulator.project import PUBLISHER, Project, installed
from tests.simulator.logging.conftest import ListTopic, at, audit

TOPIC = "projects/my-gcp-project/topics/events"
SUBSCRIPTION = "projects/my-gcp-project/subscriptions/events"


def project() -> Project:
    return installed("my-gcp-project", TOPIC, SUBSCRIPTION, f"{TOPIC}-dead-letter", EventPath())


def router_of(made: Project, topic: ListTopic) -> LogRouter:
    latency = Latency(seed=1, scale=0.0)
    return LogRouter(at, topic, Faults(known_event), latency, path=made.path, exports=made.exports)


def test_what_an_installation_makes_exports() -> None:
    made = project()
    assert made.exports()
    writer = f"serviceAccount:service-{made.number}@gcp-sa-logging.iam.gserviceaccount.com"
    assert made.policies[TOPIC] == {PUBLISHER: {writer}}


MISSING: dict[str, Callable[[Project], None]] = {
    "no sink": lambda made: made.change_sink(None),
    "a sink that is off": lambda made: made.change_sink({"disabled": True}),
    "a topic of another name": lambda made: made.change_sink({"destination": "pubsub.googleapis.com/other"}),
    "a writer that may not publish": lambda made: made.set_policy(TOPIC, {}),
    "another writer": lambda made: made.change_sink({"writer": "serviceAccount:other@example.com"}),
}


@pytest.mark.parametrize("missing", MISSING)
async def test_what_is_missing_keeps_entries_from_the_topic(missing: str) -> None:
    topic, made = ListTopic(), project()
    router = router_of(made, topic)
    router.write(audit("before"))
    await topic.reached(1)
    MISSING[missing](made)
    router.write(audit("lost"))
    whole = project()
    made.sink, made.policies = whole.sink, whole.policies
    made.change_sink({"disabled": None})
    router.write(audit("after"))
    await topic.reached(2)
    heard = [json.loads(data)["protoPayload"]["resourceName"].rpartition("/")[2] for data, _ in topic.messages]
    assert heard == ["before", "after"]


async def test_the_filter_may_change_while_the_world_goes_on() -> None:
    topic, made = ListTopic(), project()
    router = router_of(made, topic)
    made.change_sink({"filter": 'protoPayload.resourceName:"kept"'})
    router.write(audit("dropped"))
    router.write(audit("kept"))
    await topic.reached(1)
    assert b"instances/kept" in topic.messages[0][0]


def test_a_publisher_that_the_event_path_lost_is_not_in_the_topics_policy() -> None:
    made = project()
    made.path.change({"publisher": False})
    assert made.policy(TOPIC) == {PUBLISHER: set()}
    assert not made.exports()
