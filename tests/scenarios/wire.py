"""A wire to a server that can be cut or swallow: connections are passed through as they are, TLS and all."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import yaml


class Wire:
    """Listens on a port of its own while it is whole. Begins cut."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._swallows = False
        self.port = 0

    async def mend(self) -> None:
        """Take connections, on the same port as before."""
        assert self._server is None
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    def swallow(self) -> None:
        """As a black hole: connections stand and are made, and nothing comes through any more, until it is cut."""
        self._swallows = True

    async def cut(self) -> None:
        """Refuse new connections and end those that are there."""
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()
            self._server = None
        self._swallows = False
        for each in self._connections:
            each.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._connect(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers = [writer]
        try:
            with contextlib.suppress(OSError):
                far_reader, far_writer = await asyncio.open_connection(*self._target)
                writers.append(far_writer)
                await asyncio.gather(self._pass(reader, far_writer), self._pass(far_reader, writer))
        finally:
            for each in writers:
                each.transport.abort()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(2**16):
            if not self._swallows:
                writer.write(data)
                await writer.drain()
        writer.write_eof() if writer.can_write_eof() else writer.close()


@asynccontextmanager
async def wire_to(kubeconfig: Path, copy: Path) -> AsyncIterator[Wire]:
    """A wire to this kubeconfig's server, cut; `copy` becomes the kubeconfig of whoever shall use it."""
    config = yaml.safe_load(_text(kubeconfig))
    cluster = config["clusters"][0]["cluster"]
    server = urlsplit(cluster["server"])
    assert server.hostname is not None
    assert server.port is not None
    wire = Wire(server.hostname, server.port)
    # Once, to have a port that nobody else takes meanwhile with any likelihood.
    await wire.mend()
    await wire.cut()
    cluster["server"] = f"https://127.0.0.1:{wire.port}"
    _write(copy, yaml.safe_dump(config))
    try:
        yield wire
    finally:
        await wire.cut()


def _text(path: Path) -> str:
    return path.read_text("utf-8")


def _write(path: Path, text: str) -> None:
    path.write_text(text, "utf-8")
