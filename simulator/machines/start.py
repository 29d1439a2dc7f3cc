"""Puts real machines together with the simulator that powers them on: what they run, and what they can reach."""

import asyncio
from collections.abc import Iterable
from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from aiohttp import web

from simulator.controlplane.binaries import binary
from simulator.controlplane.kubeconfigs import connected, read
from simulator.kube.serving import serving
from simulator.machines.chips import Chips
from simulator.machines.machine import Image, MachineError, why_not
from simulator.machines.power import RealMachines
from simulator.metadata.machines import Machines
from simulator.metadata.server import MetadataServer


async def real_machines(
    stack: AsyncExitStack,
    machines: Machines,
    metadata: MetadataServer,
    admin_kubeconfig: Path,
    logging: Iterable[web.RouteDef],
) -> RealMachines:
    """Machines that join the cluster of this kubeconfig, whose API server must listen on an address of this machine.

    `logging`: the REST routes of the Logging API. Closed with the stack. Raises MachineError where this machine cannot
    have them, MissingBinaryError where kubeadm, the kubelet or the runtime was not built.
    """
    reason = why_not()
    if reason is not None:
        raise MachineError(reason)
    image = Image(kubeadm=binary("kubeadm"), kubelet=binary("kubelet"), runtime=binary("criserver"))
    access = await asyncio.to_thread(read, admin_kubeconfig)
    chips = Chips(await stack.enter_async_context(connected(access)))
    application = web.Application()
    application.add_routes(logging)
    rest = urlsplit(await stack.enter_async_context(serving(application)))
    server = urlsplit(access.url)
    power = RealMachines(machines, metadata, image, chips, logging=_place(rest), control_plane=_place(server))
    stack.push_async_callback(power.close)
    return power


def _place(url: SplitResult) -> tuple[str, int]:
    assert url.hostname is not None
    return url.hostname, url.port or 443
