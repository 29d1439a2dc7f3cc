"""One managed instance group: its record, and how its GET and listManagedInstances show it (facts: GCE 2 and 6.1)."""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from simulator.seams import Json
from simulator.world.errors import Fault
from simulator.world.instance import Instance, instance_path
from simulator.world.names import link, partial, rest_time
from simulator.world.refusals import is_tpu

__all__ = ["Group", "Slot", "group_path"]

#: Names of the fields of status.currentInstanceStatuses.
_COUNTED: Final = {
    "": "nonExistent",
    "DEPROVISIONING": "deprovisioning",
    "PENDING": "pending",
    "PENDING_STOP": "pendingStop",
    "PROVISIONING": "provisioning",
    "REPAIRING": "repairing",
    "RUNNING": "running",
    "STAGING": "staging",
    "STOPPED": "stopped",
    "STOPPING": "stopping",
    "SUSPENDED": "suspended",
    "SUSPENDING": "suspending",
    "TERMINATED": "terminated",
}
_ACTIONS: Final = {
    "CREATING": "creating",
    "DELETING": "deleting",
    "NONE": "none",
    "RECREATING": "recreating",
}

#: Finds a VM by its id, None when it is gone.
Find = Callable[[str], Instance | None]


def group_path(project: str, zone: str, name: str) -> str:
    """`projects/p/zones/z/instanceGroupManagers/n`."""
    return f"projects/{project}/zones/{zone}/instanceGroupManagers/{name}"


@dataclass(slots=True, eq=False)
class Slot:
    """One place in a group. The name stays through re-creations; `instance_id` is "" while there is no VM."""

    name: str
    index: int
    instance_id: str = ""
    #: CREATING, NONE, RECREATING, DELETING (facts: GCE 2, currentAction).
    action: str = "CREATING"
    errors: list[tuple[Fault, datetime]] = field(default_factory=list)
    work: "asyncio.Task[None] | None" = field(default=None, repr=False)


