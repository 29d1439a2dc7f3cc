"""One real control plane for all tests that need it: started with the first of them, ended with the last.

In a thread with an event loop of its own: the loops of tests come and go, and its processes die with their starter.
"""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from controller.api.crd import crd_manifests
from simulator.controlplane.control_plane import ControlPlane, ControlPlaneSettings, control_plane


@dataclass(frozen=True, slots=True)
class RealPlane:
    """Where it is; `kubeconfig` is its administrator's."""

    kubeconfig: Path
    url: str
    _server: "_Server" = field(repr=False)

    async def forget(self) -> None:
        """Make the API server forget what watches and pages could have been resumed from; it restarts for that."""
        plane = self._server.plane
        assert plane is not None
        etcd = plane.place.etcd_url
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_restarted(plane), self._server.loop))
        async with aiohttp.ClientSession(etcd, raise_for_status=True) as session:
            async with session.post("/v3/maintenance/status", json={}) as answer:
                revision = (await answer.json())["header"]["revision"]
            async with session.post("/v3/kv/compaction", json={"revision": revision, "physical": True}) as answer:
                await answer.read()

    @property
    def port(self) -> int:
        """The API server's port."""
        return int(self.url.rpartition(":")[2])


async def _restarted(plane: ControlPlane) -> None:
    await plane.restart_api_server()


@dataclass
class _Server:
    folder: Path
    settings: ControlPlaneSettings
    ready: threading.Event = field(default_factory=threading.Event)
    leave: asyncio.Event = field(default_factory=asyncio.Event)
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    plane: ControlPlane | None = None
    failure: BaseException | None = None

    def run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self.loop) as runner:
                runner.run(self._serve())
        except BaseException as error:  # noqa: BLE001 - raised in the thread that waits
            self.failure = error
        finally:
            self.ready.set()

    async def _serve(self) -> None:
        async with control_plane(self.folder, self.settings) as self.plane:
            self.ready.set()
            await self.leave.wait()


@contextmanager
def running_plane(folder: Path) -> Iterator[RealPlane]:
    """A control plane with our CRDs, until the block ends."""
    # The controllers collect the garbage of kinds that are there when they start; of others half a minute later.
    server = _Server(folder, ControlPlaneSettings(manifests=crd_manifests()))
    thread = threading.Thread(target=server.run, name="control plane")
    thread.start()
    server.ready.wait()
    try:
        if server.failure is not None:
            raise server.failure
        assert server.plane is not None
        yield RealPlane(server.plane.kubeconfig, server.plane.url, server)
    finally:
        if not server.loop.is_closed():
            server.loop.call_soon_threadsafe(server.leave.set)
        thread.join()
