"""A world of nothing but machines, for tests of what runs inside them."""

import asyncio
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from simulator.metadata.machines import Machine, ServiceAccount
from simulator.seams import Effect, PlannedFault

ACCOUNT = ServiceAccount(
    "node@example-project.iam.gserviceaccount.com", ("https://www.googleapis.com/auth/cloud-platform",)
)


def make_machine(number: int = 1, *, account: ServiceAccount | None = ACCOUNT, **attributes: str) -> Machine:
    """`number` makes the id and the name; attributes are spelled with underscores for dashes."""
    items = {key.replace("_", "-"): value for key, value in attributes.items()}
    return Machine(
        id=str(7_000_000_000_000_000_000 + number),
        name=f"tpu-{number}",
        project="example-project",
        project_number="123456789012",
        zone="us-central1-a",
        machine_type="tpu7x-standard-4t",
        attributes=items,
        etag=_etag(items),
        service_account=account,
    )


class Machines:
    """The `Machines` that a test changes at will."""

    def __init__(self, *machines: Machine) -> None:
        self._machines = {machine.id: machine for machine in machines}
        self._waiting: dict[str, int] = {}
        self._changed = asyncio.Event()
        self._moved = asyncio.Event()

    def machine(self, instance_id: str) -> Machine | None:
        return self._machines.get(instance_id)

    async def changed(self, machine: Machine) -> Machine | None:
        self._count(machine.id, 1)
        try:
            while (now := self._machines.get(machine.id)) is not None and now.etag == machine.etag:
                await self._changed.wait()
        finally:
            self._count(machine.id, -1)
        return now

    def waiting(self, instance_id: str) -> int:
        """How many wait for a change."""
        return self._waiting.get(instance_id, 0)

    async def until_waiting(self, instance_id: str, count: int) -> None:
        """Wait until that many wait for a change."""
        while self.waiting(instance_id) != count:
            await self.moved()

    async def moved(self) -> None:
        """Wait until someone begins or ends to wait for a change."""
        self._moved.clear()
        await self._moved.wait()

    def put(self, machine: Machine) -> None:
        """Add or replace a machine, and tell."""
        self._machines[machine.id] = machine
        self._tell()

    def remove(self, instance_id: str) -> None:
        """Delete a machine, and tell."""
        del self._machines[instance_id]
        self._tell()

    def set_attributes(self, instance_id: str, **attributes: str | None) -> None:
        """Merge attributes (None removes one), and tell."""
        machine = self._machines[instance_id]
        merged = dict(machine.attributes)
        for key, value in attributes.items():
            name = key.replace("_", "-")
            if value is None:
                merged.pop(name, None)
            else:
                merged[name] = value
        self.put(replace(machine, attributes=merged, etag=_etag(merged)))

    def delete(self, instance_id: str) -> None:
        """Forget the machine, and tell."""
        del self._machines[instance_id]
        self._tell()

    def _count(self, instance_id: str, change: int) -> None:
        self._waiting[instance_id] = self.waiting(instance_id) + change
        self._moved.set()

    def _tell(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


def _etag(attributes: Mapping[str, str]) -> str:
    return hashlib.sha256(repr(sorted(attributes.items())).encode()).hexdigest()


@dataclass
class Calls:
    """A `CallLog` that remembers the codes."""

    codes: list[str] = field(default_factory=list)

    def record(self, *, caller: str, api: str, method: str, code: str, effect: Effect) -> None:  # noqa: ARG002
        self.codes.append(code)


@dataclass
class Faults:
    """A `CallFaults` that hands out the planned ones in turn."""

    planned: list[PlannedFault] = field(default_factory=list)

    def next(self, api: str, method: str) -> PlannedFault | None:  # noqa: ARG002
        return self.planned.pop(0) if self.planned else None
