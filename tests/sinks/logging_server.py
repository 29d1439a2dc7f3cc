"""A Cloud Logging service on loopback, as small as the tests of the writer need it: WriteLogEntries alone."""

import asyncio
from collections.abc import Callable
from typing import Any

import grpc
from google.cloud.logging_v2 import types


class LoggingServer:
    """Keeps what is written. `failures` are the statuses of the next calls, `mute` lets calls wait for ever."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.failures: list[grpc.StatusCode] = []
        #: A failing call takes its entries nevertheless: the reply is what gets lost.
        self.lose_replies = False
        self.mute = False
        self.changed = asyncio.Condition()
        self._server: grpc.aio.Server | None = None
        self.port = 0

    @property
    def endpoint(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def entries(self) -> list[Any]:
        """Every entry of every call, repeated ones too."""
        return [entry for call in self.calls for entry in call.entries]

    async def start(self) -> None:
        """Listen, on the port of before if there was one."""
        self._server = grpc.aio.server(options=(("grpc.so_reuseport", 0),))
        handler = grpc.unary_unary_rpc_method_handler(
            self.write,
            request_deserializer=types.WriteLogEntriesRequest.deserialize,
            response_serializer=types.WriteLogEntriesResponse.serialize,
        )
        service = grpc.method_handlers_generic_handler(
            "google.logging.v2.LoggingServiceV2", {"WriteLogEntries": handler}
        )
        self._server.add_generic_rpc_handlers((service,))
        self.port = self._server.add_insecure_port(f"127.0.0.1:{self.port}")
        await self._server.start()

    async def stop(self) -> None:
        """Break every connection and stop listening."""
        if self._server is not None:
            await self._server.stop(None)
            self._server = None

    async def write(self, request: Any, context: Any) -> Any:
        """WriteLogEntries."""
        if self.mute:
            await asyncio.Event().wait()
        failure = self.failures.pop(0) if self.failures else None
        if failure is None or self.lose_replies:
            async with self.changed:
                self.calls.append(request)
                self.changed.notify_all()
        if failure is not None:
            await context.abort(failure, "as the test wants it")
        return types.WriteLogEntriesResponse()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until what was written fulfils the condition."""
        async with self.changed, asyncio.timeout(10):
            await self.changed.wait_for(condition)
