"""The whole simulator in one process: every face on 127.0.0.1, one world behind them."""

import asyncio
import gc
import json
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path

from simulator.calls import CallCounts
from simulator.children import ChildError
from simulator.clock import utc_now
from simulator.cluster import Cluster, embedded_cluster
from simulator.compute.quota import RateQuota
from simulator.compute.rest import compute_app
from simulator.control.event_path import event_path_routes
from simulator.control.face import ControlFace
from simulator.control.google import google_routes
from simulator.control.installation import installation_routes
from simulator.control.role import role_routes
from simulator.controlplane.binaries import MissingBinaryError
from simulator.controlplane.cluster import real_cluster
from simulator.controlplane.kubeconfigs import KubeconfigError
from simulator.event_path import EventPath, planned
from simulator.events import event_path, project_of
from simulator.faults import Faults
from simulator.guests import Guests, GuestSettings
from simulator.kube.serving import serving
from simulator.logging.face import LoggingFace
from simulator.logging.kinds import known_event
from simulator.logging.latency import Latency
from simulator.logging.router import LogRouter
from simulator.logging.sinks import SinkFace
from simulator.logging.vm_log import VmLog
from simulator.machines import MachineError, RealMachines
from simulator.machines.start import real_machines
from simulator.metadata.from_world import WorldMachines
from simulator.metadata.server import MetadataServer
from simulator.options import Face, SimulatorOptions
from simulator.permissions import Role, role_permissions
from simulator.project import Project
from simulator.pubsub.emulator import EmulatorError
from simulator.pubsub.topic import EventTopic
from simulator.rpc import serving as serving_rpc
from simulator.seams import Json, LogWriter
from simulator.timing import Timings
from simulator.world import World

__all__ = ["SimulatorOptions", "StartError", "announce", "run", "serve"]


async def serve(options: SimulatorOptions, ready: Callable[[Json], None]) -> None:
    """Serve until cancelled. `ready` is called once, with `{"env": {...}, "control": URL, "kubeconfig": PATH}`.

    Raises EmulatorError, and OSError when a port is taken. Leaves no task, socket, process or file.
    """
    async with _simulator(options) as described:
        # What was made so far stays: a full collection over it would stop every face for a while, now and then.
        gc.collect()
        gc.freeze()
        ready(described)
        await asyncio.Event().wait()


class StartError(Exception):
    """The simulator cannot start: a port is taken, or the emulator is not there. The message says which."""


def announce(described: Json) -> None:
    """Print the one JSON line that says where everything is."""
    sys.stdout.write(json.dumps(described) + "\n")
    sys.stdout.flush()


def run(options: SimulatorOptions, ready: Callable[[Json], None] = announce) -> None:
    """Serve until SIGINT or SIGTERM; `ready` as for `serve`. Raises StartError."""
    try:
        asyncio.run(_until_signalled(options, ready))
    except (EmulatorError, ChildError, MissingBinaryError, KubeconfigError, MachineError, OSError) as error:
        raise StartError(f"the simulator cannot start: {error}") from error


async def _until_signalled(options: SimulatorOptions, ready: Callable[[Json], None]) -> None:
    loop = asyncio.get_running_loop()
    serving_task = loop.create_task(serve(options, ready))
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, serving_task.cancel)
    await asyncio.wait([serving_task])
    if not serving_task.cancelled():
        serving_task.result()


@asynccontextmanager
async def _simulator(options: SimulatorOptions) -> AsyncIterator[Json]:
    """Build from the bottom up; the stack takes it down in the opposite order."""
    async with AsyncExitStack() as stack:
        yield await _Assembly(options, stack).build()


