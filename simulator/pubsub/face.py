"""The gRPC services google.pubsub.v1.Publisher and Subscriber, as far as the real clients need them."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from google.protobuf.empty_pb2 import Empty
from google.pubsub_v1 import types

from simulator.callers import ANONYMOUS
from simulator.event_path import EventPath
from simulator.pubsub.broker import Broker, PubSubError
from simulator.pubsub.subscription import Consumer, Delivery, Subscription
from simulator.pubsub.wire import config_of, received, shown
from simulator.rpc import RpcError, RpcFace, Stream, Unary, after, caller_of
from simulator.seams import CallFaults, CallLog, PlannedFault

#: Messages of one response: keeps it far below gRPC's default limit of 4 MB for ordinary entries.
_BATCH = 500
#: A pull without messages is answered after this long, or shortly before its own deadline.
_PULL_SECONDS = 90.0

_pb = {
    name: getattr(types, name).pb()
    for name in (
        "Topic",
        "GetTopicRequest",
        "PublishRequest",
        "PublishResponse",
        "Subscription",
        "GetSubscriptionRequest",
        "UpdateSubscriptionRequest",
        "DeleteSubscriptionRequest",
        "PullRequest",
        "PullResponse",
        "AcknowledgeRequest",
        "ModifyAckDeadlineRequest",
        "StreamingPullRequest",
        "StreamingPullResponse",
    )
}
_FIRST_ONLY = ("subscription", "max_outstanding_messages", "max_outstanding_bytes", "protocol_version")
_UPDATABLE = ("ack_deadline_seconds", "retry_policy", "dead_letter_policy", "labels")


class PubSubFace:
    """Translates calls into calls on the broker."""

    def __init__(self, broker: Broker, calls: CallLog, faults: CallFaults, path: EventPath | None = None) -> None:
        self._broker = broker
        self._calls = calls
        self._faults = faults
        self._path = path or EventPath()
        self._streams: set[Consumer] = set()
        self._path.on_change.append(self._end_refused_streams)

    def _end_refused_streams(self) -> None:
        if not self._path.pieces.subscriber:
            for consumer in self._streams:
                consumer.close()

    def _check_may_consume(self, context: Any) -> None:
        if not self._path.pieces.subscriber and caller_of(context) == ANONYMOUS:
            raise RpcError("PERMISSION_DENIED", "User not authorized to perform this action.")

    def handlers(self) -> tuple[Any, Any]:
        """The generic handlers of both services."""
        publisher = {
            "CreateTopic": Unary(_pb["Topic"], _pb["Topic"], self._create_topic, "changed"),
            "GetTopic": Unary(_pb["GetTopicRequest"], _pb["Topic"], self._get_topic),
            "Publish": Unary(_pb["PublishRequest"], _pb["PublishResponse"], self._publish, "changed"),
        }
        config = _pb["Subscription"]
        subscriber: dict[str, Unary | Stream] = {
            "CreateSubscription": Unary(config, config, self._create_subscription, "changed"),
            "GetSubscription": Unary(_pb["GetSubscriptionRequest"], config, self._get_subscription),
            "UpdateSubscription": Unary(_pb["UpdateSubscriptionRequest"], config, self._update_subscription, "changed"),
            "DeleteSubscription": Unary(_pb["DeleteSubscriptionRequest"], Empty, self._delete_subscription, "changed"),
            "Pull": Unary(_pb["PullRequest"], _pb["PullResponse"], self._pull, "changed"),
            "Acknowledge": Unary(_pb["AcknowledgeRequest"], Empty, self._acknowledge, "changed"),
            "ModifyAckDeadline": Unary(_pb["ModifyAckDeadlineRequest"], Empty, self._modify_ack_deadline, "changed"),
            "StreamingPull": Stream(_pb["StreamingPullRequest"], _pb["StreamingPullResponse"], self._streaming_pull),
        }
        return (
            RpcFace("pubsub", "google.pubsub.v1.Publisher", self._calls, self._faults).handlers(publisher),
            RpcFace("pubsub", "google.pubsub.v1.Subscriber", self._calls, self._faults).handlers(subscriber),
        )

    async def _create_topic(self, request: Any, _context: Any) -> Any:
        with _refusals():
            self._broker.create_topic(request.name, request.labels)
        return request

    async def _get_topic(self, request: Any, _context: Any) -> Any:
        with _refusals():
            topic = self._broker.topic(request.topic)
        return _pb["Topic"](name=topic.name, labels=topic.labels)

    async def _publish(self, request: Any, _context: Any) -> Any:
        if not request.messages:
            raise RpcError("INVALID_ARGUMENT", "The value for message_count is too small. You passed 0 in the request.")
        for message in request.messages:
            if not message.data and not message.attributes:
                raise RpcError("INVALID_ARGUMENT", "Some messages in the publish request are empty.")
        with _refusals():
            ids = [self._broker.publish(request.topic, m.data, m.attributes) for m in request.messages]
        return _pb["PublishResponse"](message_ids=ids)

    async def _create_subscription(self, request: Any, _context: Any) -> Any:
        with _refusals():
            return shown(self._broker.create_subscription(config_of(request)).config)

    async def _get_subscription(self, request: Any, _context: Any) -> Any:
        with _refusals():
            return shown(self._broker.subscription(request.subscription).config)

    async def _update_subscription(self, request: Any, _context: Any) -> Any:
        paths = list(request.update_mask.paths)
        refused = [path for path in paths if path not in _UPDATABLE]
        if refused or not paths:
            what = refused[0] if refused else "an empty update_mask"
            raise RpcError("INVALID_ARGUMENT", f"{what} cannot be updated here; {', '.join(_UPDATABLE)} can")
        with _refusals():
            old = self._broker.subscription(request.subscription.name).config
            new = config_of(request.subscription)
            fields = {
                "ack_deadline_seconds": "ack_deadline",
                "retry_policy": "retry",
                "dead_letter_policy": "dead_letter",
            }
            changes = {fields.get(path, path): getattr(new, fields.get(path, path)) for path in paths}
            return shown(self._broker.update_subscription(replace(old, **changes)).config)

    async def _delete_subscription(self, request: Any, _context: Any) -> Any:
        with _refusals():
            self._broker.delete_subscription(request.subscription)
        return Empty()

    async def _pull(self, request: Any, context: Any) -> Any:
        self._check_may_consume(context)
        if request.max_messages < 1:
            raise RpcError("INVALID_ARGUMENT", "max_messages must be 1 or more")
        with _refusals():
            subscription = self._broker.subscription(request.subscription)
        consumer = Consumer(max_messages=request.max_messages)
        subscription.attach(consumer)
        try:
            taken = consumer.drain()
            if not taken and not request.return_immediately:
                remaining = context.time_remaining()
                seconds = _PULL_SECONDS if remaining is None else max(0.0, min(_PULL_SECONDS, remaining - 0.2))
                taken = await _within(seconds, consumer)
        finally:
            subscription.detach(consumer)
        return _pb["PullResponse"](received_messages=[received(delivery) for delivery in taken])

    async def _acknowledge(self, request: Any, context: Any) -> Any:
        self._check_may_consume(context)
        with _refusals():
            self._broker.subscription(request.subscription).acknowledge(list(request.ack_ids))
        return Empty()

    async def _modify_ack_deadline(self, request: Any, context: Any) -> Any:
        self._check_may_consume(context)
        _check_lease(request.ack_deadline_seconds, least=0)
        with _refusals():
            subscription = self._broker.subscription(request.subscription)
        for ack_id in request.ack_ids:
            subscription.extend(ack_id, request.ack_deadline_seconds)
        return Empty()

    async def _streaming_pull(
        self, requests: AsyncIterator[Any], context: Any, fault: PlannedFault | None
    ) -> AsyncIterator[Any]:
        first = await anext(requests, None)
        if first is None or not first.subscription:
            raise RpcError("INVALID_ARGUMENT", "The first request of a stream must name the subscription.")
        _check_lease(first.stream_ack_deadline_seconds, least=10)
        self._check_may_consume(context)
        with _refusals():
            subscription = self._broker.subscription(first.subscription)
        consumer = Consumer(
            max_messages=first.max_outstanding_messages,
            max_bytes=first.max_outstanding_bytes,
            ack_deadline=first.stream_ack_deadline_seconds,
        )
        reader = asyncio.create_task(_read(requests, first, subscription, consumer))
        subscription.attach(consumer)
        self._streams.add(consumer)
        try:
            # A held stream is open and silent: its messages are leased and do not come.
            if fault and fault.effect == "hold-after":
                await fault.release()
            while (batch := await consumer.take()) or not consumer.gone:
                # A sign of life is answered with nothing (facts: Pub/Sub 1).
                for start in range(0, len(batch) or 1, _BATCH):
                    part = batch[start : start + _BATCH]
                    yield _pb["StreamingPullResponse"](received_messages=[received(delivery) for delivery in part])
                if batch:
                    await after(fault)
        finally:
            self._streams.discard(consumer)
            subscription.detach(consumer)
            reader.cancel()
            outcome = (await asyncio.gather(reader, return_exceptions=True))[0]
        if isinstance(outcome, RpcError):
            raise outcome
        self._check_may_consume(context)
        with _refusals():
            self._broker.subscription(first.subscription)
        if isinstance(outcome, asyncio.CancelledError):
            # Neither side ended the stream: the broker is closed.
            raise RpcError("UNAVAILABLE", "The service was unable to fulfill your request: the simulator stops.")


async def _read(requests: AsyncIterator[Any], first: Any, subscription: Subscription, consumer: Consumer) -> None:
    """Acks, nacks and extensions that come on the stream. Its end ends the stream."""
    try:
        _apply(first, subscription, consumer)
        async for request in requests:
            for field in _FIRST_ONLY:
                if getattr(request, field):
                    raise RpcError("INVALID_ARGUMENT", f"Only the first request of a stream may set {field}.")
            _apply(request, subscription, consumer)
            if first.protocol_version and not request.ByteSize():
                consumer.ping()
    finally:
        consumer.close()


def _apply(request: Any, subscription: Subscription, consumer: Consumer) -> None:
    if len(request.modify_deadline_seconds) != len(request.modify_deadline_ack_ids):
        raise RpcError("INVALID_ARGUMENT", "modify_deadline_seconds and modify_deadline_ack_ids differ in length.")
    if request.stream_ack_deadline_seconds:
        _check_lease(request.stream_ack_deadline_seconds, least=10)
        consumer.ack_deadline = request.stream_ack_deadline_seconds
    subscription.acknowledge(list(request.ack_ids))
    for ack_id, seconds in zip(request.modify_deadline_ack_ids, request.modify_deadline_seconds, strict=True):
        _check_lease(seconds, least=0)
        subscription.extend(ack_id, seconds)


async def _within(seconds: float, consumer: Consumer) -> list[Delivery]:
    try:
        return await asyncio.wait_for(consumer.take(), seconds)
    except TimeoutError:
        return []


def _check_lease(seconds: int, *, least: int) -> None:
    if not least <= seconds <= 600:
        raise RpcError(
            "INVALID_ARGUMENT", f"Invalid ack deadline given (seconds={seconds}): {least} to 600 are allowed."
        )


@contextmanager
def _refusals() -> Iterator[None]:
    """Turns a broker's refusal into the call's."""
    try:
        yield
    except PubSubError as error:
        raise RpcError(error.code, error.message) from error
