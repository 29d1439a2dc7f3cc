"""What a group does by itself: make its VMs, wait for capacity, repair, follow its topology's state.

It acts as the group's agent (principal NUMBER@cloudservices..., facts: audit logs 2); repairs happen only under
REPAIR (facts: GCE 6.2).
"""

from collections.abc import Iterable

from simulator.world.audit import group_agent
from simulator.world.build import Build, instance_subject
from simulator.world.capacity import Capacity
from simulator.world.group import Group, Slot
from simulator.world.instance import Instance, instance_path
from simulator.world.kernel import Kernel
from simulator.world.machines import Machines
from simulator.world.operations import Operations

__all__ = ["Keeper"]


class Keeper:
    """Keeps groups as they should be. Every piece of work belongs to a slot or a group and ends with it."""

    def __init__(self, kernel: Kernel, operations: Operations, machines: Machines, capacity: Capacity) -> None:
        self._kernel = kernel
        self._operations = operations
        self._machines = machines
        self._capacity = capacity

    def fill(self, group: Group, slots: Iterable[Slot]) -> None:
        """Begin to make the VMs of new slots: together in BULK, each by itself otherwise."""
        wanted = list(slots)
        if group.bulk:
            group.bulk_waiting = bool(wanted)
            group.work = self._kernel.spawn(self._fill_together(group, wanted))
            return
        for slot in wanted:
            slot.work = self._kernel.spawn(self._fill_one(group, slot))

    def repair(self, group: Group, slot: Slot, why: str) -> None:
        """Begin to make a slot's VM anew."""
        if slot.work is not None:
            slot.work.cancel()
        slot.work = self._kernel.spawn(self._repair(group, slot, why))

    def recreate(self, group: Group, slot: Slot) -> None:
        """Make a slot's VM anew because a caller asked: no repair event."""
        if slot.work is not None:
            slot.work.cancel()
        slot.work = self._kernel.spawn(self._recreate(group, slot))

    async def empty(self, group: Group, slots: Iterable[Slot]) -> None:
        """Delete the VMs of these slots and return when they are gone."""
        leaving: list[Instance] = []
        for slot in slots:
            slot.action = "DELETING"
            if slot.work is not None:
                slot.work.cancel()
            instance = self._machines.by_id(slot.instance_id)
            if instance is not None:
                leaving.append(instance)
                self._delete(group, instance)
        for instance in leaving:
            await instance.vanished.wait()

    def follow_topology(self, group: Group) -> None:
        """Bring the slice's topology up when every host runs, down when one does not (facts: GCE 2)."""
        if not group.topology:
            return
        found = [self._machines.by_id(slot.instance_id) for slot in group.slots]
        complete = all(vm is not None and vm.status == "RUNNING" for vm in found)
        if not complete:
            if group.topology_work is not None:
                group.topology_work.cancel()
                group.topology_work = None
            group.topology_state = "INCOMPLETE"
        elif group.topology_state == "INCOMPLETE":
            group.topology_state = "REACTIVATING" if group.topology_was_active else "ACTIVATING"
            group.topology_work = self._kernel.spawn(self._activate(group))

    async def _activate(self, group: Group) -> None:
        await self._kernel.pause(self._kernel.timings.topology)
        group.topology_state, group.topology_was_active = "ACTIVE", True

    async def _fill_together(self, group: Group, slots: list[Slot]) -> None:
        """All VMs or none: a shortage shows in bulkInstanceOperation, not as failed inserts (GCE 2, inference)."""
        while wanted := [slot for slot in slots if slot.action == "CREATING"]:
            machine_type = self._build(group, wanted[0]).machine_type
            if self._capacity.take(group.zone, machine_type, len(wanted)):
                break
            group.bulk_check = (self._machines.stockout(group.zone, machine_type), self._kernel.now())
            await self._kernel.pause(self._kernel.timings.retry, at_least=0.05)
        group.bulk_check = (None, self._kernel.now())
        for slot in wanted:
            self._make(group, slot)
        group.bulk_waiting = False

    async def _fill_one(self, group: Group, slot: Slot) -> None:
        """A MIG retries: failed inserts of the same name until there is room (facts: audit logs 2)."""
        build = self._build(group, slot)
        while not self._capacity.take(group.zone, build.machine_type, 1):
            fault = self._machines.stockout(group.zone, build.machine_type)
            self._machines.fail_to_create(build, fault)
            slot.errors.append((fault, self._kernel.now()))
            await self._kernel.pause(self._kernel.timings.retry, at_least=0.05)
        self._make(group, slot)

    def _make(self, group: Group, slot: Slot) -> None:
        instance = self._machines.create(self._build(group, slot), holds_capacity=True)
        slot.instance_id = instance.id

    async def _repair(self, group: Group, slot: Slot, why: str) -> None:
        await self._kernel.pause(self._kernel.timings.repair)
        slot.action = "RECREATING"
        subject = instance_subject(group.project, group.zone, slot.name, slot.instance_id or "0")
        text = (
            f"Instance Group Manager '{group.path}' initiated recreateInstance on instance "
            f"'{instance_path(group.project, group.zone, slot.name)}'. Reason: {why}."
        )
        metadata = {"instance_group_manager_name": group.name, "instance_group_manager_id": group.id}
        method = "compute.instances.repair.recreateInstance"
        self._operations.system_event(method, subject, text, metadata, prefix="repair")
        await self._recreate(group, slot)

    async def _recreate(self, group: Group, slot: Slot) -> None:
        slot.action = "RECREATING"
        instance = self._machines.by_id(slot.instance_id)
        if instance is not None:
            self._delete(group, instance)
            await instance.vanished.wait()
        slot.instance_id = ""
        await self._fill_one(group, slot)

    def _delete(self, group: Group, instance: Instance) -> None:
        if not instance.deleting:
            self._machines.delete(instance.path, group_agent(group.project))

    def _build(self, group: Group, slot: Slot) -> Build:
        return Build(
            project=group.project,
            zone=group.zone,
            name=slot.name,
            properties=group.properties,
            caller=group_agent(group.project),
            group=group.path,
            group_id=group.id,
            joins=group.joins,
            index=slot.index,
            metadata=group.shared_metadata,
        )
