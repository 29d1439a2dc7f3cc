"""The courses that a VM's life takes: booting, stopping, restarting, going. One at a time per VM.

The states and their order are those of facts/GCE 2; how long each lasts is `Timings`.
"""

from collections.abc import Callable
from typing import Protocol

from simulator.world.build import early_attributes, instance_subject, late_attributes
from simulator.world.capacity import Capacity
from simulator.world.instance import Instance
from simulator.world.kernel import Kernel
from simulator.world.operations import Operation, Operations

__all__ = ["Courses", "Watcher"]


class Watcher(Protocol):
    """Who wants to hear of VMs: the groups."""

    def vm_moved(self, instance: Instance) -> None:
        """Its status changed."""
        ...

    def vm_stopped(self, instance: Instance) -> None:
        """It is TERMINATED, and Compute Engine will not restart it."""
        ...

    def vm_gone(self, instance: Instance) -> None:
        """It no longer exists."""
        ...


class Courses:
    """Moves VMs from state to state, tells guests of power and the watcher of moves."""

    def __init__(self, kernel: Kernel, operations: Operations, capacity: Capacity) -> None:
        self._kernel = kernel
        self._operations = operations
        self._capacity = capacity
        self._inserts = 0
        #: Inserts, starts and stops under way, by instance id.
        self._arrivals: dict[str, Operation] = {}
        #: Set by the world: the groups.
        self.watcher: Watcher | None = None
        #: Set by the register of VMs: strike one that is gone.
        self.strike: Callable[[Instance], None] = lambda _instance: None

    def begin_boot(self, instance: Instance, operation: Operation) -> None:
        """A new VM: PENDING to RUNNING, its insert DONE before or after that (facts: audit logs 4)."""
        self._inserts += 1
        choice = self._kernel.settings.insert_last
        before = choice == "before" or (choice == "alternate" and self._inserts % 2 == 0)
        self._arrivals[instance.id] = operation
        instance.course = self._kernel.spawn(self._boot(instance, done_before=before))

    def begin_stop(self, instance: Instance, operation: Operation | None = None) -> None:
        """RUNNING to TERMINATED, for good; the operation of a user's stop ends with it."""
        self._interrupt(instance)
        if operation is not None:
            self._arrivals[instance.id] = operation
        instance.course = self._kernel.spawn(self._stop(instance))

    def begin_start(self, instance: Instance, operation: Operation) -> None:
        """TERMINATED to RUNNING, because a user starts it; its operation ends there (sample 22)."""
        self._interrupt(instance)
        self._arrivals[instance.id] = operation
        instance.course = self._kernel.spawn(self._start(instance))

    def begin_restart(self, instance: Instance) -> None:
        """Down, then restarted by Compute Engine: same id, `automaticRestart` (sample 16), RUNNING again."""
        self._interrupt(instance)
        instance.course = self._kernel.spawn(self._restart(instance))

    def begin_delete(self, instance: Instance, operation: Operation | None) -> None:
        """STOPPING, then gone: the name answers 404 once the operation is DONE."""
        self._interrupt(instance)
        instance.deleting = True
        instance.course = self._kernel.spawn(self._delete(instance, operation))

    def power_cycle(self, instance: Instance) -> None:
        """A reset: the guest starts anew while the VM stays RUNNING."""
        self._kernel.guests.powered_off(instance.id)
        self._kernel.guests.powered_on(instance.id)

    def _interrupt(self, instance: Instance) -> None:
        if instance.course is not None:
            instance.course.cancel()
        # A VM whose course is taken over still ends the operation that set it on that course.
        self._arrived(instance)

    def _arrived(self, instance: Instance) -> None:
        operation = self._arrivals.pop(instance.id, None)
        if operation is not None:
            self._operations.finish(operation)

    def _move(self, instance: Instance, status: str) -> None:
        was, instance.status = instance.status, status
        kernel = self._kernel
        if status == "RUNNING":
            instance.last_start = kernel.now()
            kernel.history.running(instance.id)
            kernel.guests.powered_on(instance.id)
        elif was == "RUNNING":
            instance.last_stop = kernel.now()
            kernel.guests.powered_off(instance.id)
        if self.watcher is not None:
            self.watcher.vm_moved(instance)

    async def _boot(self, instance: Instance, *, done_before: bool) -> None:
        kernel, timings = self._kernel, self._kernel.timings
        await kernel.pause(timings.pending)
        self._move(instance, "PROVISIONING")
        await kernel.pause(timings.provisioning)
        if done_before:
            self._arrived(instance)
        await self._stage(instance)
        await kernel.pause(timings.insert_done_after)
        self._arrived(instance)

    async def _stage(self, instance: Instance) -> None:
        kernel = self._kernel
        self._move(instance, "STAGING")
        if kernel.settings.platform_attributes:
            instance.metadata.merge(early_attributes(instance))
        await kernel.pause(kernel.timings.staging)
        self._move(instance, "RUNNING")
        if kernel.settings.platform_attributes:
            kernel.spawn(self._write_late_attributes(instance))

    async def _write_late_attributes(self, instance: Instance) -> None:
        await self._kernel.pause(self._kernel.timings.platform_attributes)
        if not instance.gone:
            instance.metadata.merge(late_attributes(instance))

    async def _stop(self, instance: Instance) -> None:
        self._move(instance, "STOPPING")
        await self._kernel.pause(self._kernel.timings.stopping)
        self._release(instance)
        self._move(instance, "TERMINATED")
        self._arrived(instance)
        if self.watcher is not None:
            self.watcher.vm_stopped(instance)

    async def _start(self, instance: Instance) -> None:
        self._move(instance, "PROVISIONING")
        await self._kernel.pause(self._kernel.timings.provisioning)
        await self._stage(instance)
        self._arrived(instance)

    async def _restart(self, instance: Instance) -> None:
        kernel = self._kernel
        self._move(instance, "REPAIRING")
        await kernel.pause(kernel.timings.restart)
        subject = instance_subject(instance.project, instance.zone, instance.name, instance.id)
        self._operations.system_event("compute.instances.automaticRestart", subject, "")
        self._move(instance, "PROVISIONING")
        await kernel.pause(kernel.timings.provisioning)
        await self._stage(instance)

    async def _delete(self, instance: Instance, operation: Operation | None) -> None:
        self._move(instance, "STOPPING")
        await self._kernel.pause(self._kernel.timings.stopping)
        self._release(instance)
        instance.gone = True
        self.strike(instance)
        self._kernel.history.deleted(instance.id)
        instance.metadata.wake()
        if operation is not None:
            self._operations.finish(operation)
        instance.vanished.set()
        if self.watcher is not None:
            self.watcher.vm_gone(instance)

    def _release(self, instance: Instance) -> None:
        if instance.holds_capacity:
            instance.holds_capacity = False
            self._capacity.give_back(instance.zone, instance.machine_type)
