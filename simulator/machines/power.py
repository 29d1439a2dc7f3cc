"""The power of all VMs that are real machines: what the world says is on has a machine, and no other.

Each has its own metadata server at its address, the Logging API, and the control plane; it reaches nothing else.
"""

import asyncio
import shutil
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

from simulator.machines.chips import Chips
from simulator.machines.folders import own_folder, sweep
from simulator.machines.machine import Image, MachineError, Powered, powered
from simulator.machines.network import forward, listen_in
from simulator.metadata.machines import Machine, Machines
from simulator.metadata.server import MetadataServer

_METADATA: Final = "169.254.169.254"
_LOGGING: Final = "169.254.169.253"
#: Where the control plane is heard in a VM, at its own port: so its endpoint may be written in any of these ways.
_CONTROL_PLANE: Final = ("127.0.0.1", "::1")


class RealMachines:
    """Implements `seams.GuestHost`. Lives on one event loop; `close()` powers all off and removes their disks.

    `logging` and `control_plane` say where the Logging API over REST is, and the Kubernetes API, as host and port.
    `chips`: who advertises their chips; None, nobody does.
    """

    def __init__(
        self,
        machines: Machines,
        metadata: MetadataServer,
        image: Image,
        chips: Chips | None,
        *,
        logging: tuple[str, int],
        control_plane: tuple[str, int],
    ) -> None:
        """Raises OSError where there is no room for the disks."""
        self._machines = machines
        self._metadata = metadata
        self._chips = chips
        self._logging = logging
        self._control_plane = control_plane
        self._stack = AsyncExitStack()
        sweep()
        self.folder: Path = self._stack.enter_context(own_folder())
        image.install(self.folder / "image")
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._ending: set[asyncio.Task[None]] = set()
        #: Errors of the simulator itself: a test asserts that there are none.
        self.failures: list[BaseException] = []

    def powered_on(self, instance_id: str) -> None:
        """The VM reached RUNNING: the machine starts, with the disk that this VM had before."""
        before = self._cut(instance_id)
        task = asyncio.get_running_loop().create_task(self._run(instance_id, before), name=f"machine {instance_id}")
        self._tasks[instance_id] = task
        task.add_done_callback(self._ended)

    def powered_off(self, instance_id: str) -> None:
        """Everything in the VM stops at once."""
        self._cut(instance_id)

    def disk(self, instance_id: str) -> Path:
        """Where the files of a VM are, as seen from outside."""
        return self.folder / instance_id / "disk"

    async def close(self) -> None:
        """Power all off, wait for their end, and remove their disks."""
        for instance_id in list(self._tasks):
            self._cut(instance_id)
        await asyncio.gather(*self._ending, return_exceptions=True)
        await self._stack.aclose()

    def _cut(self, instance_id: str) -> asyncio.Task[None] | None:
        task = self._tasks.pop(instance_id, None)
        if task is not None:
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)
            task.cancel()
        return task

    async def _run(self, instance_id: str, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await asyncio.wait([before])
        machine = self._machines.machine(instance_id)
        if machine is None:
            return
        folder = self.folder / instance_id
        folder.mkdir(exist_ok=True)
        try:
            if not (folder / "image").exists():
                (folder / "image").symlink_to(self.folder / "image")
            async with powered(folder, machine.name, machine.address) as power, AsyncExitStack() as served:
                await self._serve(machine, power, served)
                power.go()
                if self._chips is not None:
                    served.push_async_callback(_cancelled, asyncio.ensure_future(self._chips.offer(machine)))
                code = await power.process.wait()
                raise MachineError(f"the machine {machine.name} ended by itself, with code {code}")
        finally:
            self._forget_disks()

    def _forget_disks(self) -> None:
        """Remove the disks of deleted VMs: an id is never used again."""
        for folder in self.folder.glob("[0-9]*"):
            if self._machines.machine(folder.name) is None and folder.name not in self._tasks:
                shutil.rmtree(folder, ignore_errors=True)

    async def _serve(self, machine: Machine, power: Powered, served: AsyncExitStack) -> None:
        """All that the VM can reach, in its own network."""
        runner = await self._metadata.attach(machine.id, listen_in(power.network, _METADATA, 80))
        served.push_async_callback(runner.cleanup)
        places: Sequence[tuple[str, int, tuple[str, int]]] = [
            (_LOGGING, 80, self._logging),
            *((address, self._control_plane[1], self._control_plane) for address in _CONTROL_PLANE),
        ]
        for address, port, target in places:
            server = await forward(listen_in(power.network, address, port), *target)
            served.callback(server.close)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self.failures.append(error)
            context = {"message": f"{task.get_name()} failed", "exception": error, "task": task}
            asyncio.get_running_loop().call_exception_handler(context)


async def _cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])
