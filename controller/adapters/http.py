"""Metrics and health over HTTP: `/metrics`, `/healthz` (the process turns), `/readyz` (it works, or why not)."""

from collections.abc import Callable

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

#: In words, a line each; empty when there is nothing to tell.
Lines = Callable[[], list[str]]


class HttpServer:
    """Serves until closed.

    `problems`: what keeps the operator from its work. `details`: what is wrong besides, and does not.
    """

    def __init__(self, registry: CollectorRegistry, problems: Lines, details: Lines) -> None:
        self._registry = registry
        self._problems = problems
        self._details = details
        app = web.Application()
        app.router.add_get("/metrics", self._metrics)
        app.router.add_get("/healthz", self._health)
        app.router.add_get("/readyz", self._ready)
        self._runner = web.AppRunner(app, access_log=None)
        self.address = ""

    async def start(self, host: str, port: int) -> None:
        """Listen; port 0 takes a free one, told by `address`. Raises OSError when it cannot."""
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port)
        await site.start()
        bound = self._runner.addresses[0]
        self.address = f"{bound[0]}:{bound[1]}"

    async def close(self) -> None:
        """Stop listening."""
        await self._runner.cleanup()

    async def _metrics(self, _: web.Request) -> web.Response:
        return web.Response(body=generate_latest(self._registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def _health(self, _: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def _ready(self, _: web.Request) -> web.Response:
        problems = self._problems()
        lines = [*(problems or ["ok"]), *self._details()]
        return web.Response(text="\n".join(lines) + "\n", status=503 if problems else 200)