class _Assembly:
    """Puts the parts together: what each step makes is handed to the next."""

    def __init__(self, options: SimulatorOptions, stack: AsyncExitStack) -> None:
        self._options = options
        self._stack = stack
        self._calls = CallCounts()
        self._faults = Faults(known_event)
        self._path = EventPath(planned(options.installation) if options.installation else None)

    async def build(self) -> Json:
        """Start everything; what `ready` is told."""
        options, enter = self._options, self._stack.enter_async_context
        project = project_of(options, self._path)
        events = await enter(event_path(options, project, utc_now, self._calls, self._faults))
        router = self._router(events.topic, project)
        world = self._world(router)
        kubernetes = await enter(self._cluster())
        logging_face = LoggingFace(router, router.records, self._calls, self._faults, self._path)
        guests = await self._guests(world, kubernetes, VmLog(router, self._path), logging_face)
        sinks = SinkFace(project, self._calls, self._faults)
        logs = await enter(serving_rpc((logging_face.handlers(), sinks.handlers()), self._port("logging")))
        quota = RateQuota(utc_now, options.quota) if options.quota else None
        role = self._role()
        compute = compute_app(world, self._calls, self._faults, quota=quota, allowed=role.allows)
        compute_url = await enter(serving(compute, port=self._port("compute")))
        control = ControlFace(
            world,
            kubernetes.view,
            router.records,
            self._calls,
            self._faults,
            lambda: [*world.failures, *guests.failures],
        ).application(
            *logging_face.routes(),
            *role_routes(role),
            *event_path_routes(self._path),
            *installation_routes(project, events.broker),
            *google_routes(project, role, self._calls, self._faults),
        )
        control_url = await enter(serving(control, port=self._port("control")))
        environment = {
            "TPU_NODE_GROUP_PROJECT": options.installation.project if options.installation else options.project,
            "TPU_NODE_GROUP_SUBSCRIPTION": events.subscription,
            "TPU_NODE_GROUP_COMPUTE_ENDPOINT": compute_url,
            "TPU_NODE_GROUP_PUBSUB_ENDPOINT": events.endpoint,
            "TPU_NODE_GROUP_LOGGING_ENDPOINT": logs,
            "TPU_NODE_GROUP_APIS_ENDPOINT": control_url,
            "TPU_NODE_GROUP_KUBECONFIG": str(kubernetes.operator_kubeconfig),
        }
        return {"env": environment, "control": control_url, "kubeconfig": str(kubernetes.admin_kubeconfig)}

    def _cluster(self) -> AbstractAsyncContextManager[Cluster]:
        options, folder = self._options, self._folder()
        if options.control_plane == "embedded":
            return embedded_cluster(options, utc_now, folder, self._calls, self._faults)
        where = options.control_plane if isinstance(options.control_plane, Path) else None
        return real_cluster(where, utc_now, folder, crds=options.crds)

    def _folder(self) -> Path:
        if self._options.directory:
            self._options.directory.mkdir(parents=True, exist_ok=True)
            return self._options.directory
        return Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="tpu-node-group-")))

    def _role(self) -> Role:
        """What the operator's account may do: as planned, as told, or all that it should."""
        if made := self._options.installation:
            return Role(made.permissions, act_as=made.act_as)
        return Role(role_permissions() if self._options.permissions is None else self._options.permissions)

    def _port(self, face: Face) -> int:
        return self._options.ports.get(face, 0)

    def _router(self, topic: EventTopic, project: Project) -> LogRouter:
        seed = self._options.seed
        latency = Latency(seed, self._options.log_latency)
        router = LogRouter(utc_now, topic, self._faults, latency, path=self._path, exports=project.exports, seed=seed)
        self._stack.callback(router.close)
        return router

    def _world(self, router: LogRouter) -> World:
        options = self._options
        world = World(utc_now, Timings(scale=options.timings), router, options.world, seed=options.seed)
        self._stack.push_async_callback(world.close)
        for (zone, machine_type), available in options.capacity.items():
            world.set_capacity(zone, machine_type, available)
        return world

    async def _guests(
        self, world: World, kubernetes: Cluster, log: LogWriter, logging: LoggingFace
    ) -> Guests | RealMachines:
        """What runs in the VMs, and the metadata server that they ask, or their like on the wire."""
        machines = WorldMachines(world)
        metadata = MetadataServer(machines, self._calls, self._faults)
        await metadata.start(self._port("metadata"))
        self._stack.push_async_callback(metadata.stop)
        guests: Guests | RealMachines
        if self._options.real_join:
            kubeconfig = kubernetes.admin_kubeconfig
            guests = await real_machines(self._stack, machines, metadata, kubeconfig, logging.routes())
        else:
            settings = GuestSettings(scale=self._options.timings, kubelet_version=kubernetes.version)
            guests = Guests(machines, kubernetes.kubelets, log, utc_now, settings, seed=self._options.seed)
            self._stack.push_async_callback(guests.close)
        world.guests = guests
        return guests
