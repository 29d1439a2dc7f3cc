"""The managed instance groups: what calls do to them, and what happens to them when their VMs move."""

from collections.abc import Iterable, Sequence

from simulator.seams import Json
from simulator.world.audit import Caller, Subject
from simulator.world.catalog import Catalog, Entry
from simulator.world.errors import already_exists, invalid, invalid_field, not_found, not_ready
from simulator.world.group import Group, Slot, group_path
from simulator.world.instance import Instance
from simulator.world.keeper import Keeper
from simulator.world.kernel import Kernel
from simulator.world.machines import Machines
from simulator.world.names import last_segment, link, partial
from simulator.world.operations import Operation, Operations, Task
from simulator.world.refusals import check_group, check_name, gang_size

__all__ = ["Groups"]


class Groups:
    """All MIGs of the world. MIG operations are DONE when work is scheduled (facts: audit logs 0, item 5), deletes when
    the VMs are gone (facts: GCE 6.1)."""

    def __init__(
        self,
        kernel: Kernel,
        operations: Operations,
        machines: Machines,
        templates: Catalog,
        policies: Catalog,
        keeper: Keeper,
    ) -> None:
        self._kernel = kernel
        self._operations = operations
        self._machines = machines
        self._templates = templates
        self._policies = policies
        self._keeper = keeper
        self._all: dict[str, Group] = {}

    def get(self, path: str) -> Group:
        """Raises 404."""
        found = self._all.get(path)
        if found is None:
            raise not_found(path)
        return found

    def everything(self) -> list[Group]:
        """All groups, by path."""
        return [self._all[path] for path in sorted(self._all)]

    def of_zone(self, project: str, zone: str) -> list[Group]:
        """All groups of a zone, by name."""
        prefix = group_path(project, zone, "")
        return [group for group in self.everything() if group.path.startswith(prefix)]

    def body(self, group: Group) -> Json:
        """The REST resource."""
        return group.body(self._machines.by_id)

    def managed(self, group: Group) -> list[Json]:
        """The rows of listManagedInstances."""
        return group.managed(self._machines.by_id)

    def errors(self, group: Group) -> list[Json]:
        """The items of listErrors, newest last."""
        zone = f"projects/{group.project}/zones/{group.zone}"
        found = [(at, slot, fault) for slot in group.slots for fault, at in slot.errors]
        return [
            {
                "error": fault.item(),
                "instanceActionDetails": {"action": "CREATING", "instance": f"{zone}/instances/{slot.name}"},
                "timestamp": at.isoformat(),
            }
            for at, slot, fault in sorted(found, key=lambda item: item[0])
        ]

    def user_of(self, resource: str) -> str:
        """Path of a group that uses this template or policy, "" if none."""
        return next((g.path for g in self.everything() if resource in {g.template, g.policy}), "")

    def subject(self, path: str, group_id: str) -> Subject:
        """What entries about a group bear (sample 11)."""
        _, project, _, zone, _, name = path.split("/")
        labels = {"instance_group_manager_id": group_id, "instance_group_manager_name": name, "location": zone}
        service = "compute.instanceGroupManagers"
        return Subject(project, "gce_instance_group_manager", labels, path, zone, service)

    def insert(self, project: str, zone: str, body: Json, caller: Caller, request_id: str = "") -> Operation:
        """Create a group; raises 400, 404 and 409."""
        name = check_name(body)
        path = group_path(project, zone, name)
        if path in self._all:
            raise already_exists(path)
        template = self._named(self._templates, project, "instanceTemplate", str(body.get("instanceTemplate", "")))
        resource: Json = {**body, "instanceTemplate": link(template.path)}
        resource["versions"] = [{"instanceTemplate": link(template.path)}]
        policy = None
        if url := str((body.get("resourcePolicies") or {}).get("workloadPolicy", "")):
            policy = self._named(self._policies, project, "resourcePolicies.workloadPolicy", url)
            resource["resourcePolicies"] = {**body["resourcePolicies"], "workloadPolicy": link(policy.path)}
        properties = template.resource.get("properties") or {}
        check_group(body, properties, None if policy is None else policy.resource)
        group = Group(
            id=self._kernel.ids.numeric(),
            name=name,
            project=project,
            zone=zone,
            resource=resource,
            properties=properties,
            created=self._kernel.now(),
            joins=template.joins,
            topology=_topology(policy),
        )
        self._all[path] = group
        self._add_slots(group, int(body.get("targetSize", 0)))
        operation = self.begin(group, "insert", caller, body, request_id)
        self._kernel.spawn(self._schedule(group, operation, list(group.slots)))
        return operation

    def delete(self, path: str, caller: Caller, request_id: str = "") -> Operation:
        """Delete a group and its VMs; raises 404, and 400 while it is being deleted."""
        group = self.usable(path)
        group.deleting = True
        operation = self.begin(group, "delete", caller, {}, request_id)
        self._kernel.spawn(self._delete(group, operation))
        return operation

    def resize(self, path: str, size: int, caller: Caller, request_id: str = "") -> Operation:
        """Change the target size. BULK grows only from 0 and shrinks only to 0 (facts: TPU 1.4); raises 400, 404."""
        group = self.usable(path)
        if group.bulk and size and group.slots and size != len(group.slots):
            raise invalid("A group in BULK mode can be resized only from 0, or to 0.")
        if group.topology and size not in {0, gang_size(group.topology, str(group.properties["machineType"]))}:
            raise invalid_field("size", size, "Should be equal to the gang size.")
        operation = self.begin(group, "resize", caller, {"size": size}, request_id)
        leaving = group.slots[size:]
        added = self._add_slots(group, size - len(group.slots)) if size > len(group.slots) else []
        self._kernel.spawn(self._resize(group, operation, added, leaving))
        return operation

    def recreate(self, path: str, urls: Sequence[str], caller: Caller, request_id: str = "") -> Operation:
        """recreateInstances: each named VM is made anew under its name; raises 400, 404."""
        group = self.usable(path)
        slots = self.slots(group, urls)
        operation = self.begin(group, "recreateInstances", caller, {"instances": list(urls)}, request_id)
        for slot in slots:
            slot.action = "RECREATING"
            self._keeper.recreate(group, slot)
        self._kernel.spawn(self._schedule(group, operation, []))
        return operation

    def delete_instances(self, path: str, urls: Sequence[str], caller: Caller, request_id: str = "") -> Operation:
        """deleteInstances: the named VMs go and the target size with them; raises 400, 404."""
        group = self.usable(path)
        slots = self.slots(group, urls)
        operation = self.begin(group, "deleteInstances", caller, {"instances": list(urls)}, request_id)
        self._kernel.spawn(self._resize(group, operation, [], slots))
        return operation

    # What the VMs' lives do to their groups (courses.Watcher).

    def vm_moved(self, instance: Instance) -> None:
        """A VM's status changed."""
        group, slot = self._home(instance)
        if group is None or slot is None:
            return
        if instance.status == "RUNNING" and slot.action in {"CREATING", "RECREATING"}:
            slot.action = "NONE"
            slot.errors.clear()
        self._keeper.follow_topology(group)

    def vm_stopped(self, instance: Instance) -> None:
        """A VM stopped for good: repaired only under REPAIR (facts: GCE 6.2)."""
        group, slot = self._home(instance)
        if group is not None and slot is not None and group.repairs and not group.deleting:
            self._keeper.repair(group, slot, "instance should be RUNNING, but is STOPPING")

    def vm_gone(self, instance: Instance) -> None:
        """A VM is gone that the group did not delete: made anew only under REPAIR."""
        group, slot = self._home(instance)
        if group is None or slot is None:
            return
        self._keeper.follow_topology(group)
        if slot.action == "CREATING":
            slot.action = "NONE"
        if slot.action == "NONE" and group.repairs and not group.deleting:
            self._keeper.repair(group, slot, "it doesn't exist")

    def repair(self, instance: Instance) -> None:
        """The group re-creates a VM by itself; raises 400 for a VM of no group."""
        group, slot = self._home(instance)
        if group is None or slot is None:
            raise invalid(f"'{instance.path}' belongs to no managed instance group.")
        self._keeper.repair(group, slot, "health status is TIMEOUT")

    def _home(self, instance: Instance) -> tuple[Group | None, Slot | None]:
        group = self._all.get(instance.group)
        slot = None if group is None else group.slot_of(instance.name)
        return group, slot if slot is not None and slot.instance_id == instance.id else None

    def usable(self, path: str) -> Group:
        """A group that is not being deleted; raises 404, 400."""
        group = self.get(path)
        if group.deleting:
            raise not_ready(path)
        return group

    def _named(self, catalog: Catalog, project: str, where: str, url: str) -> Entry:
        """What a full or partial URL names; a partial one may leave out its project."""
        if "/" not in url:
            raise invalid_field(f"resource.{where}", url, "The URL is malformed.")
        path = partial(url)
        if not path.startswith("projects/"):
            path = f"projects/{project}/{path}"
        entry = catalog.find(path)
        if entry is None:
            raise not_found(path)
        if not entry.ready or entry.deleting:
            raise not_ready(entry.path)
        return entry

    def slots(self, group: Group, urls: Sequence[str]) -> list[Slot]:
        """The places that these URLs name; raises 400."""
        found: list[Slot] = []
        for url in urls:
            slot = group.slot_of(last_segment(url))
            if slot is None:
                raise invalid_field("instances", url, f"Not a member of '{group.path}'.")
            found.append(slot)
        return found

    def _add_slots(self, group: Group, count: int) -> list[Slot]:
        added: list[Slot] = []
        for _ in range(count):
            name = self._kernel.ids.suffix((slot.name for slot in group.slots), group.base_name)
            slot = Slot(name, index=max((other.index for other in group.slots), default=-1) + 1)
            group.slots.append(slot)
            added.append(slot)
        group.slots.sort(key=lambda slot: slot.name)
        return added

    def begin(self, group: Group, verb: str, caller: Caller, request: Json, request_id: str) -> Operation:
        """Accept an operation on a group; `end` it when it is done."""
        group.busy += 1
        subject = self.subject(group.path, group.id)
        permission = {"insert": "create", "delete": "delete"}.get(verb, "update")
        prefix = "compute.instanceGroupManagers"
        task = Task(f"{prefix}.{verb}", subject, group.id, caller, f"{prefix}.{permission}", request, request_id)
        return self._operations.start(task)

    def end(self, group: Group, operation: Operation) -> None:
        """The group's operation is DONE."""
        group.busy -= 1
        self._operations.finish(operation)

    async def _schedule(self, group: Group, operation: Operation, slots: list[Slot]) -> None:
        kernel = self._kernel
        await kernel.pause(kernel.timings.group_scheduling)
        if not group.deleting:
            self._keeper.fill(group, slots)
        await kernel.pause(kernel.timings.operation_running)
        self.end(group, operation)

    async def _resize(self, group: Group, operation: Operation, added: list[Slot], leaving: list[Slot]) -> None:
        if leaving:
            await self._keeper.empty(group, leaving)
            self._drop(group, leaving)
        await self._schedule(group, operation, added)

    async def _delete(self, group: Group, operation: Operation) -> None:
        await self._kernel.pause(self._kernel.timings.group_scheduling)
        for work in (group.work, group.topology_work):
            if work is not None:
                work.cancel()
        await self._keeper.empty(group, group.slots)
        await self._kernel.pause(self._kernel.timings.operation_running)
        del self._all[group.path]
        self.end(group, operation)

    def _drop(self, group: Group, leaving: Iterable[Slot]) -> None:
        gone = set(map(id, leaving))
        group.slots = [slot for slot in group.slots if id(slot) not in gone]


def _topology(policy: Entry | None) -> str:
    if policy is None:
        return ""
    return str((policy.resource.get("workloadPolicy") or {}).get("acceleratorTopology", ""))
