"""What our own Pub/Sub does beyond the emulator: flow control, back-off, planned faults, counts."""

import asyncio

import pytest
from google.api_core import exceptions
from google.pubsub_v1 import PubsubMessage

from tests.simulator.pubsub.conftest import Embedded, PubSub, receive


async def test_flow_control_holds_back_what_exceeds_it(ours: PubSub) -> None:
    """The emulator does not do this; the real service does."""
    await ours.topics()
    await ours.subscribe()
    await ours.publish("one", "two", "three")
    seen = []
    async with ours.stream(max_outstanding_messages=1) as (call, requests):
        for _ in range(3):
            received = await receive(call, 1)
            seen.append([message.message.data for message in received])
            await requests.put({"ack_ids": [received[0].ack_id]})
    assert seen == [[b"one"], [b"two"], [b"three"]]


async def test_a_lease_that_runs_out_brings_the_message_again(ours: PubSub) -> None:
    await ours.topics()
    await ours.subscribe()
    await ours.publish("late")
    async with ours.stream() as (call, _requests):
        first = (await receive(call, 1))[0]
        await ours.subscriber.modify_ack_deadline(
            subscription=ours.subscription, ack_ids=[first.ack_id], ack_deadline_seconds=1
        )
        second = (await receive(call, 1))[0]
        # The ack of the lost lease comes too late and takes nothing away.
        await ours.subscriber.acknowledge(subscription=ours.subscription, ack_ids=[first.ack_id])
        await ours.subscriber.modify_ack_deadline(
            subscription=ours.subscription, ack_ids=[second.ack_id], ack_deadline_seconds=0
        )
        third = (await receive(call, 1))[0]
    assert first.message == second.message == third.message
    assert len({first.ack_id, second.ack_id, third.ack_id}) == 3


async def test_the_retry_policy_delays_a_redelivery(ours: PubSub) -> None:
    await ours.topics()
    await ours.subscribe(retry_policy={"minimum_backoff": {"nanos": 200_000_000}, "maximum_backoff": {"seconds": 1}})
    await ours.publish("slowly")
    loop = asyncio.get_running_loop()
    async with ours.stream() as (call, requests):
        waits = []
        for _ in range(2):
            message = (await receive(call, 1))[0]
            nacked = loop.time()
            await requests.put({"modify_deadline_ack_ids": [message.ack_id], "modify_deadline_seconds": [0]})
            again = (await receive(call, 1))[0]
            waits.append(loop.time() - nacked)
            await requests.put({"modify_deadline_ack_ids": [again.ack_id], "modify_deadline_seconds": [600]})
            await ours.publish("slowly")
    # 0.2 s each: a fresh message starts at the minimum again.
    assert min(waits) >= 0.19


async def test_without_its_dead_letter_topic_a_message_keeps_coming(ours: PubSub) -> None:
    await ours.topics()
    nowhere = f"{ours.dead}-nowhere"
    await ours.subscribe(dead_letter_policy={"dead_letter_topic": nowhere, "max_delivery_attempts": 5})
    await ours.publish("stuck")
    attempts = []
    async with ours.stream() as (call, requests):
        for _ in range(7):
            message = (await receive(call, 1))[0]
            attempts.append(message.delivery_attempt)
            await requests.put({"modify_deadline_ack_ids": [message.ack_id], "modify_deadline_seconds": [0]})
    assert attempts == [1, 2, 3, 4, 5, 6, 7]


async def test_two_streams_share_the_messages(ours: PubSub) -> None:
    await ours.topics()
    await ours.subscribe()
    async with ours.stream() as (one, _), ours.stream() as (two, _):
        await ours.publish("warm")
        pending = {asyncio.create_task(receive(call, 1)): name for name, call in (("one", one), ("two", two))}
        await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        await ours.publish("next")
        received = await asyncio.gather(*pending)
    assert sorted(messages[0].message.data for messages in received) == [b"next", b"warm"]


async def test_a_deleted_subscription_ends_its_streams(ours: PubSub) -> None:
    await ours.topics()
    await ours.subscribe()
    async with ours.stream() as (call, _requests):
        await ours.publish("first")
        await receive(call, 1)
        await ours.subscriber.delete_subscription(subscription=ours.subscription)
        with pytest.raises(exceptions.NotFound, match="Subscription does not exist"):
            await receive(call, 1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ack_deadline_seconds": 5}, "10 to 600 are allowed"),
        ({"filter": 'attributes:"a"'}, "filter is not simulated"),
        ({"enable_exactly_once_delivery": True}, "enable_exactly_once_delivery is not simulated"),
        ({"push_config": {"push_endpoint": "https://x"}}, "push_config is not simulated"),
        ({"dead_letter_policy": {"max_delivery_attempts": 3}}, "5 to 100 are allowed"),
        ({"retry_policy": {"minimum_backoff": {"seconds": 700}}}, "Invalid retry policy"),
    ],
)
async def test_what_is_not_simulated_or_not_allowed_is_refused(
    ours: PubSub, settings: dict[str, object], message: str
) -> None:
    await ours.topics()
    with pytest.raises(exceptions.GoogleAPICallError, match=message):
        await ours.subscribe(**settings)


