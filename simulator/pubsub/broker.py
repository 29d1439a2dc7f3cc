"""All topics and subscriptions. Knows nothing of gRPC; refusals carry the texts of the real service's emulator."""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from simulator.pubsub.subscription import Message, Subscription, SubscriptionConfig
from simulator.seams import Now

Refusal = Literal["NOT_FOUND", "ALREADY_EXISTS", "INVALID_ARGUMENT", "UNIMPLEMENTED"]


class PubSubError(Exception):
    """A refusal: a gRPC status name and its text."""

    def __init__(self, code: Refusal, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(slots=True)
class Topic:
    """A topic with what is subscribed to it."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    subscriptions: list[Subscription] = field(default_factory=list)


class Broker:
    """Pub/Sub of one simulated world, all projects. `may_move`: whether its service agent may move dead letters.

    Without its two roles messages come again for ever (https://github.com/GoogleCloudPlatform/spring-cloud-gcp/issues/4265).
    """

    def __init__(self, now: Now, may_move: Callable[[], bool] = lambda: True) -> None:
        self._now = now
        self._may_move = may_move
        self._topics: dict[str, Topic] = {}
        self._subscriptions: dict[str, Subscription] = {}
        self._ids = itertools.count(1)

    def create_topic(self, name: str, labels: Mapping[str, str]) -> Topic:
        """Raises PubSubError when the name is malformed or taken."""
        _check_name(name, "topics")
        if name in self._topics:
            raise PubSubError("ALREADY_EXISTS", "Topic already exists")
        self._topics[name] = Topic(name, dict(labels))
        return self._topics[name]

    def topic(self, name: str) -> Topic:
        """Raises PubSubError when it is not there."""
        topic = self._topics.get(name)
        if topic is None:
            raise PubSubError("NOT_FOUND", "Topic not found")
        return topic

    def publish(self, topic: str, data: bytes, attributes: Mapping[str, str]) -> str:
        """Publish one message to all subscriptions of the topic; returns its id."""
        subscriptions = self.topic(topic).subscriptions
        message = Message(data, dict(attributes), str(next(self._ids)), self._now())
        for subscription in subscriptions:
            subscription.add(message)
        return message.id

    def create_subscription(self, config: SubscriptionConfig) -> Subscription:
        """Raises PubSubError when the name is malformed or taken, or the topic is not there."""
        _check_name(config.name, "subscriptions")
        _check(config)
        if config.name in self._subscriptions:
            raise PubSubError("ALREADY_EXISTS", "Subscription already exists")
        if config.topic not in self._topics:
            raise PubSubError("NOT_FOUND", "Subscription topic does not exist")
        subscription = Subscription(config, self._dead_letter)
        self._subscriptions[config.name] = subscription
        self._topics[config.topic].subscriptions.append(subscription)
        return subscription

    def subscription(self, name: str) -> Subscription:
        """Raises PubSubError when it is not there."""
        subscription = self._subscriptions.get(name)
        if subscription is None:
            raise PubSubError("NOT_FOUND", "Subscription does not exist")
        return subscription

    def update_subscription(self, config: SubscriptionConfig) -> Subscription:
        """Replace what may change: deadline, policies, labels."""
        _check(config)
        subscription = self.subscription(config.name)
        subscription.config = config
        return subscription

    def delete_subscription(self, name: str) -> None:
        """Its streams end; its messages are gone."""
        subscription = self.subscription(name)
        del self._subscriptions[name]
        self._topics[subscription.config.topic].subscriptions.remove(subscription)
        subscription.close()

    def close(self) -> None:
        """Stop every timer."""
        for subscription in self._subscriptions.values():
            subscription.close()

    def _dead_letter(self, config: SubscriptionConfig, message: Message, attempts: int) -> bool:
        topic = config.dead_letter.topic if config.dead_letter else ""
        if topic not in self._topics or not self._may_move():
            return False
        _, project, _, subscription = config.name.split("/")
        attributes = {
            **message.attributes,
            "CloudPubSubDeadLetterSourceDeliveryCount": str(attempts),
            "CloudPubSubDeadLetterSourceSubscription": subscription,
            "CloudPubSubDeadLetterSourceSubscriptionProject": project,
            "CloudPubSubDeadLetterSourceTopicPublishTime": message.published.isoformat(timespec="milliseconds"),
        }
        self.publish(topic, message.data, attributes)
        return True


def _check_name(name: str, collection: str) -> None:
    """`projects/P/<collection>/ID`, the id of 3 to 255 characters that begins with a letter and not with `goog`."""
    parts = name.split("/")
    ok = len(parts) == 4 and parts[0] == "projects" and parts[1] and parts[2] == collection
    identifier = parts[-1]
    ok = ok and 3 <= len(identifier) <= 255 and identifier[0].isalpha() and not identifier.startswith("goog")
    ok = ok and all(character.isascii() and (character.isalnum() or character in "-._~+%") for character in identifier)
    if not ok:
        raise PubSubError("INVALID_ARGUMENT", f"Invalid [{collection}] name: (name={name})")


def _check(config: SubscriptionConfig) -> None:
    if not 10 <= config.ack_deadline <= 600:
        raise PubSubError(
            "INVALID_ARGUMENT", f"Invalid ack deadline given (seconds={config.ack_deadline}): 10 to 600 are allowed."
        )
    if config.dead_letter and not 5 <= config.dead_letter.attempts <= 100:
        raise PubSubError(
            "INVALID_ARGUMENT",
            f"Invalid max_delivery_attempts given (attempts={config.dead_letter.attempts}): 5 to 100 are allowed.",
        )
    retry = config.retry
    if retry and not 0 <= retry.minimum <= retry.maximum <= 600:
        raise PubSubError(
            "INVALID_ARGUMENT",
            f"Invalid retry policy (minimum={retry.minimum}, maximum={retry.maximum}): 0 to 600 s, in this order.",
        )
