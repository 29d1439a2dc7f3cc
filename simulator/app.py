"""The whole simulator in one process: every face on 127.0.0.1, one world behind them."""

import asyncio
import json
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from simulator.calls import CallCounts
from simulator.clock import utc_now
from simulator.cluster import cluster
from simulator.compute.quota import RateQuota
from simulator.compute.rest import compute_app
from simulator.control.face import ControlFace
from simulator.events import event_path
from simulator.faults import Faults
from simulator.kube.serving import serving
from simulator.kube.snapshot import ClusterView
from simulator.logging.face import LoggingFace
from simulator.logging.kinds import known_event
from simulator.logging.latency import Latency
from simulator.logging.router import LogRouter
from simulator.metadata.from_world import WorldMachines
from simulator.metadata.server import MetadataServer
from simulator.options import SimulatorOptions
from simulator.pubsub.emulator import EmulatorError
from simulator.rpc import serving as serving_rpc
from simulator.seams import Json
from simulator.timing import Timings
from simulator.world import World

__all__ = ["SimulatorOptions", "run", "serve"]


async def serve(options: SimulatorOptions, ready: Callable[[Json], None]) -> None:
    """Serve until cancelled. `ready` is called once, with `{"env": {...}, "control": URL, "kubeconfig": PATH}`.

    Raises EmulatorError, and OSError or RuntimeError when a port is taken. Leaves no task, socket, process or file.
    """
    async with _simulator(options) as described:
        ready(described)
        await asyncio.Event().wait()


def run(options: SimulatorOptions) -> int:
    """Serve until SIGINT or SIGTERM; prints the one JSON line when ready. Returns the exit code."""
    try:
        asyncio.run(_until_signalled(options))
    except (EmulatorError, OSError, RuntimeError) as error:
        sys.stderr.write(f"The simulator cannot start: {error}\n")
        return 1
    return 0


async def _until_signalled(options: SimulatorOptions) -> None:
    loop = asyncio.get_running_loop()
    serving_task = loop.create_task(serve(options, _print))
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, serving_task.cancel)
    await asyncio.wait([serving_task])
    if not serving_task.cancelled():
        serving_task.result()


def _print(described: Json) -> None:
    sys.stdout.write(json.dumps(described) + "\n")
    sys.stdout.flush()


@asynccontextmanager
async def _simulator(options: SimulatorOptions) -> AsyncIterator[Json]:
    """Build from the bottom up; the stack takes it down in the opposite order."""
    calls, faults = CallCounts(), Faults(known_event)
    ports = options.ports
    async with AsyncExitStack() as stack:
        folder = options.directory or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tpu-node-group-")))
        events = await stack.enter_async_context(event_path(options, utc_now, calls, faults))
        router = LogRouter(utc_now, events.topic, faults, Latency(options.seed, options.log_latency), seed=options.seed)
        stack.callback(router.close)
        world = World(utc_now, Timings(scale=options.timings), router, options.world, seed=options.seed)
        stack.push_async_callback(world.close)
        for (zone, machine_type), available in options.capacity.items():
            world.set_capacity(zone, machine_type, available)
        kubernetes = await stack.enter_async_context(cluster(options, utc_now, folder, calls, faults))
        metadata = MetadataServer(WorldMachines(world), calls, faults)
        await metadata.start(ports.get("metadata", 0))
        stack.push_async_callback(metadata.stop)
        quota = RateQuota(utc_now, options.quota) if options.quota else None
        compute = await stack.enter_async_context(
            serving(compute_app(world, calls, faults, quota=quota), port=ports.get("compute", 0))
        )
        logging_face = LoggingFace(router, router.records, calls, faults)
        logs = await stack.enter_async_context(serving_rpc((logging_face.handlers(),), ports.get("logging", 0)))
        face = ControlFace(world, ClusterView(kubernetes.store), router.records, calls, faults)
        control = await stack.enter_async_context(
            serving(face.application(*logging_face.routes()), port=ports.get("control", 0))
        )
        yield {
            "env": {
                "TPU_NODE_GROUP_PROJECT": options.project,
                "TPU_NODE_GROUP_SUBSCRIPTION": events.subscription,
                "TPU_NODE_GROUP_COMPUTE_ENDPOINT": compute,
                "TPU_NODE_GROUP_PUBSUB_ENDPOINT": events.endpoint,
                "TPU_NODE_GROUP_LOGGING_ENDPOINT": logs,
                "TPU_NODE_GROUP_KUBECONFIG": str(kubernetes.operator_kubeconfig),
            },
            "control": control,
            "kubeconfig": str(kubernetes.admin_kubeconfig),
        }
