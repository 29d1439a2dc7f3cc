"""A Pub/Sub subscriber service on loopback, as small as the tests of the subscription need it: one subscription."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import grpc
from google.protobuf.empty_pb2 import Empty
from google.pubsub_v1 import types

SUBSCRIPTION = "projects/p/subscriptions/events"
_SERVICE = "/google.pubsub.v1.Subscriber/"


class PubSubServer:
    """Delivers what is published, and notes what comes back. `mute` stops all answers, as a black hole would."""

    def __init__(self) -> None:
        self.acked: list[str] = []
        self.deadlines: list[tuple[str, int]] = []
        self.openings: list[Any] = []
        self.requests = 0
        self.exists = True
        self.mute = False
        self.deaf_to_half_close = False
        self.changed = asyncio.Condition()
        self._out: asyncio.Queue[Any] = asyncio.Queue()
        self._server: grpc.aio.Server | None = None
        self._ends: set[asyncio.Event] = set()
        self.port = 0

    @property
    def endpoint(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def start(self) -> None:
        """Listen, on the port of before if there was one."""
        self._server = grpc.aio.server(options=(("grpc.so_reuseport", 0),))
        self._server.add_generic_rpc_handlers((_Router(self),))
        self.port = self._server.add_insecure_port(f"127.0.0.1:{self.port}")
        await self._server.start()

    async def stop(self) -> None:
        """Break every connection and stop listening."""
        if self._server is not None:
            await self._server.stop(None)
            self.end_streams()
            self._server = None

    def end_streams(self) -> None:
        """End the streams without an error."""
        for end in self._ends:
            end.set()

    async def publish(self, *bodies: bytes, attempt: int = 0) -> None:
        """One response with a message for each body. A body is also its message's id and its ack id."""
        await self._out.put(
            types.StreamingPullResponse(
                received_messages=[
                    {
                        "ack_id": f"ack-{body.decode()}",
                        "delivery_attempt": attempt,
                        "message": {
                            "data": body,
                            "message_id": body.decode(),
                            "attributes": {"logging.googleapis.com/timestamp": "2026-01-02T03:04:05Z"},
                            "publish_time": {"seconds": 1_767_323_045, "nanos": 250_000_000},
                        },
                    }
                    for body in bodies
                ]
            )
        )

    async def until(self, condition: Any) -> None:
        """Wait until what has come back fulfils the condition."""
        async with self.changed, asyncio.timeout(10):
            await self.changed.wait_for(condition)

    async def pull(self, requests: AsyncIterator[Any], context: Any) -> AsyncIterator[Any]:
        first = await anext(requests)
        async with self.changed:
            self.openings.append(first)
            self.changed.notify_all()
        await self._check(context)
        end = asyncio.Event()
        self._ends.add(end)
        context.add_done_callback(lambda _: end.set())
        reader = asyncio.create_task(self._read(requests, end))
        try:
            while not end.is_set():
                response = await self._next(end)
                if response is not None:
                    yield response
        finally:
            self._ends.discard(end)
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)

    async def _next(self, end: asyncio.Event) -> Any:
        getting, ending = asyncio.ensure_future(self._out.get()), asyncio.ensure_future(end.wait())
        try:
            await asyncio.wait({getting, ending}, return_when=asyncio.FIRST_COMPLETED)
            return getting.result() if getting.done() else None
        finally:
            getting.cancel()
            ending.cancel()
            await asyncio.gather(getting, ending, return_exceptions=True)

    async def _read(self, requests: AsyncIterator[Any], end: asyncio.Event) -> None:
        async for request in requests:
            await self._take(
                request.ack_ids,
                list(zip(request.modify_deadline_ack_ids, request.modify_deadline_seconds, strict=True)),
            )
        if not self.deaf_to_half_close:
            end.set()

    async def _take(self, acks: Sequence[str], deadlines: Sequence[tuple[str, int]]) -> None:
        async with self.changed:
            self.requests += 1
            self.acked += acks
            self.deadlines += deadlines
            self.changed.notify_all()

    async def _check(self, context: Any) -> None:
        if self.mute:
            await asyncio.Event().wait()
        if not self.exists:
            await context.abort(grpc.StatusCode.NOT_FOUND, "Subscription does not exist")

    async def get(self, _: Any, context: Any) -> Any:
        await self._check(context)
        return types.Subscription(name=SUBSCRIPTION)

    async def acknowledge(self, request: Any, context: Any) -> Any:
        await self._check(context)
        await self._take(request.ack_ids, [])
        return Empty()

    async def modify(self, request: Any, context: Any) -> Any:
        await self._check(context)
        await self._take([], [(ack_id, request.ack_deadline_seconds) for ack_id in request.ack_ids])
        return Empty()


class _Router(grpc.GenericRpcHandler):  # type: ignore[misc, unused-ignore]
    def __init__(self, server: PubSubServer) -> None:
        self._server = server

    def service(self, handler_call_details: Any) -> Any:
        method = handler_call_details.method.removeprefix(_SERVICE)
        if method == "StreamingPull":
            return grpc.stream_stream_rpc_method_handler(
                self._server.pull,
                request_deserializer=types.StreamingPullRequest.deserialize,
                response_serializer=types.StreamingPullResponse.serialize,
            )
        unary: dict[str, tuple[Any, Any, Any]] = {
            "GetSubscription": (self._server.get, types.GetSubscriptionRequest, types.Subscription.serialize),
            "Acknowledge": (self._server.acknowledge, types.AcknowledgeRequest, _serialize),
            "ModifyAckDeadline": (self._server.modify, types.ModifyAckDeadlineRequest, _serialize),
        }
        if method not in unary:
            return None
        behaviour, request, serializer = unary[method]
        return grpc.unary_unary_rpc_method_handler(
            behaviour, request_deserializer=request.deserialize, response_serializer=serializer
        )


def _serialize(message: Any) -> bytes:
    return bytes(message.SerializeToString())
