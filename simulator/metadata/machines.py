"""What a VM can know of itself, and where it learns that its metadata changed.

This is what the metadata server and the guests need of the world. Both sides of a VM see the same picture: over the
wire (the server) and in the process (the guests).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

#: Scopes that allow writing log entries, by the last part of their URL.
LOGGING_SCOPES = frozenset({"logging.write", "logging.admin", "cloud-platform"})


@dataclass(frozen=True, slots=True)
class ServiceAccount:
    """The account of a VM; `scopes` are URLs, as `https://www.googleapis.com/auth/logging.write`."""

    email: str
    scopes: tuple[str, ...]

    @property
    def may_log(self) -> bool:
        """Whether entries:write works with a token of this account."""
        return any(scope.rpartition("/")[2] in LOGGING_SCOPES for scope in self.scopes)


@dataclass(frozen=True, slots=True)
class Machine:
    """One VM at one moment. `attributes` may hold a join token: it is not part of the repr."""

    id: str
    name: str
    project: str
    project_number: str
    #: The bare zone, as `us-central1-a`.
    zone: str
    #: The bare machine type, as `tpu7x-standard-4t`.
    machine_type: str
    attributes: Mapping[str, str] = field(repr=False)
    #: Changes exactly when the attributes do.
    etag: str
    service_account: ServiceAccount | None
    #: Of its first network interface.
    address: str = "10.128.0.2"
    #: VMs of a brought template that join without a token (`POST /control/templates` with `joins`).
    joins_by_itself: bool = False

    @property
    def provider_id(self) -> str:
        """What the kubelet registers with (facts: TPU 4)."""
        return f"gce://{self.project}/{self.zone}/{self.name}"


class Machines(Protocol):
    """The world, as its VMs see it."""

    def machine(self, instance_id: str) -> Machine | None:
        """The VM as it is now, None when there is none of this id."""
        ...

    async def changed(self, machine: Machine) -> Machine | None:
        """The VM as soon as its attributes are not those of `machine`: at once if they already differ.

        Waits for ever: bound it with asyncio.timeout. None when the VM is gone, or goes.
        """
        ...
