"""A subscription that never runs dry: StreamingPull over gRPC with as many messages as asked, made as they are sent."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any, Final

import grpc
from google.pubsub_v1 import types

from benchmarks import mix

_BATCH: Final = 100


class Fountain:
    """The service google.pubsub.v1.Subscriber, as far as one subscription needs it. Acks make room for more."""

    def __init__(self, count: int) -> None:
        self._numbers = iter(range(count))
        self._templates = itertools.cycle(mix.messages(10_000))
        self._outstanding = 0
        self._room = asyncio.Condition()

    def handlers(self) -> Any:
        """The generic handler that a grpc.aio server takes."""
        request, response = types.StreamingPullRequest.pb(), types.StreamingPullResponse.pb()
        asked, subscription = types.GetSubscriptionRequest.pb(), types.Subscription.pb()
        return grpc.method_handlers_generic_handler(
            "google.pubsub.v1.Subscriber",
            {
                "StreamingPull": grpc.stream_stream_rpc_method_handler(
                    self._pull,
                    request_deserializer=request.FromString,
                    response_serializer=response.SerializeToString,
                ),
                "GetSubscription": grpc.unary_unary_rpc_method_handler(
                    self._get,
                    request_deserializer=asked.FromString,
                    response_serializer=subscription.SerializeToString,
                ),
            },
        )

    async def _pull(self, requests: AsyncIterator[Any], _: Any) -> AsyncIterator[Any]:
        opening = await anext(requests)
        reader = asyncio.create_task(self._take(requests))
        try:
            while True:
                async with self._room:
                    await self._room.wait_for(lambda: self._outstanding < opening.max_outstanding_messages)
                response = types.StreamingPullResponse.pb()()
                for number in itertools.islice(self._numbers, _BATCH):
                    received = response.received_messages.add(ack_id=str(number))
                    received.message.data = next(self._templates).stamped(number)
                    received.message.message_id = str(number)
                    received.message.publish_time.FromDatetime(datetime.now(UTC))  # noqa: TID251 - Pub/Sub's own clock
                self._outstanding += len(response.received_messages)
                if not response.received_messages:
                    await reader
                yield response
        finally:
            reader.cancel()

    async def _take(self, requests: AsyncIterator[Any]) -> None:
        async for request in requests:
            async with self._room:
                self._outstanding -= len(request.ack_ids)
                self._room.notify_all()

    async def _get(self, request: Any, _: Any) -> Any:
        return types.Subscription.pb()(name=request.subscription)
