"""One VM as Compute Engine knows it, and as `instances.get` shows it."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from simulator.seams import Json
from simulator.world.metadata import Metadata, fingerprint_of
from simulator.world.names import link, rest_time

__all__ = ["Instance", "instance_path"]


def instance_path(project: str, zone: str, name: str) -> str:
    """`projects/p/zones/z/instances/n`."""
    return f"projects/{project}/zones/{zone}/instances/{name}"


@dataclass(slots=True, eq=False)
class Instance:
    """A VM. Its identity is `id`; the name is reused by the group that re-creates it.

    Others read it; only the world writes it.
    """

    id: str
    name: str
    project: str
    zone: str
    machine_type: str
    metadata: Metadata
    created: datetime
    #: As in the template: scheduling, disks, networkInterfaces, tags, ... (REST JSON).
    shape: Json
    #: [{email, scopes}], "default" resolved.
    service_accounts: list[Json]
    scheduling: Json
    #: Path of the group that made it, "" if none.
    group: str = ""
    #: Made of a brought template whose guests join by themselves.
    joins: bool = False
    #: Position in its group: the platform's worker-id.
    index: int = 0
    #: PENDING, PROVISIONING, STAGING, RUNNING, STOPPING, TERMINATED, REPAIRING (facts: GCE 2).
    status: str = "PENDING"
    last_start: datetime | None = None
    last_stop: datetime | None = None
    #: The VM no longer exists: its name answers 404, or belongs to a later incarnation.
    gone: bool = False
    deleting: bool = False
    holds_capacity: bool = False
    #: Set when the VM is gone.
    vanished: asyncio.Event = field(default_factory=asyncio.Event, repr=False)
    #: The task that moves it from state to state; a new incident replaces it.
    course: "asyncio.Task[None] | None" = field(default=None, repr=False)

    @property
    def path(self) -> str:
        """`projects/p/zones/z/instances/n`."""
        return instance_path(self.project, self.zone, self.name)

    @property
    def label_fingerprint(self) -> str:
        """Changes with the labels, as the metadata's does with the items."""
        return fingerprint_of(self.shape.get("labels") or {})

    def body(self, items: Mapping[str, str] | None = None) -> Json:
        """The REST resource; `items` stands in for the metadata (a snapshot hides the token's value)."""
        shown = self.metadata.view.items if items is None else items
        out: Json = {
            "kind": "compute#instance",
            "id": self.id,
            "creationTimestamp": rest_time(self.created),
            "name": self.name,
            "machineType": link(f"projects/{self.project}/zones/{self.zone}/machineTypes/{self.machine_type}"),
            "status": self.status,
            "zone": link(f"projects/{self.project}/zones/{self.zone}"),
            "selfLink": link(self.path),
            "metadata": {
                "kind": "compute#metadata",
                "fingerprint": self.metadata.fingerprint,
                "items": [{"key": key, "value": shown[key]} for key in sorted(shown)],
            },
            "labelFingerprint": self.label_fingerprint,
            "serviceAccounts": self.service_accounts,
            "scheduling": self.scheduling,
            **self.shape,
        }
        if self.last_start is not None:
            out["lastStartTimestamp"] = rest_time(self.last_start)
        if self.last_stop is not None:
            out["lastStopTimestamp"] = rest_time(self.last_stop)
        return out
