"""A simulated cluster in a thread of its own: kopf takes every task of its loop for its own, kubectl blocks."""

import asyncio
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import yaml

from simulator.calls import CallCounts
from simulator.clock import utc_now
from simulator.faults import Faults
from simulator.kube.authorization import Rbac
from simulator.kube.builtins import builtin_registry, create_default_namespaces
from simulator.kube.certificates import server_context
from simulator.kube.controllers import Authority, start_controllers
from simulator.kube.server import ServerSettings, kubernetes_app
from simulator.kube.serving import kubeconfig, serving
from simulator.kube.store import Store

T = TypeVar("T")
TOKEN = "token-of-admin"


@dataclass
class Cluster:
    """One running cluster. `call` runs a function in the server's thread."""

    store: Store
    calls: CallCounts = field(default_factory=CallCounts)
    faults: Faults = field(default_factory=lambda: Faults(lambda _name: False))
    users: dict[str, str] = field(default_factory=lambda: {TOKEN: "admin"})
    url: str = ""
    authority: Authority = field(default_factory=lambda: Authority.create(utc_now()))
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)

    def call(self, function: Callable[[], T]) -> T:
        async def inside() -> T:
            return function()

        return asyncio.run_coroutine_threadsafe(inside(), self.loop).result(10)

    def write_kubeconfig(self, folder: Path, token: str = TOKEN) -> Path:
        path = folder / "kubeconfig"
        path.write_text(yaml.safe_dump(kubeconfig(self.url, token, "admin", ca=self.authority.certificate.encode())))
        return path


@contextmanager
def running(
    settings: ServerSettings | None = None, *, history: int = 4096, superusers: Collection[str] | None = None
) -> Iterator[Cluster]:
    """Serve a new cluster, with its controllers, until the block ends.

    `superusers`: who may do everything, where others may do what roles grant; None: everybody may.
    """
    cluster = Cluster(Store(builtin_registry(), utc_now, history=history))
    ready, leave = threading.Event(), asyncio.Event()

    async def serve() -> None:
        create_default_namespaces(cluster.store)
        more: dict[str, Any] = {} if superusers is None else {"allows": Rbac(cluster.store, superusers)}
        app = kubernetes_app(
            cluster.store, users=cluster.users, calls=cluster.calls, faults=cluster.faults, settings=settings, **more
        )
        async with serving(app, server_context(cluster.authority, utc_now())) as cluster.url:
            controllers = start_controllers(cluster.store, cluster.authority, cluster.url)
            ready.set()
            await leave.wait()
            await controllers.stop()

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: cluster.loop) as runner:
            runner.run(serve())

    thread = threading.Thread(target=run, name="cluster")
    thread.start()
    assert ready.wait(10), "the cluster did not start"
    try:
        yield cluster
    finally:
        cluster.loop.call_soon_threadsafe(leave.set)
        thread.join(10)
