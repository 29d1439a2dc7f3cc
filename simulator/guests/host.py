"""The guests of all VMs: one task for each that is powered on, one disk for each that exists.

A guest does what the startup script does (`controller/core/startup.sh`), in the process and without HTTP: it waits for
its metadata to change, never polls. Power off ends everything in it at once.
"""

import asyncio
import contextlib
from dataclasses import dataclass

from simulator.guests.attributes import join_request, own_request, token_of
from simulator.guests.kubelet import Kubelet
from simulator.guests.reports import Reporter
from simulator.guests.settings import GuestSettings
from simulator.metadata.machines import Machine, Machines
from simulator.seams import JoinRefusedError, JoinRequest, Kubernetes, LogWriter, Now
from simulator.timing import Dice, Span


@dataclass(slots=True)
class _Disk:
    """What survives a stop and a reset: the kubelet's configuration and credentials, once joined."""

    joined: JoinRequest | None = None


class Guests:
    """Implements `seams.GuestHost`. Lives on one event loop; `close()` powers all guests off."""

    def __init__(
        self,
        machines: Machines,
        kubernetes: Kubernetes,
        log: LogWriter,
        now: Now,
        settings: GuestSettings | None = None,
        *,
        seed: int = 0,
    ) -> None:
        self._machines = machines
        self._kubernetes = kubernetes
        self._reporter = Reporter(log)
        self._now = now
        self._settings = settings or GuestSettings()
        self._dice = Dice(seed, self._settings.scale)
        self._beat = Dice(seed)
        self._disks: dict[str, _Disk] = {}
        self._many_disks = 64
        self._tasks: dict[str, asyncio.Task[None]] = {}
        #: Errors of the simulator itself: a test asserts that there are none.
        self.failures: list[BaseException] = []

    def powered_on(self, instance_id: str) -> None:
        """The VM reached RUNNING: its operating system boots."""
        self.powered_off(instance_id)
        self._forget_disks()
        disk = self._disks.setdefault(instance_id, _Disk())
        task = asyncio.get_running_loop().create_task(self._run(instance_id, disk), name=f"guest {instance_id}")
        self._tasks[instance_id] = task
        task.add_done_callback(self._ended)

    def powered_off(self, instance_id: str) -> None:
        """Everything in the VM stops at once."""
        task = self._tasks.pop(instance_id, None)
        if task is not None:
            task.cancel()

    async def close(self) -> None:
        """Power all guests off and wait for their end."""
        tasks = list(self._tasks.values())
        for instance_id in list(self._tasks):
            self.powered_off(instance_id)
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, instance_id: str, disk: _Disk) -> None:
        await self._pause(self._settings.boot)
        machine = self._machines.machine(instance_id)
        if machine is None:
            return
        if machine.joins_by_itself:
            disk.joined = own_request(machine, self._settings.kubelet_version)
            await self._pause(self._settings.join)
            await self._kubernetes.register(disk.joined)
        else:
            self._reporter.report(machine, "booted")
            if disk.joined is not None:
                # It does not join again: the kubelet finds its credentials.
                await self._kubernetes.register(disk.joined)
            else:
                joined = await self._start_up(machine)
                if joined is None:
                    return
                machine, disk.joined = joined
            self._reporter.report(machine, "joined")
        await Kubelet(machine, self._kubernetes, self._now, self._settings, self._dice, self._beat).run()

    async def _start_up(self, machine: Machine) -> tuple[Machine, JoinRequest] | None:
        """The startup script up to the join; None when the VM was deleted meanwhile."""
        await self._pause(self._settings.prepare)
        self._reporter.report(machine, "waiting")
        tried = failed = ""
        waiting = await self._with_token(self._machines.machine(machine.id))
        while waiting is not None:
            machine = waiting
            if token_of(machine) != tried:
                tried, failed = token_of(machine), ""
                self._reporter.report(machine, "joining")
            try:
                return machine, await self._join(machine)
            except JoinRefusedError as refused:
                # Said once for each reason, not every five seconds.
                if str(refused) != failed:
                    failed = str(refused)
                    self._reporter.report(machine, "failed", failed)
            waiting = await self._with_token(await self._changed_or_due(machine))
        return None

    async def _join(self, machine: Machine) -> JoinRequest:
        request = join_request(machine, self._settings.kubelet_version)
        await self._pause(self._settings.join)
        await self._kubernetes.join(request)
        return request

    async def _with_token(self, machine: Machine | None) -> Machine | None:
        """The VM as soon as its metadata has a token."""
        while machine is not None and not token_of(machine):
            machine = await self._machines.changed(machine)
        return machine

    async def _changed_or_due(self, machine: Machine) -> Machine | None:
        """The VM after the retry interval, or as soon as its metadata changes."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._beat.seconds(self._settings.retry)):
                return await self._machines.changed(machine)
        return self._machines.machine(machine.id)

    def _forget_disks(self) -> None:
        """Drop the disks of deleted VMs now and then: an id is never used again."""
        if len(self._disks) > self._many_disks:
            self._disks = {key: disk for key, disk in self._disks.items() if self._machines.machine(key) is not None}
            self._many_disks = 2 * len(self._disks) + 64

    async def _pause(self, span: Span) -> None:
        await asyncio.sleep(self._dice.seconds(span))

    def _ended(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self.failures.append(error)
            context = {"message": f"{task.get_name()} failed", "exception": error, "task": task}
            asyncio.get_running_loop().call_exception_handler(context)
