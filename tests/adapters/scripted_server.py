"""An HTTP server whose answers a test writes down beforehand, and which writes down what it was asked."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Json = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """One request as it came over the wire."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str] = field(repr=False)
    body: Any = None


class WatchStream:
    """A watch that the server holds open: `send` events to it, `hang_up` to end it."""

    def __init__(self) -> None:
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.opened = asyncio.Event()
        self.query: Mapping[str, str] = {}

    def send(self, kind: str, obj: Json) -> None:
        self._lines.put_nowait(json.dumps({"type": kind, "object": obj}).encode() + b"\n")

    def send_raw(self, chunk: bytes) -> None:
        self._lines.put_nowait(chunk)

    def hang_up(self) -> None:
        self._lines.put_nowait(None)

    async def serve(self, request: web.Request) -> web.StreamResponse:
        self.query = dict(request.query)
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        self.opened.set()
        while (line := await self._lines.get()) is not None:
            await response.write(line)
        return response


class ScriptedServer:
    """Answers in the order in which they were written down for a (method, path); the last one stays."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.url = ""
        self._answers: dict[tuple[str, str], deque[tuple[int, Any, Mapping[str, str]]]] = {}
        self._streams: dict[str, deque[WatchStream]] = {}

    def answer(self, method: str, path: str, body: Any, status: int = 200, **headers: str) -> None:
        entry = (status, body, {key.replace("_", "-"): value for key, value in headers.items()})
        self._answers.setdefault((method, path), deque()).append(entry)

    def watch(self, path: str) -> WatchStream:
        """The next watch of this path."""
        stream = WatchStream()
        self._streams.setdefault(path, deque()).append(stream)
        return stream

    def of(self, method: str, path: str = "") -> list[Asked]:
        return [asked for asked in self.asked if asked.method == method and path in {"", asked.path}]

    async def handle(self, request: web.Request) -> web.StreamResponse:
        text = await request.text()
        body = json.loads(text) if text else None
        asked = Asked(request.method, request.path, dict(request.query), dict(request.headers), body)
        self.asked.append(asked)
        if "watch" in request.query:
            streams = self._streams.get(request.path, deque())
            stream = streams.popleft() if streams else WatchStream()
            return await stream.serve(request)
        answers = self._answers.get((request.method, request.path))
        if not answers:
            return web.json_response({"message": f"nothing is written down for {request.path}"}, status=404)
        status, reply, headers = answers.popleft() if len(answers) > 1 else answers[0]
        if isinstance(reply, str):
            return web.Response(text=reply, status=status, headers=headers)
        return web.json_response(reply, status=status, headers=headers)


@asynccontextmanager
async def serving() -> AsyncIterator[ScriptedServer]:
    """The server on a free port of loopback."""
    server = ScriptedServer()
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", server.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    server.url = f"http://{host}:{port}"
    try:
        yield server
    finally:
        await runner.cleanup()
