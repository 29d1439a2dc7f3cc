"""Changes to a group that exists: patch, and applying its configuration to the VMs it has."""

from collections.abc import Iterable
from typing import Final

from simulator.seams import Json
from simulator.world.audit import Caller
from simulator.world.errors import invalid_field
from simulator.world.group import Group, Slot
from simulator.world.groups import Groups
from simulator.world.kernel import Kernel
from simulator.world.machines import Machines
from simulator.world.operations import Operation

__all__ = ["Updates"]

#: What a patch may carry here; the mode of a group cannot be changed at all (facts: TPU 1.4).
_PATCHED: Final = frozenset(
    {"description", "instanceLifecyclePolicy", "allInstancesConfig", "listManagedInstancesResults"}
)
_IGNORED: Final = frozenset({"name", "fingerprint", "kind", "id", "selfLink", "zone"})


class Updates:
    """What calls change in groups and their VMs without making or removing one."""

    def __init__(self, kernel: Kernel, machines: Machines, groups: Groups) -> None:
        self._kernel = kernel
        self._machines = machines
        self._groups = groups

    def patch(self, path: str, body: Json, caller: Caller, request_id: str = "") -> Operation:
        """Merge some of a group's fields; raises 404, and 400 for a field that this API does not patch."""
        group = self._groups.usable(path)
        for key in body:
            if key not in _PATCHED | _IGNORED:
                why = f"Of a group only {', '.join(sorted(_PATCHED))} can be patched."
                raise invalid_field(f"resource.{key}", body[key], why)
        operation = self._groups.begin(group, "patch", caller, body, request_id)
        for key in _PATCHED & body.keys():
            old, new = group.resource.get(key), body[key]
            group.resource[key] = {**old, **new} if isinstance(old, dict) and isinstance(new, dict) else new
        self._kernel.spawn(self._end(group, operation, ()))
        return operation

    def apply(self, path: str, body: Json, caller: Caller) -> Operation:
        """applyUpdatesToInstances: allInstancesConfig reaches the named VMs' metadata; raises 400, 404."""
        group = self._groups.usable(path)
        urls = [str(url) for url in body.get("instances") or []]
        slots = list(group.slots) if body.get("allInstances") else self._groups.slots(group, urls)
        operation = self._groups.begin(group, "applyUpdatesToInstances", caller, body, "")
        self._kernel.spawn(self._end(group, operation, slots))
        return operation

    async def _end(self, group: Group, operation: Operation, slots: Iterable[Slot]) -> None:
        await self._kernel.pause(self._kernel.timings.operation_running)
        for slot in slots:
            instance = self._machines.by_id(slot.instance_id)
            if instance is not None:
                instance.metadata.merge(group.shared_metadata)
        self._groups.end(group, operation)