async def test_an_update_changes_what_its_mask_names(ours: PubSub) -> None:
    await ours.topics()
    await ours.subscribe(labels={"a": "b"})
    shown = await ours.subscriber.update_subscription(
        request={
            "subscription": {"name": ours.subscription, "ack_deadline_seconds": 77, "labels": {"c": "d"}},
            "update_mask": {"paths": ["ack_deadline_seconds"]},
        }
    )
    assert (shown.ack_deadline_seconds, dict(shown.labels)) == (77, {"a": "b"})
    with pytest.raises(exceptions.InvalidArgument, match="topic cannot be updated here"):
        await ours.subscriber.update_subscription(
            request={"subscription": {"name": ours.subscription}, "update_mask": {"paths": ["topic"]}}
        )


async def test_calls_are_counted_by_method_code_and_effect(embedded: Embedded, ours: PubSub) -> None:
    await ours.topics()
    with pytest.raises(exceptions.NotFound):
        await ours.publisher.get_topic(topic=f"{ours.topic}-other")
    row = {"caller": "anonymous", "api": "pubsub"}
    assert embedded.calls.rows() == [
        row | {"method": "Publisher.CreateTopic", "code": "OK", "effect": "changed", "count": 2},
        row | {"method": "Publisher.GetTopic", "code": "NOT_FOUND", "effect": "none", "count": 1},
    ]


async def test_a_planned_error_comes_before_or_after_the_effect(embedded: Embedded, ours: PubSub) -> None:
    await ours.topics()
    await ours.subscribe()
    embedded.faults.plan({"method": "Publisher.Publish", "nth": 1, "effect": "error-before", "code": 503})
    embedded.faults.plan({"method": "Publisher.Publish", "nth": 2, "effect": "error-after", "code": "INTERNAL"})
    for text, error in (("before", exceptions.ServiceUnavailable), ("after", exceptions.InternalServerError)):
        with pytest.raises(error):
            await ours.publisher.publish(topic=ours.topic, messages=[PubsubMessage(data=text.encode())], retry=None)
    await ours.publish("third")
    async with ours.stream() as (call, _requests):
        received = await receive(call, 2)
    assert [message.message.data for message in received] == [b"after", b"third"]


async def test_a_held_stream_is_silent_until_the_fault_is_deleted(embedded: Embedded, ours: PubSub) -> None:
    await ours.topics()
    await ours.subscribe()
    fault = embedded.faults.plan({"method": "Subscriber.StreamingPull", "effect": "hold-after"})
    await ours.publish("held")
    async with ours.stream() as (call, _requests):
        pending = asyncio.create_task(receive(call, 1))
        done, _ = await asyncio.wait({pending}, timeout=0.1)
        assert not done
        embedded.faults.delete(fault["id"])
        assert [message.message.data for message in await pending] == [b"held"]


async def test_a_planned_error_after_cuts_the_stream_behind_its_first_delivery(
    embedded: Embedded, ours: PubSub
) -> None:
    await ours.topics()
    await ours.subscribe()
    embedded.faults.plan({"method": "Subscriber.StreamingPull", "effect": "error-after", "code": "UNAVAILABLE"})
    await ours.publish("first")
    async with ours.stream() as (call, _requests):
        assert len(await receive(call, 1)) == 1
        with pytest.raises(exceptions.ServiceUnavailable):
            await receive(call, 1)


async def test_a_sign_of_life_is_answered_with_nothing_where_the_protocol_has_answers(ours: PubSub) -> None:
    await ours.topics()
    await ours.subscribe()
    async with ours.stream(protocol_version=1) as (call, requests):
        await requests.put({})
        assert list((await asyncio.wait_for(call.read(), 20)).received_messages) == []
    async with ours.stream() as (call, requests):
        await requests.put({})
        await ours.publish("first")
        assert [message.message.data for message in await receive(call, 1)] == [b"first"]


@pytest.mark.parametrize(
    "field", ["subscription", "max_outstanding_messages", "max_outstanding_bytes", "protocol_version"]
)
async def test_what_only_the_first_request_may_set_ends_the_stream(ours: PubSub, field: str) -> None:
    await ours.topics()
    await ours.subscribe()
    async with ours.stream() as (call, requests):
        await requests.put({field: ours.subscription if field == "subscription" else 1})
        with pytest.raises(exceptions.InvalidArgument, match=f"may set {field}"):
            await receive(call, 1)
