"""The event path of a simulator: Pub/Sub with topic, subscription and dead letters, ours or Google's emulator."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from simulator.event_path import EventPath as Breakable
from simulator.options import SimulatorOptions
from simulator.plan import Installation
from simulator.project import Project, installed, planned_project
from simulator.pubsub.broker import Broker
from simulator.pubsub.emulator import Emulator, create_event_path
from simulator.pubsub.face import PubSubFace
from simulator.pubsub.policies import PolicyFace
from simulator.pubsub.subscription import DeadLetterPolicy, SubscriptionConfig
from simulator.pubsub.topic import ClientTopic, EmbeddedTopic, EventTopic
from simulator.rpc import serving
from simulator.seams import CallFaults, CallLog, Now

__all__ = ["EventPath", "event_path", "project_of"]

_NAME = "tpu-node-group-events"
#: Longer than an operator's restart takes, so that a crash does not spend delivery attempts.
_ACK_SECONDS = 60


@dataclass(frozen=True, slots=True)
class EventPath:
    """Where entries go and where the operator takes them from."""

    topic: EventTopic
    #: host:port of the Pub/Sub API.
    endpoint: str
    subscription: str
    #: None where Google's emulator carries the events.
    broker: Broker | None = None


def project_of(options: SimulatorOptions, path: Breakable) -> Project:
    """The project of the event path as an installation makes it, or as a plan would."""
    if options.installation:
        return planned_project(options.installation, path)
    topic = f"projects/{options.project}/topics/{_NAME}"
    return installed(
        options.project, topic, f"projects/{options.project}/subscriptions/{_NAME}", f"{topic}-dead-letter", path
    )


@asynccontextmanager
async def event_path(
    options: SimulatorOptions, project: Project, now: Now, calls: CallLog, faults: CallFaults
) -> AsyncIterator[EventPath]:
    """Set it up, and take it down on leaving. Raises EmulatorError."""
    planned = options.installation
    topic = planned.topic if planned else f"projects/{options.project}/topics/{_NAME}"
    subscription = planned.subscription if planned else f"projects/{options.project}/subscriptions/{_NAME}"
    if options.pubsub == "emulator":
        async with _emulated(topic, subscription) as path:
            yield path
        return
    broker = Broker(now, lambda: project.path.pieces.dead_letters)
    if planned:
        _create_planned(broker, planned)
    else:
        _create(broker, topic, subscription)
    face = PubSubFace(broker, calls, faults, project.path)
    handlers = (*face.handlers(), PolicyFace(broker, project.policy, calls, faults).handlers())
    async with serving(handlers, options.ports.get("pubsub", 0)) as endpoint:
        try:
            yield EventPath(EmbeddedTopic(broker, topic), endpoint, subscription, broker)
        finally:
            # Before the server: this ends its streams.
            broker.close()


@asynccontextmanager
async def _emulated(topic: str, subscription: str) -> AsyncIterator[EventPath]:
    emulator = await Emulator.start()
    try:
        publisher, channel = await create_event_path(emulator.endpoint, topic, subscription, _ACK_SECONDS)
        events = ClientTopic(publisher, topic)
        try:
            yield EventPath(events, emulator.endpoint, subscription)
        finally:
            await events.close()
            await channel.close()
    finally:
        await emulator.stop()


def _create_planned(broker: Broker, planned: Installation) -> None:
    for topic in planned.topics:
        broker.create_topic(topic, {})
    for config in planned.subscriptions:
        broker.create_subscription(config)


def _create(broker: Broker, topic: str, subscription: str) -> None:
    """The same as `create_event_path` makes in the emulator."""
    dead_letters = f"{topic}-dead-letter"
    for name in (topic, dead_letters):
        broker.create_topic(name, {})
    broker.create_subscription(SubscriptionConfig(f"{subscription}-dead-letter", dead_letters))
    policy = DeadLetterPolicy(dead_letters, attempts=5)
    config = SubscriptionConfig(subscription, topic, _ACK_SECONDS, dead_letter=policy, expires=None)
    broker.create_subscription(config)
