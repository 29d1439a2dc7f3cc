"""Between a client and a gRPC server: a wire that can go bad, and a front that can say no.

`Wire` knows bytes only: it passes them, swallows them as a black hole does, refuses connections, or cuts them. `Front`
knows calls: it answers chosen methods with a status of its own and passes all others on.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc


class Wire:
    """A TCP proxy on 127.0.0.1, on the same port for all its life."""

    def __init__(self, target: str) -> None:
        host, _, port = target.rpartition(":")
        self._target = (host, int(port))
        self._server: asyncio.Server | None = None
        self._port = 0
        self._passing = asyncio.Event()
        self._passing.set()
        self._links: set[asyncio.Task[None]] = set()
        #: Connections that were taken, since the start.
        self.connections = 0

    @property
    def endpoint(self) -> str:
        """Where to connect to."""
        return f"127.0.0.1:{self._port}"

    async def mend(self) -> None:
        """Pass everything. A connection of which the client let go in the black hole is now broken for the server."""
        self._passing.set()
        if self._server is None:
            self._server = await asyncio.start_server(self._accept, "127.0.0.1", self._port)
            self._port = self._server.sockets[0].getsockname()[1]

    def swallow(self) -> None:
        """Take connections and bytes, and pass on neither: nobody is told of anything."""
        self._passing.clear()

    async def refuse(self) -> None:
        """Take no connection more; those that are there stay."""
        if self._server is not None:
            self._server.close()
            self._server = None

    async def cut(self) -> None:
        """Break the connections that are there; new ones are taken."""
        for link in self._links:
            link.cancel()
        await asyncio.gather(*self._links, return_exceptions=True)

    async def close(self) -> None:
        """Refuse, and cut."""
        await self.refuse()
        await self.cut()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        link = asyncio.create_task(self._link(reader, writer))
        self._links.add(link)
        link.add_done_callback(self._links.discard)

    async def _link(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers = [writer]
        try:
            with contextlib.suppress(OSError):
                swallowed = not self._passing.is_set()
                far_reader, far_writer = await asyncio.open_connection(*self._target)
                writers.append(far_writer)
                ways = [asyncio.create_task(self._pass(reader, far_writer, broken=swallowed))]
                ways.append(asyncio.create_task(self._pass(far_reader, writer, broken=swallowed)))
                try:
                    await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    for way in ways:
                        way.cancel()
                    await asyncio.gather(*ways, return_exceptions=True)
                # The end of one side is as little told through a black hole as anything else.
                await self._passing.wait()
        finally:
            for each in writers:
                each.transport.abort()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, broken: bool) -> None:
        """Pass bytes on until the reader's end. Once some were swallowed, what follows makes no sense to anybody."""
        while data := await reader.read(2**16):
            broken = broken or not self._passing.is_set()
            if not broken:
                writer.write(data)
                await writer.drain()


@asynccontextmanager
async def wire_to(target: str) -> AsyncIterator[Wire]:
    """A wire that passes."""
    wire = Wire(target)
    await wire.mend()
    try:
        yield wire
    finally:
        await wire.close()


class Front:
    """A gRPC proxy. `answers` has the status and text for a method (`StreamingPull`), None in it is an end with OK.

    `silent` methods are taken and never answered.
    """

    def __init__(self, target: str) -> None:
        self._channel = grpc.aio.insecure_channel(target, options=(("grpc.use_local_subchannel_pool", 1),))
        self._server = grpc.aio.server(options=(("grpc.so_reuseport", 0),))
        self.answers: dict[str, tuple[grpc.StatusCode, str] | None] = {}
        self.silent: set[str] = set()
        #: Whether streams are told everything twice.
        self.doubles = False
        #: Calls by method, whatever became of them.
        self.calls: Counter[str] = Counter()
        #: Responses by method.
        self.responses: Counter[str] = Counter()
        self._changed = asyncio.Condition()
        self.endpoint = ""
        self._flowing = asyncio.Event()
        self._flowing.set()

    def stall(self, *, stalled: bool = True) -> None:
        """Hold back what open streams are answered; unary calls are not touched."""
        if stalled:
            self._flowing.clear()
        else:
            self._flowing.set()

    async def start(self) -> None:
        """Listen."""
        self._server.add_generic_rpc_handlers((_Anything(self._handle),))
        self.endpoint = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        await self._server.start()

    async def stop(self) -> None:
        """Break every connection."""
        await self._server.stop(None)
        await self._channel.close()

    async def until_called(self, method: str, times: int) -> None:
        """Wait until there were so many calls of a method."""
        await self._until(lambda: self.calls[method] >= times)

    async def until_answered(self, method: str, times: int) -> None:
        """Wait until there were so many responses of a method."""
        await self._until(lambda: self.responses[method] >= times)

    async def _until(self, condition: Callable[[], bool]) -> None:
        async with self._changed, asyncio.timeout(20):
            await self._changed.wait_for(condition)

    async def _count(self, counter: Counter[str], method: str) -> None:
        async with self._changed:
            counter[method] += 1
            self._changed.notify_all()

    async def _handle(self, path: str, requests: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:
        method = path.rpartition("/")[2]
        await self._count(self.calls, method)
        if method in self.silent:
            await asyncio.Event().wait()
        if method in self.answers:
            answer = self.answers[method]
            if answer is not None:
                await context.abort(*answer)
            return
        call = self._channel.stream_stream(path)(requests, metadata=context.invocation_metadata())
        try:
            async for response in call:
                if method == "StreamingPull":
                    await self._flowing.wait()
                yield response
                if self.doubles and method == "StreamingPull":
                    yield response
                await self._count(self.responses, method)
        except grpc.aio.AioRpcError as error:
            await context.abort(error.code(), error.details() or "")
        finally:
            call.cancel()


class _Anything(grpc.GenericRpcHandler):  # type: ignore[misc, unused-ignore]
    """Every method as two streams of bytes: on the wire a unary call is one too."""

    def __init__(self, handle: Callable[[str, AsyncIterator[bytes], Any], AsyncIterator[bytes]]) -> None:
        self._handle = handle

    def service(self, handler_call_details: Any) -> Any:
        path = handler_call_details.method

        async def behave(requests: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:
            async for response in self._handle(path, requests, context):
                yield response

        return grpc.stream_stream_rpc_method_handler(behave)


@asynccontextmanager
async def front_of(target: str) -> AsyncIterator[Front]:
    """A front that passes everything on."""
    front = Front(target)
    await front.start()
    try:
        yield front
    finally:
        await front.stop()


async def accepting_and_silent() -> tuple[str, Callable[[], Awaitable[None]]]:
    """A server that takes connections and never says a word; its endpoint, and what ends it."""
    writers: list[asyncio.StreamWriter] = []
    server = await asyncio.start_server(lambda _, writer: writers.append(writer), "127.0.0.1", 0)

    async def close() -> None:
        server.close()
        for writer in writers:
            writer.transport.abort()

    return f"127.0.0.1:{server.sockets[0].getsockname()[1]}", close
