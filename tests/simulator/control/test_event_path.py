"""The event path can be broken at each of its pieces, and mended."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import grpc
import pytest
from aiohttp import web
from google.api_core import exceptions
from google.pubsub_v1 import PublisherAsyncClient, PubsubMessage, StreamingPullRequest, SubscriberAsyncClient
from google.pubsub_v1.services.publisher.transports import PublisherGrpcAsyncIOTransport
from google.pubsub_v1.services.subscriber.transports import SubscriberGrpcAsyncIOTransport

from simulator.calls import CallCounts
from simulator.clock import utc_now
from simulator.control.event_path import event_path_routes
from simulator.control.face import _errors
from simulator.event_path import EventPath, EventPathError
from simulator.faults import Faults
from simulator.logging.latency import Latency
from simulator.logging.router import LogRouter
from simulator.logging.sink_filter import sink_filter
from simulator.logging.vm_log import VmLog
from simulator.pubsub.broker import Broker
from simulator.pubsub.face import PubSubFace
from simulator.pubsub.subscription import Consumer, DeadLetterPolicy, SubscriptionConfig
from simulator.rpc import serving
from simulator.seams import Json
from tests.simulator.logging.conftest import ListTopic, audit, written

CANARY: Json = {"logName": "projects/p/logs/tpu-node-group-canary", "resource": {"type": "global"}, "jsonPayload": {}}
WHOLE = {
    "disabled": False,
    "filter": sink_filter(),
    "intercepts": "",
    "publisher": True,
    "subscriber": True,
    "logger": True,
    "nodes_logger": True,
    "dead_letters": True,
    "project": "",
}


def test_a_sink_that_is_disabled_narrowed_or_intercepted_exports_nothing_of_it() -> None:
    path = EventPath()

    def exported() -> list[bool]:
        return [path.admits(entry) for entry in (CANARY, audit("vm-1"))]

    assert exported() == [True, True]
    for change, seen in (
        ({"disabled": True}, [False, False]),
        ({"disabled": None, "filter": 'log_id("tpu-node-group-canary")'}, [True, False]),
        ({"filter": None, "intercepts": 'log_id("cloudaudit.googleapis.com/activity")'}, [True, False]),
        ({"intercepts": None, "project": "p"}, [True, False]),
        ({"project": "my-gcp-project"}, [False, True]),
        ({"project": None}, [True, True]),
    ):
        path.change(change)
        assert exported() == seen
    assert path.shown() == WHOLE


async def test_what_a_writer_without_the_role_would_publish_is_gone() -> None:
    path, topic = EventPath(), ListTopic()
    router = LogRouter(utc_now, topic, Faults(lambda _: True), Latency(seed=1, scale=0.0), path=path)
    path.change({"publisher": False})
    router.write(audit("vm-1"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    path.change({"publisher": True})
    router.write(audit("vm-2"))
    await topic.reached(1)
    assert [b"vm-2" in data for data, _ in topic.messages] == [True]
    assert [record["admitted"] for record in router.records.shown(full=False, last=9)] == [True, True]


async def test_vms_that_may_not_write_are_not_heard() -> None:
    path, topic = EventPath(), ListTopic()
    log = VmLog(LogRouter(utc_now, topic, Faults(lambda _: True), Latency(seed=1, scale=0.0), path=path), path)
    path.change({"nodes_logger": False})
    log.write(written("tpu-node-bootstrap", instance="vm-1", step="booted"))
    path.change({"nodes_logger": None})
    log.write(written("tpu-node-bootstrap", instance="vm-2", step="booted"))
    await topic.reached(1)
    assert [b"vm-2" in data for data, _ in topic.messages] == [True]


async def test_without_the_roles_for_it_dead_letters_come_again_for_ever() -> None:
    """https://github.com/GoogleCloudPlatform/spring-cloud-gcp/issues/4265, B40."""
    path = EventPath()
    broker = Broker(utc_now, lambda: path.pieces.dead_letters)
    events, dead = "projects/p/topics/events", "projects/p/topics/dead"
    broker.create_topic(events, {})
    broker.create_topic(dead, {})
    source = broker.create_subscription(
        SubscriptionConfig("projects/p/subscriptions/events", events, dead_letter=DeadLetterPolicy(dead, 5))
    )
    letters = broker.create_subscription(SubscriptionConfig("projects/p/subscriptions/dead", dead))
    taker, reader = Consumer(), Consumer()
    source.attach(taker)
    letters.attach(reader)
    path.change({"dead_letters": False})
    broker.publish(events, b"x", {})
    attempts = []
    for _ in range(7):
        (delivery,) = await taker.take()
        attempts.append(delivery.attempt)
        source.extend(delivery.ack_id, 0)
    assert (attempts, reader.drain()) == ([1, 2, 3, 4, 5, 6, 7], [])
    path.change({"dead_letters": None})
    source.extend((await taker.take())[0].ack_id, 0)
    assert [delivery.message.data for delivery in await reader.take()] == [b"x"]
    broker.close()


