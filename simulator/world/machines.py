"""The VMs that there are, and what calls do to them. How they live is `courses`; which there should be is `groups`."""

from collections.abc import Mapping
from dataclasses import replace

from controller.api.constants import KEY_JOIN_TOKEN
from simulator.seams import Json
from simulator.world.audit import Caller
from simulator.world.build import Build, instance_subject, make_instance, member_link
from simulator.world.capacity import Capacity
from simulator.world.courses import Courses
from simulator.world.errors import ApiError, Fault, already_exists, condition_not_met, not_found, not_ready
from simulator.world.instance import Instance, instance_path
from simulator.world.kernel import Kernel
from simulator.world.metadata_rules import read_items
from simulator.world.operations import Operation, Operations, Task
from simulator.world.refusals import is_tpu

__all__ = ["Machines"]


class Machines:
    """All VMs of the world, by path and by id."""

    def __init__(self, kernel: Kernel, operations: Operations, capacity: Capacity) -> None:
        self._kernel = kernel
        self._operations = operations
        self._capacity = capacity
        self.courses = Courses(kernel, operations, capacity)
        self._by_path: dict[str, Instance] = {}
        self._by_id: dict[str, Instance] = {}
        self.courses.strike = self._strike

    def get(self, path: str) -> Instance:
        """The VM at this path; raises 404."""
        found = self._by_path.get(path)
        if found is None:
            raise not_found(path)
        return found

    def by_id(self, instance_id: str) -> Instance | None:
        """The VM with this id while it exists."""
        return self._by_id.get(instance_id)

    def by_name(self, name: str) -> Instance | None:
        """The first VM of this name in any zone."""
        return next((vm for vm in self.everything() if vm.name == name), None)

    def everything(self) -> list[Instance]:
        """All VMs that exist, by path."""
        return [self._by_path[path] for path in sorted(self._by_path)]

    def of_zone(self, project: str, zone: str) -> list[Instance]:
        """All VMs of a zone, by name."""
        return [vm for vm in self.everything() if (vm.project, vm.zone) == (project, zone)]

    def create(self, build: Build, *, holds_capacity: bool) -> Instance:
        """Make a VM, for which the caller has taken capacity; raises 409."""
        path = instance_path(build.project, build.zone, build.name)
        if path in self._by_path:
            raise already_exists(path)
        instance = make_instance(build, self._kernel)
        instance.holds_capacity = holds_capacity
        self._by_path[path] = self._by_id[instance.id] = instance
        self._kernel.history.created(instance.id, instance.name, instance.project, instance.zone)
        operation = self._operations.start(self._insert_task(build, instance.id))
        self.courses.begin_boot(instance, operation)
        return instance

    def fail_to_create(self, build: Build, fault: Fault) -> None:
        """A creation that ends without a VM: an insert with a `last` entry of severity ERROR (sample 03)."""
        operation = self._operations.start(self._insert_task(build, self._kernel.ids.numeric()))
        self._kernel.spawn(self._refuse_late(operation, fault))

    def delete(self, path: str, caller: Caller, request_id: str = "") -> Operation:
        """Delete a VM; raises 404, and 400 while it is being deleted."""
        instance = self.get(path)
        if instance.deleting:
            raise not_ready(path)
        operation = self._operations.start(self._task("delete", instance, caller, request_id))
        self.courses.begin_delete(instance, operation)
        return operation

    def reset(self, path: str, caller: Caller, request_id: str = "") -> Operation:
        """Reset a running VM; raises 404, and 400 when it does not run."""
        instance = self._in_status(path, "RUNNING")
        operation = self._operations.start(self._task("reset", instance, caller, request_id))
        self._kernel.spawn(self._reset(instance, operation))
        return operation

    def stop(self, path: str, caller: Caller, request_id: str = "") -> Operation:
        """Stop a running VM; raises 404, and 400 when it does not run."""
        instance = self._in_status(path, "RUNNING")
        operation = self._operations.start(self._task("stop", instance, caller, request_id))
        self.courses.begin_stop(instance, operation)
        return operation

    def start(self, path: str, caller: Caller, request_id: str = "") -> Operation:
        """Start a stopped VM; raises 404, and 400 when it is not TERMINATED. Without room the operation fails."""
        instance = self._in_status(path, "TERMINATED")
        operation = self._operations.start(self._task("start", instance, caller, request_id))
        instance.holds_capacity = self._capacity.take(instance.zone, instance.machine_type, 1)
        if instance.holds_capacity:
            self.courses.begin_start(instance, operation)
        else:
            operation.futile = True
            self._kernel.spawn(self._refuse_late(operation, self.stockout(instance.zone, instance.machine_type)))
        return operation

    def set_labels(self, path: str, body: Json, caller: Caller, request_id: str = "") -> Operation:
        """Replace a VM's labels under their fingerprint; raises 404, 400, and 412 for a stale fingerprint."""
        instance = self.get(path)
        if instance.deleting:
            raise not_ready(path)
        if body.get("labelFingerprint", "") != instance.label_fingerprint:
            raise ApiError(412, "conditionNotMet", "Labels fingerprint either invalid or resource labels have changed")
        operation = self._operations.start(self._task("setLabels", instance, caller, request_id))
        instance.shape["labels"] = dict(body.get("labels") or {})
        self._kernel.spawn(self._end_later(operation))
        return operation

    def stockout(self, zone: str, machine_type: str) -> Fault:
        """What a zone without room answers (facts: GCE 3; the TPU sentence is there too)."""
        text = f"The zone '{zone}' does not have enough resources available to fulfill the request."
        if is_tpu(machine_type):
            text += f" There is no more capacity in the zone for {machine_type}."
        code = self._kernel.settings.stockout_grpc_code
        return Fault("ZONE_RESOURCE_POOL_EXHAUSTED", text, 503, "SERVICE UNAVAILABLE", grpc=code)

    def set_metadata(self, path: str, body: Json, caller: Caller, request_id: str = "") -> Operation:
        """Replace a VM's metadata under its fingerprint; raises 404, 400, and 412 for a stale fingerprint.

        The other shape of staleness is an operation that fails (facts: GCE 2 and 6.4).
        """
        instance = self.get(path)
        if instance.deleting:
            raise not_ready(path)
        items = read_items(body)
        sent = body.get("fingerprint", "")
        settings = self._kernel.settings
        if sent != instance.metadata.fingerprint and self._kernel.first_of_two(
            "stale", settings.stale_fingerprint, "refuse"
        ):
            raise condition_not_met()
        delta = instance.metadata.delta(items)
        task = replace(self._task("setMetadata", instance, caller, request_id), delta=delta)
        operation = self._operations.start(task)
        operation.futile = sent != instance.metadata.fingerprint or not delta.keys
        self._kernel.spawn(self._write_metadata(instance, items, sent, operation))
        return operation

    def _in_status(self, path: str, status: str) -> Instance:
        instance = self.get(path)
        if instance.status != status or instance.deleting:
            raise not_ready(path)
        return instance

    def _strike(self, instance: Instance) -> None:
        del self._by_path[instance.path], self._by_id[instance.id]

    def _task(self, verb: str, instance: Instance, caller: Caller, request_id: str) -> Task:
        subject = instance_subject(instance.project, instance.zone, instance.name, instance.id)
        method = f"compute.instances.{verb}"
        return Task(method, subject, instance.id, caller, method, {}, request_id)

    def _insert_task(self, build: Build, instance_id: str) -> Task:
        subject = instance_subject(build.project, build.zone, build.name, instance_id)
        request: Json = {"name": build.name, **build.properties}
        if build.group:
            request["links"] = [member_link(build)]
        return Task("compute.instances.insert", subject, instance_id, build.caller, "compute.instances.create", request)

    async def _refuse_late(self, operation: Operation, fault: Fault) -> None:
        await self._kernel.pause(self._kernel.timings.refused_insert)
        self._operations.finish(operation, fault)

    async def _end_later(self, operation: Operation) -> None:
        await self._kernel.pause(self._kernel.timings.metadata_done)
        self._operations.finish(operation)

    async def _reset(self, instance: Instance, operation: Operation) -> None:
        await self._kernel.pause(self._kernel.timings.metadata_done)
        if instance.status == "RUNNING":
            self.courses.power_cycle(instance)
        self._operations.finish(operation)

    async def _write_metadata(
        self, instance: Instance, items: Mapping[str, str], sent: str, operation: Operation
    ) -> None:
        kernel = self._kernel
        await kernel.pause(kernel.timings.metadata_effect)
        fault: Fault | None = None
        if instance.gone:
            fault = Fault("RESOURCE_NOT_FOUND", not_found(instance.path).message, 404, "NOT FOUND", grpc=5)
        elif sent != instance.metadata.fingerprint:
            text = "Supplied fingerprint does not match current metadata fingerprint."
            fault = Fault("CONDITION_NOT_MET", text, 412, "PRECONDITION FAILED", grpc=9)
        else:
            before = instance.metadata.view.items.get(KEY_JOIN_TOKEN)
            instance.metadata.replace(items)
            if instance.metadata.token_id and items.get(KEY_JOIN_TOKEN) != before:
                kernel.history.token(instance.id, instance.metadata.token_id)
        await kernel.pause(kernel.timings.metadata_done)
        self._operations.finish(operation, fault)
