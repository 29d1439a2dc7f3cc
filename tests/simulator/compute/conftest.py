"""The Compute face on loopback, spoken to by the real google-cloud-compute client."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web

from simulator.compute.rest import compute_app
from simulator.timing import Timings
from simulator.world import World, WorldSettings
from tests.simulator.compute.bench import Bench, Calls, Faults, Log, Start, put_ready, wall

FAST = Timings(scale=0.05)


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    """A way to start benches: give settings, timings, quota, permissions."""
    stops: list[Callable[[], Awaitable[None]]] = []

    async def begin(settings: WorldSettings | None = None, *, timings: Timings = FAST, **face: Any) -> Bench:
        log, calls, faults = Log(), Calls(), Faults()
        world = World(wall, timings, log, settings, seed=7)
        runner = web.AppRunner(compute_app(world, calls, faults, **face), access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        bench = Bench(world, log, calls, faults, f"http://127.0.0.1:{port}")

        async def stop() -> None:
            for client in bench.clients.values():
                client.transport.close()
            await runner.cleanup()
            await world.close()
            assert world.failures == []

        stops.append(stop)
        return bench

    yield begin
    for stop in stops:
        await stop()


@pytest.fixture
async def bench(start: Start) -> Bench:
    """A world with a ready template and a 2x2x2 workload policy."""
    made = await start()
    put_ready(made)
    return made
