"""A world of nothing but machines, for tests of what runs inside them."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from simulator.metadata.machines import Machine, ServiceAccount
from simulator.seams import Effect, PlannedFault

ACCOUNT = ServiceAccount(
    "node@example-project.iam.gserviceaccount.com", ("https://www.googleapis.com/auth/cloud-platform",)
)


def make_machine(number: int = 1, *, account: ServiceAccount | None = ACCOUNT, **attributes: str) -> Machine:
    """`number` makes the id and the name; attributes are spelled with underscores for dashes."""
    return Machine(
        id=str(7_000_000_000_000_000_000 + number),
        name=f"tpu-{number}",
        project="example-project",
        project_number="123456789012",
        zone="us-central1-a",
        machine_type="tpu7x-standard-4t",
        attributes={key.replace("_", "-"): value for key, value in attributes.items()},
        service_account=account,
    )


class Machines:
    """The `Machines` that a test changes at will."""

    def __init__(self, *machines: Machine) -> None:
        self._machines = {machine.id: machine for machine in machines}
        self._listeners: dict[str, list[Callable[[], None]]] = {}
        self._moved = asyncio.Event()

    def machine(self, instance_id: str) -> Machine | None:
        return self._machines.get(instance_id)

    def on_metadata(self, instance_id: str, changed: Callable[[], None]) -> Callable[[], None]:
        listeners = self._listeners.setdefault(instance_id, [])
        listeners.append(changed)
        self._moved.set()

        def unsubscribe() -> None:
            listeners.remove(changed)
            self._moved.set()

        return unsubscribe

    def listeners(self, instance_id: str) -> int:
        """How many wait for a change."""
        return len(self._listeners.get(instance_id, []))

    async def until_listeners(self, instance_id: str, count: int) -> None:
        """Wait until that many wait for a change."""
        while self.listeners(instance_id) != count:
            await self.moved()

    async def moved(self) -> None:
        """Wait until someone begins or ends to wait for a change."""
        self._moved.clear()
        await self._moved.wait()

    def put(self, machine: Machine) -> None:
        """Add or replace a machine, and tell."""
        self._machines[machine.id] = machine
        self._tell(machine.id)

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
        self.put(replace(machine, attributes=merged))

    def delete(self, instance_id: str) -> None:
        """Forget the machine, and tell."""
        del self._machines[instance_id]
        self._tell(instance_id)

    def _tell(self, instance_id: str) -> None:
        for listener in tuple(self._listeners.get(instance_id, ())):
            listener()


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
