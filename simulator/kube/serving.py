"""Putting the API on a port of 127.0.0.1, and telling clients how to get there."""

import base64
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from simulator.seams import Json

_CLUSTER = "simulated"


@asynccontextmanager
async def serving(app: web.Application, tls: ssl.SSLContext | None = None, port: int = 0) -> AsyncIterator[str]:
    """Serve an app until the context is left; yields its URL.

    aiohttp turns Nagle off. A client that goes away cancels its call, so that watches end at once.
    """
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=1.0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", port, ssl_context=tls)
        await site.start()
        taken: int = runner.addresses[0][1]
        yield f"{'https' if tls else 'http'}://127.0.0.1:{taken}"
    finally:
        await runner.cleanup()


def kubeconfig(url: str, token: str, user: str, *, ca: bytes | None = None) -> Json:
    """A kubeconfig for one user. `ca`: the PEM of the CA for an https URL (kubectl sends tokens over TLS only)."""
    cluster: Json = {"server": url}
    if ca is not None:
        cluster["certificate-authority-data"] = base64.b64encode(ca).decode()
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "preferences": {},
        "clusters": [{"name": _CLUSTER, "cluster": cluster}],
        "users": [{"name": user, "user": {"token": token}}],
        "contexts": [{"name": _CLUSTER, "context": {"cluster": _CLUSTER, "user": user}}],
        "current-context": _CLUSTER,
    }