@asynccontextmanager
async def pulling(path: EventPath) -> AsyncIterator[tuple[SubscriberAsyncClient, Any]]:
    """A client, and its open stream that has brought one message."""
    broker = Broker(utc_now)
    async with (
        serving(PubSubFace(broker, CallCounts(), Faults(lambda _: True), path).handlers()) as endpoint,
        grpc.aio.insecure_channel(endpoint) as channel,
    ):
        publisher = PublisherAsyncClient(transport=PublisherGrpcAsyncIOTransport(channel=channel))
        subscriber = SubscriberAsyncClient(transport=SubscriberGrpcAsyncIOTransport(channel=channel))
        await publisher.create_topic(name="projects/p/topics/events")
        await subscriber.create_subscription(name="projects/p/subscriptions/events", topic="projects/p/topics/events")
        await publisher.publish(topic="projects/p/topics/events", messages=[PubsubMessage(data=b"x")])
        yield subscriber, await subscriber.streaming_pull(requests=_first(), timeout=20)
        broker.close()


async def _first() -> AsyncIterator[StreamingPullRequest]:
    yield StreamingPullRequest(subscription="projects/p/subscriptions/events", stream_ack_deadline_seconds=10)
    await asyncio.Event().wait()


async def test_who_may_not_pull_any_more_loses_the_stream_and_gets_no_other_until_it_may() -> None:
    path = EventPath()
    async with pulling(path) as (subscriber, stream):
        ids = [received.ack_id for received in (await anext(aiter(stream))).received_messages]
        assert len(ids) == 1
        path.change({"subscriber": False})
        with pytest.raises(exceptions.PermissionDenied, match="User not authorized"):
            await anext(aiter(stream))
        name = "projects/p/subscriptions/events"
        with pytest.raises(exceptions.PermissionDenied):
            await subscriber.pull(subscription=name, max_messages=1, timeout=5)
        with pytest.raises(exceptions.PermissionDenied):
            await subscriber.acknowledge(subscription=name, ack_ids=ids, timeout=5)
        assert (await subscriber.get_subscription(subscription=name)).name == name
        path.change({"subscriber": None})
        await subscriber.acknowledge(subscription=name, ack_ids=ids, timeout=5)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ([], "the body must be a JSON object with any of disabled, filter, "),
        ({"sink": True}, "unknown field 'sink'; allowed here are disabled, "),
        ({"disabled": 1}, '"disabled" is 1; it must be true or false, or null'),
        ({"filter": "AND ("}, "unparseable filter: "),
    ],
)
def test_what_cannot_be_is_refused_with_what_could(body: Any, message: str) -> None:
    path = EventPath()
    with pytest.raises(EventPathError) as refused:
        path.change(body)
    assert str(refused.value).startswith(message)
    assert path.shown() == WHOLE


async def test_the_control_face_shows_and_changes_it() -> None:
    application = web.Application(middlewares=[_errors])
    application.add_routes(event_path_routes(EventPath()))
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/control/event-path"
    async with aiohttp.ClientSession() as session:
        async with session.post(url, json={"publisher": False}) as answer:
            assert (answer.status, await answer.json()) == (200, WHOLE | {"publisher": False})
        async with session.post(url, json={"publisher": 0}) as answer:
            assert answer.status == 400
        async with session.get(url) as answer:
            assert await answer.json() == WHOLE | {"publisher": False}
    await runner.cleanup()
