"""What both Pub/Subs do alike, seen through the real async clients."""

from typing import Any

import pytest
from google.api_core import exceptions

from tests.simulator.pubsub.conftest import PubSub, receive


def texts(received: list[Any]) -> list[str]:
    return sorted(message.message.data.decode() for message in received)


async def test_a_message_is_pushed_acked_and_gone(pubsub: PubSub) -> None:
    await pubsub.topics()
    await pubsub.subscribe()
    async with pubsub.stream() as (call, requests):
        await pubsub.publish("one", "two")
        received = await receive(call, 2)
        assert texts(received) == ["one", "two"]
        assert [message.delivery_attempt for message in received] == [0, 0]
        await requests.put({"ack_ids": [message.ack_id for message in received]})
        await pubsub.publish("three")
        assert texts(await receive(call, 1)) == ["three"]


async def test_a_nacked_message_comes_again(pubsub: PubSub) -> None:
    await pubsub.topics()
    await pubsub.subscribe()
    async with pubsub.stream() as (call, requests):
        await pubsub.publish("again")
        first = (await receive(call, 1))[0]
        await requests.put({"modify_deadline_ack_ids": [first.ack_id], "modify_deadline_seconds": [0]})
        second = (await receive(call, 1))[0]
        assert second.message.message_id == first.message.message_id


async def test_what_no_ack_follows_is_dead_lettered_after_its_attempts(pubsub: PubSub) -> None:
    await pubsub.topics()
    await pubsub.subscriber.create_subscription(name=pubsub.dead_subscription, topic=pubsub.dead)
    await pubsub.subscribe(dead_letter_policy={"dead_letter_topic": pubsub.dead, "max_delivery_attempts": 5})
    await pubsub.publish("poison")
    attempts = []
    async with pubsub.stream() as (call, requests):
        for _ in range(5):
            message = (await receive(call, 1))[0]
            attempts.append(message.delivery_attempt)
            await requests.put({"modify_deadline_ack_ids": [message.ack_id], "modify_deadline_seconds": [0]})
        dead = await pubsub.subscriber.pull(subscription=pubsub.dead_subscription, max_messages=1, timeout=20)
    attributes = dict(dead.received_messages[0].message.attributes)
    assert attributes.pop("CloudPubSubDeadLetterSourceTopicPublishTime")
    assert (attempts, dead.received_messages[0].message.data, attributes) == (
        [1, 2, 3, 4, 5],
        b"poison",
        {
            "CloudPubSubDeadLetterSourceDeliveryCount": "5",
            "CloudPubSubDeadLetterSourceSubscription": "reader",
            "CloudPubSubDeadLetterSourceSubscriptionProject": pubsub.project,
        },
    )


async def test_a_pull_takes_at_most_what_it_asks_for_and_acks(pubsub: PubSub) -> None:
    await pubsub.topics()
    await pubsub.subscribe()
    await pubsub.publish("one", "two", "three")
    taken = await pubsub.subscriber.pull(subscription=pubsub.subscription, max_messages=2, timeout=20)
    rest = await pubsub.subscriber.pull(subscription=pubsub.subscription, max_messages=2, timeout=20)
    received = [*taken.received_messages, *rest.received_messages]
    await pubsub.subscriber.acknowledge(
        subscription=pubsub.subscription, ack_ids=[message.ack_id for message in received]
    )
    assert (len(taken.received_messages), texts(received)) == (2, ["one", "three", "two"])


async def test_what_is_not_there_is_refused_with_its_text(pubsub: PubSub) -> None:
    await pubsub.topics()
    subscriber = pubsub.subscriber
    with pytest.raises(exceptions.NotFound, match=r"^404 Subscription does not exist"):
        await subscriber.get_subscription(subscription=pubsub.subscription)
    with pytest.raises(exceptions.NotFound, match=r"^404 Subscription topic does not exist"):
        await subscriber.create_subscription(name=pubsub.subscription, topic=f"{pubsub.topic}-other")
    with pytest.raises(exceptions.NotFound, match=r"^404 Topic not found"):
        await pubsub.publisher.get_topic(topic=f"{pubsub.topic}-other")
    with pytest.raises(exceptions.AlreadyExists, match=r"^409 Topic already exists"):
        await pubsub.publisher.create_topic(name=pubsub.topic)
    with pytest.raises(exceptions.InvalidArgument):
        await pubsub.publisher.create_topic(name=f"projects/{pubsub.project}/topics/ab")
    async with pubsub.stream() as (call, _requests):
        with pytest.raises(exceptions.NotFound, match="Subscription does not exist"):
            await receive(call, 1)


async def test_a_subscription_shows_what_it_was_given(pubsub: PubSub) -> None:
    await pubsub.topics()
    await pubsub.subscribe(
        ack_deadline_seconds=60,
        dead_letter_policy={"dead_letter_topic": pubsub.dead, "max_delivery_attempts": 7},
        labels={"a": "b"},
    )
    shown = await pubsub.subscriber.get_subscription(subscription=pubsub.subscription)
    policy = shown.dead_letter_policy
    assert (shown.topic, shown.ack_deadline_seconds, dict(shown.labels)) == (pubsub.topic, 60, {"a": "b"})
    assert (policy.dead_letter_topic, policy.max_delivery_attempts) == (pubsub.dead, 7)
    await pubsub.subscriber.delete_subscription(subscription=pubsub.subscription)
    with pytest.raises(exceptions.NotFound):
        await pubsub.subscriber.get_subscription(subscription=pubsub.subscription)
