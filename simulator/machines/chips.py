"""google.com/tpu of real machines' Nodes: what a device plugin would have the kubelet say, as long as there is none.

Kubernetes lets an administrator advertise an extended resource in a Node's status; the kubelet keeps it until it starts
anew (https://kubernetes.io/docs/tasks/administer-cluster/extended-resource-node/).
"""

import asyncio
from contextlib import suppress
from typing import Final

import aiohttp

from controller.api.constants import LABEL_INSTANCE_ID, TPU_RESOURCE
from controller.api.topology import chips_per_host
from simulator.controlplane.client import Client, RefusedError
from simulator.kube.edit import dig
from simulator.kube.kubelet_objects import is_ready
from simulator.metadata.machines import Machine

_PAUSE: Final = 0.5
_MERGE: Final = "application/merge-patch+json"


class Chips:
    """Advertises as `admin`."""

    def __init__(self, admin: Client) -> None:
        self._admin = admin

    async def offer(self, machine: Machine) -> None:
        """Until cancelled: the chips of the Node of this very VM, whenever it is Ready and lacks them."""
        path = f"/api/v1/nodes/{machine.name}"
        chips = str(chips_per_host(machine.machine_type))
        while True:
            with suppress(RefusedError, aiohttp.ClientError, TimeoutError):
                node = await self._admin.find(path)
                if node is not None and is_ready(node) and _is_of(node, machine) and _chips(node) != chips:
                    amount = {TPU_RESOURCE: chips}
                    status = {"status": {"capacity": amount, "allocatable": amount}}
                    await self._admin.call("PATCH", f"{path}/status", status, _MERGE)
            await asyncio.sleep(_PAUSE)


def _is_of(node: dict[str, object], machine: Machine) -> bool:
    return bool(dig(node, ("metadata", "labels", LABEL_INSTANCE_ID)) == machine.id)


def _chips(node: dict[str, object]) -> object:
    return dig(node, ("status", "allocatable", TPU_RESOURCE))
