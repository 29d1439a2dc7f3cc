"""A kubelet: registered once at each start, then one task that sleeps until the next heartbeat is due.

It posts its status at once after a start, on each change, and every five minutes; its lease every ten seconds. A
Node that is deleted under a running kubelet stays deleted until the kubelet starts again (facts: TPU 4).
"""

import asyncio
from collections.abc import Mapping

from controller.api.constants import TPU_RESOURCE
from controller.api.topology import chips_per_host
from simulator.guests.settings import GuestSettings
from simulator.metadata.machines import Machine
from simulator.seams import Kubernetes, Now
from simulator.timing import Dice


class Kubelet:
    """The kubelet of one VM. `run` does not return."""

    def __init__(
        self, machine: Machine, kubernetes: Kubernetes, now: Now, settings: GuestSettings, dice: Dice, beat: Dice
    ) -> None:
        """`dice` draws what is scaled, `beat` the heartbeats, which are not."""
        self._name = machine.name
        self._chips = str(chips_per_host(machine.machine_type))
        self._kubernetes = kubernetes
        self._now = now
        self._settings = settings
        self._dice = dice
        self._beat = beat

    async def run(self) -> None:
        """From registration on: NotReady, Ready, with chips; then heartbeats for ever."""
        none = {TPU_RESOURCE: "0"}
        await self._post(ready=False, allocatable={})
        await asyncio.sleep(self._dice.seconds(self._settings.ready))
        await self._post(ready=True, allocatable=none)
        await asyncio.sleep(self._dice.seconds(self._settings.device_plugin))
        await self._beat_for_ever({TPU_RESOURCE: self._chips})

    async def _beat_for_ever(self, allocatable: Mapping[str, str]) -> None:
        loop, settings = asyncio.get_running_loop(), self._settings
        status_due = lease_due = loop.time()
        while True:
            if loop.time() >= status_due:
                await self._post(ready=True, allocatable=allocatable)
                status_due = loop.time() + self._beat.seconds(settings.status)
            if loop.time() >= lease_due:
                await self._kubernetes.renew_lease(self._name, self._now())
                lease_due = loop.time() + self._beat.seconds(settings.lease)
            await asyncio.sleep(min(status_due, lease_due) - loop.time())

    async def _post(self, *, ready: bool, allocatable: Mapping[str, str]) -> None:
        await self._kubernetes.post_status(self._name, ready=ready, allocatable=allocatable, at=self._now())
