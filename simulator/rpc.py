"""What the gRPC faces share: methods in a table, each call counted, planned faults applied, refusals turned to status.

Messages are the bare protobuf classes behind the client libraries' types, which are several times faster.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import grpc

from simulator.callers import principal_of
from simulator.seams import CallFaults, CallLog, Effect, PlannedFault


class RpcError(Exception):
    """A refusal: a gRPC status name, its text, and a serialized google.rpc.Status where there are details."""

    def __init__(self, code: str, message: str, details: bytes = b"") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details


@dataclass(frozen=True, slots=True)
class Unary:
    """A method of one request and one response. `effect`: what a call of it does when it succeeds."""

    request: Any
    response: Any
    handle: Callable[[Any, Any], Awaitable[Any]]
    effect: Effect = "none"


@dataclass(frozen=True, slots=True)
class Stream:
    """A method of two streams. The fault that has its turn is handed to the method: only it can say what it means."""

    request: Any
    response: Any
    handle: Callable[[AsyncIterator[Any], Any, PlannedFault | None], AsyncIterator[Any]]


class RpcFace:
    """One gRPC service."""

    def __init__(self, api: str, service: str, calls: CallLog, faults: CallFaults) -> None:
        self._api = api
        self._service = service
        self._calls = calls
        self._faults = faults

    def handlers(self, methods: Mapping[str, Unary | Stream]) -> Any:
        """The generic handler that a grpc.aio server takes."""
        return grpc.method_handlers_generic_handler(
            self._service,
            {name: self._handler(f"{self._service.rpartition('.')[2]}.{name}", m) for name, m in methods.items()},
        )

    def _handler(self, name: str, method: Unary | Stream) -> Any:
        codec = {
            "request_deserializer": method.request.FromString,
            "response_serializer": method.response.SerializeToString,
        }
        if isinstance(method, Stream):
            return grpc.stream_stream_rpc_method_handler(self._stream(name, method), **codec)
        return grpc.unary_unary_rpc_method_handler(self._unary(name, method), **codec)

    def _unary(self, name: str, method: Unary) -> Callable[[Any, Any], Awaitable[Any]]:
        async def call(request: Any, context: Any) -> Any:
            code, effect = "OK", method.effect
            fault = self._faults.next(self._api, name)
            try:
                await before(fault)
                response = await method.handle(request, context)
                await after(fault)
            except RpcError as error:
                code = error.code
                if not (fault and fault.effect == "error-after"):
                    effect = "none"
                await refuse(context, error)
            except asyncio.CancelledError:
                code = "CANCELLED"
                raise
            finally:
                self._record(context, name, code, effect)
            return response

        return call

    def _stream(self, name: str, method: Stream) -> Callable[[AsyncIterator[Any], Any], AsyncIterator[Any]]:
        async def call(requests: AsyncIterator[Any], context: Any) -> AsyncIterator[Any]:
            code = "OK"
            fault = self._faults.next(self._api, name)
            try:
                await before(fault)
                async for response in method.handle(requests, context, fault):
                    yield response
            except RpcError as error:
                code = error.code
                await refuse(context, error)
            except asyncio.CancelledError:
                code = "CANCELLED"
                raise
            finally:
                self._record(context, name, code, "none")

        return call

    def _record(self, context: Any, name: str, code: str, effect: Effect) -> None:
        self._calls.record(caller=caller_of(context), api=self._api, method=name, code=code, effect=effect)


async def before(fault: PlannedFault | None) -> None:
    """What a fault does before its call takes effect."""
    if fault and fault.effect == "error-before":
        raise RpcError(fault.code, f"planned fault: {fault.code} before the call took effect")
    if fault and fault.effect == "latency":
        await asyncio.sleep(fault.milliseconds / 1000)


async def after(fault: PlannedFault | None) -> None:
    """What a fault does after its call took effect."""
    if fault and fault.effect == "error-after":
        raise RpcError(fault.code, f"planned fault: {fault.code} after the call took effect")
    if fault and fault.effect == "hold-after":
        await fault.release()


async def refuse(context: Any, error: RpcError) -> None:
    """End the call with this status."""
    trailing = (("grpc-status-details-bin", error.details),) if error.details else ()
    await context.abort(grpc.StatusCode[error.code], error.message, trailing)


def caller_of(context: Any) -> str:
    """The principal of a call."""
    return principal_of(str(dict(context.invocation_metadata() or ()).get("authorization", "")))


@asynccontextmanager
async def serving(handlers: Sequence[Any], port: int = 0) -> AsyncIterator[str]:
    """Serve on 127.0.0.1 until the context is left; yields host:port. Nobody else can share the port.

    Raises OSError when it is taken.
    """
    limits = [("grpc.so_reuseport", 0), ("grpc.max_receive_message_length", 20 * 1024 * 1024)]
    server = grpc.aio.server(options=limits)
    server.add_generic_rpc_handlers(tuple(handlers))
    if port:
        _require_free(port)
    taken = server.add_insecure_port(f"127.0.0.1:{port}")
    await server.start()
    try:
        yield f"127.0.0.1:{taken}"
    finally:
        await server.stop(0)


def _require_free(port: int) -> None:
    """Raises OSError. gRPC itself would tell of a taken port on stderr, in words of its own."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise OSError(f"cannot listen on 127.0.0.1:{port}: {error.strerror}") from error
