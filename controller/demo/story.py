"""The scenarios: what the user does, what the world does, and what must be seen after each. Every wait is bounded."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from controller.demo.options import MACHINE, ZONE, ControlPlane, DemoOptions, Scenario
from controller.demo.witness import Witness

#: How long anything that must happen may take, in seconds.
PATIENCE = 60.0


class StoryError(Exception):
    """Something that had to happen did not; the message says what was awaited and how things stood."""


class User(Protocol):
    """What a user does with a cluster."""

    async def apply(self, manifest: dict[str, object]) -> None:
        """Create the group."""
        ...

    async def delete(self) -> None:
        """Delete the group."""
        ...


class Fate(Protocol):
    """What befalls the machines."""

    async def strike(self, instance: str, what: str) -> None:
        """Let something happen to a VM."""
        ...

    async def capacity(self, zone: str, machine_type: str, available: int | None) -> None:
        """Say how many more VMs can start."""
        ...


@dataclass(slots=True)
class Story:
    """One run of a scenario. `say`: a line of the user's or of fate's."""

    options: DemoOptions
    joins: ControlPlane
    user: User
    fate: Fate
    witness: Witness
    say: Callable[[str], None]
    #: Seconds of a steady clock.
    steady: Callable[[], float]
    ready_seconds: float | None = None
    _applied: float = field(default=0.0)

    async def play(self) -> None:
        """From apply to the end of the scenario: the group is Ready."""
        scenes: dict[Scenario, Callable[[], Awaitable[None]]] = {
            Scenario.LIFE: self._life,
            Scenario.PREEMPT: self._preempt,
            Scenario.STOCKOUT: self._stockout,
        }
        await scenes[self.options.scenario]()

    async def delete(self) -> None:
        """Delete the group and see it gone."""
        self.say("you delete it")
        await self.user.delete()
        await self._see("the group gone", lambda seen: seen.group_deleted)

    async def _life(self) -> None:
        await self._apply()
        await self._see_ready()
        before = self._incarnations()
        host = min(before)
        self.say(f"a host fails under {host}")
        await self.fate.strike(host, "host-error")
        await self._see("Ready=False after the host error", lambda seen: seen.ready.status == "False")
        await self._see_ready()
        if self._incarnations() != before:
            raise StoryError(f"the restarted slice has other VMs: {self._incarnations()} instead of {before}")

    async def _preempt(self) -> None:
        await self._apply()
        await self._see_ready()
        before = self._incarnations()
        self.say(f"Compute Engine preempts {len(before)} Spot hosts")
        for host in sorted(before):
            await self.fate.strike(host, "preempt")
        await self._see("Ready=False after the preemption", lambda seen: seen.ready.status == "False")
        await self._see(
            "a Node with a new instance id under each old name",
            lambda seen: all(
                host in seen.living() and seen.living()[host].instance_id != old for host, old in before.items()
            ),
        )
        await self._see_ready()

    async def _stockout(self) -> None:
        self.say(f"{ZONE} has no {MACHINE} left")
        await self.fate.capacity(ZONE, MACHINE, 0)
        await self._apply()
        await self._see("the reason Stockout", lambda seen: seen.ready.reason == "Stockout")
        self.say(f"capacity for {MACHINE} comes back")
        await self.fate.capacity(ZONE, MACHINE, None)
        await self._see_ready()

    async def _apply(self) -> None:
        options = self.options
        hosts = "host" if options.nodes == 1 else "hosts"
        shape = f"{options.nodes} {hosts} {MACHINE}, {options.topology}, {options.mode}, {options.model}"
        self._applied = self.steady()
        self.say(f"you apply a TPUNodeGroup: {shape}")
        await self.user.apply(options.manifest(self.joins))

    async def _see_ready(self) -> None:
        await self._see("Ready=True", lambda seen: seen.ready.status == "True")
        if self.ready_seconds is None:
            self.ready_seconds = round(self.steady() - self._applied, 2)

    async def _see(self, what: str, seen: Callable[[Witness], bool]) -> None:
        if not await self.witness.until(seen, PATIENCE):
            raise StoryError(f"waited {PATIENCE:g} s for {what}; the group says {self.witness.ready}")

    def _incarnations(self) -> dict[str, str]:
        return {name: node.instance_id for name, node in self.witness.living().items()}