@dataclass(slots=True, eq=False)
class Group:
    """A zonal MIG. `resource` is the body that it was made from; the rest is what became of it."""

    id: str
    name: str
    project: str
    zone: str
    resource: Json
    properties: Json
    created: datetime
    joins: bool = False
    #: acceleratorTopology of its workload policy, "" if none.
    topology: str = ""
    #: INCOMPLETE, ACTIVATING, ACTIVE, REACTIVATING (facts: GCE 2).
    topology_state: str = "INCOMPLETE"
    topology_was_active: bool = False
    slots: list[Slot] = field(default_factory=list)
    deleting: bool = False
    #: Operations of the group under way.
    busy: int = 0
    #: A bulk request waits: no VM exists (facts: GCE 6.1).
    bulk_waiting: bool = False
    bulk_check: tuple[Fault | None, datetime] | None = None
    work: "asyncio.Task[None] | None" = field(default=None, repr=False)
    topology_work: "asyncio.Task[None] | None" = field(default=None, repr=False)

    @property
    def path(self) -> str:
        """`projects/p/zones/z/instanceGroupManagers/n`."""
        return group_path(self.project, self.zone, self.name)

    @property
    def bulk(self) -> bool:
        """Whether its VMs are made all at once."""
        return bool((self.resource.get("targetSizePolicy") or {}).get("mode") == "BULK")

    @property
    def repairs(self) -> bool:
        """REPAIR is Compute Engine's default for a group that does not say (facts: GCE 2)."""
        policy = self.resource.get("instanceLifecyclePolicy") or {}
        return bool(policy.get("defaultActionOnFailure", "REPAIR") == "REPAIR")

    @property
    def base_name(self) -> str:
        """What its VMs' names begin with."""
        return str(self.resource.get("baseInstanceName") or self.name[:58].rstrip("-"))

    @property
    def template(self) -> str:
        """Path of its instance template."""
        return partial(str(self.resource.get("instanceTemplate", "")))

    @property
    def policy(self) -> str:
        """Path of its workload policy, "" if none."""
        return partial(str((self.resource.get("resourcePolicies") or {}).get("workloadPolicy", "")))

    @property
    def shared_metadata(self) -> dict[str, str]:
        """allInstancesConfig.properties.metadata: a plain map (facts: GCE 2)."""
        properties = (self.resource.get("allInstancesConfig") or {}).get("properties") or {}
        return dict(properties.get("metadata") or {})

    @property
    def paginated(self) -> bool:
        """Whether listManagedInstances pages; PAGELESS ignores maxResults and pageToken (facts: GCE 1)."""
        return bool(self.resource.get("listManagedInstancesResults") == "PAGINATED")

    @property
    def stable(self) -> bool:
        """No change in progress, none scheduled, and the group itself not being modified (facts: GCE 2)."""
        settled = all(slot.action == "NONE" for slot in self.slots)
        return settled and not (self.bulk_waiting or self.deleting or self.busy)

    def slot_of(self, name: str) -> Slot | None:
        """The place of this name."""
        return next((slot for slot in self.slots if slot.name == name), None)

    def body(self, find: Find) -> Json:
        """The REST resource."""
        out: Json = {
            "targetSizePolicy": {"mode": "INDIVIDUAL"},
            "instanceLifecyclePolicy": {"defaultActionOnFailure": "REPAIR"},
            "listManagedInstancesResults": "PAGELESS",
            **self.resource,
            "kind": "compute#instanceGroupManager",
            "id": self.id,
            "creationTimestamp": rest_time(self.created),
            "zone": link(f"projects/{self.project}/zones/{self.zone}"),
            "selfLink": link(self.path),
            "instanceGroup": link(f"projects/{self.project}/zones/{self.zone}/instanceGroups/{self.name}"),
            "baseInstanceName": self.base_name,
            "targetSize": len(self.slots),
            "currentActions": self._actions(),
            "status": self._status(find),
        }
        return out

    def managed(self, find: Find) -> list[Json]:
        """The rows of listManagedInstances: an `id` only where the VM exists."""
        return [self._row(slot, find(slot.instance_id)) for slot in self.slots]

    def _row(self, slot: Slot, instance: Instance | None) -> Json:
        row: Json = {
            "instance": link(instance_path(self.project, self.zone, slot.name)),
            "name": slot.name,
            "currentAction": slot.action,
            "version": {"instanceTemplate": link(self.template)},
        }
        if instance is not None:
            row["id"] = instance.id
            row["instanceStatus"] = instance.status
        if slot.errors:
            row["lastAttempt"] = {"errors": {"errors": [slot.errors[-1][0].item()]}}
        return row

    def _actions(self) -> Json:
        counts = dict.fromkeys(_ACTIONS.values(), 0)
        for slot in self.slots:
            counts[_ACTIONS[slot.action]] += 1
        return dict(counts)

    def _status(self, find: Find) -> Json:
        status: Json = {"isStable": self.stable}
        if is_tpu(str(self.properties.get("machineType", ""))):
            # Shown for TPU MIGs only (facts: GCE 6.1).
            status["currentInstanceStatuses"] = self._counts(find)
        if self.bulk:
            bulk: Json = {"inProgress": self.bulk_waiting}
            if self.bulk_check is not None:
                fault, at = self.bulk_check
                check: Json = {"timestamp": rest_time(at)}
                if fault is not None:
                    check["error"] = {"errors": [fault.item()]}
                bulk["lastProgressCheck"] = check
            status["bulkInstanceOperation"] = bulk
        if self.topology and self.slots:
            status["appliedAcceleratorTopologies"] = [
                {"acceleratorTopology": self.topology, "state": self.topology_state}
            ]
        return status

    def _counts(self, find: Find) -> Json:
        found = (find(slot.instance_id) for slot in self.slots)
        counter = Counter(_COUNTED["" if vm is None else vm.status] for vm in found)
        return {name: counter[name] for name in _COUNTED.values() if counter[name]}
