"""Many groups at once on one simulator and one operator: each lives one life, with a fault on its own events alone."""

import asyncio
import copy
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from tests.api.manifests import changed, make_group
from tests.scenarios.faults import publish
from tests.scenarios.harness import Bench
from tests.sweep.runs import Event, Run, events_of
from tests.sweep.state import States, difference, states_of, vms_of

Json = dict[str, Any]
#: What there is of a group at each rest of a life, by the life and the rest.
Reference = Mapping[tuple[str, str], tuple[str, ...]]

#: So many groups live at once.
_AT_ONCE: Final = 24
_LOOK: Final = 0.3
#: When so many runs have ended wrong, no more are begun.
_ENOUGH: Final = 10
#: A swapped event that nothing follows comes after so many milliseconds.
_ALONE: Final = 2000
REPLAYS: Final = ("replay at once", "replay to a VM that runs", "replay when all is well")

_SLICE: Final = make_group()
_SINGLES: Final = make_group(
    topology="2x2x1", targetSizePolicyMode="INDIVIDUAL", instanceConfig__provisioningModel="SPOT"
)


class AmissError(Exception):
    """A run did not come to where the reference came."""


@dataclass(slots=True)
class Theatre:
    """The world as last seen, and what is to be compared with it. `reference` None: this is where it is learned."""

    bench: Bench
    reference: Reference | None
    patience: float
    world: Json = field(default_factory=dict)
    states: States = field(default_factory=dict)
    learned: dict[tuple[str, str, str], tuple[str, ...]] = field(default_factory=dict)
    _seen: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def watch(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            self.world = await self.bench.control.world()
            self.states = states_of(self.world)
            async with self._seen:
                self._seen.notify_all()
            await asyncio.sleep(_LOOK)

    async def until(self, holds: Callable[[], bool], what: Callable[[], str]) -> None:
        """Wait for what the world shows. Raises AmissError with `what` it is instead."""
        try:
            async with asyncio.timeout(self.patience), self._seen:
                await self._seen.wait_for(holds)
        except TimeoutError:
            raise AmissError(what()) from None

    async def rest(self, group: str, life: str, at: str) -> None:
        """Wait until all is as in the reference; where that is learned, until the group is Ready and nothing moves."""
        if self.reference is not None:
            wanted = self.reference[life, at]
            await self.until(lambda: self._is(group, wanted), lambda: difference(wanted, self.states.get(group, ())))
            return
        await self.bench.until_ready("default", group)
        calm: list[tuple[str, ...]] = []

        def unmoved() -> bool:
            calm.append(self.states.get(group, ()))
            return (
                len(calm) > 8
                and len(set(calm[-8:])) == 1
                and any(field.endswith("status conditions Ready reason = Ready") for field in calm[-1])
            )

        await self.until(unmoved, lambda: f"{group} does not come to rest")
        self.learned[life, at, group] = calm[-1]

    def _is(self, group: str, wanted: tuple[str, ...]) -> bool:
        return self.states.get(group, ()) == wanted

    async def gone(self, group: str) -> None:
        """Wait until nothing is left of a group."""
        await self.until(lambda: group not in self.states, lambda: f"left of it: {self.states.get(group)}")


@asynccontextmanager
async def theatre(bench: Bench, reference: Reference | None, patience: float) -> AsyncIterator[Theatre]:
    """A theatre whose world is watched."""
    made = Theatre(bench, reference, patience)
    watching = asyncio.create_task(made.watch())
    try:
        yield made
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended: `wrong` is "" if it ended as it must; `fired`: whether its fault befell it."""

    run: Run
    group: str
    wrong: str = ""
    fired: bool = True


async def perform(stage: Theatre, runs: Sequence[Run], first: int = 0) -> list[Ended]:
    """All runs, so many at once; groups are numbered from `first` on."""
    places = asyncio.Semaphore(_AT_ONCE)
    amiss: list[Run] = []

    async def one(number: int, run: Run) -> Ended:
        group = f"run{number:04}"
        async with places:
            if len(amiss) >= _ENOUGH:
                return Ended(run, group, "not begun: too many others had ended wrong")
            fault = await _plan(stage.bench, run, group)
            try:
                await _LIVES[run.life](stage, group, run)
            except AmissError as error:
                amiss.append(run)
                return Ended(run, group, str(error))
            return Ended(run, group, fired=await _befell(stage.bench, fault))

    return list(await asyncio.gather(*(one(first + number, run) for number, run in enumerate(runs))))


async def _plan(bench: Bench, run: Run, group: str) -> str:
    """Plan the fault of a run; its id, "" where nothing is planned."""
    if run.fault in {"none", "kill", *REPLAYS}:
        return ""
    body: Json = {"event": "*", "nth": "every", "effect": run.fault, "of": f"{group}-"}
    if run.event is not None:
        body |= {"event": run.event.name, "nth": run.event.nth}
    if run.fault == "swap":
        body["ms"] = _ALONE
    return str((await bench.control("POST", "faults", body))["id"])


async def _befell(bench: Bench, fault: str) -> bool:
    """Whether a fault had its turn. It is deleted then: what it held comes now, past the end."""
    if not fault:
        return True
    planned = {each["id"]: each for each in (await bench.control("GET", "faults"))["faults"]}
    await bench.control("DELETE", f"faults/{fault}")
    return bool(planned[fault]["fired"])


async def _life(stage: Theatre, group: str, run: Run) -> None:
    await _create(stage, group, _SLICE)
    await stage.rest(group, run.life, "ready")
    await _delete(stage, group)


async def _preempt(stage: Theatre, group: str, run: Run) -> None:
    """A single host is preempted and made anew under its name."""
    await _create(stage, group, _SINGLES)
    await stage.rest(group, run.life, "ready")
    old = vms_of(stage.world, group)
    lost = min(old)
    await stage.bench.control.strike(lost, "preempt")

    def anew(*statuses: str) -> Callable[[], bool]:
        def holds() -> bool:
            vm = vms_of(stage.world, group).get(lost, old[lost])
            return vm["id"] != old[lost]["id"] and (not statuses or vm["status"] in statuses)

        return holds

    await stage.until(anew(), lambda: f"{lost} was not made anew")
    if run.fault == "replay at once":
        await _replay(stage, lost, old[lost]["id"])
    await stage.until(anew("RUNNING"), lambda: f"{lost} does not run")
    if run.fault == "replay to a VM that runs":
        await _replay(stage, lost, old[lost]["id"])
    await stage.rest(group, run.life, "ready again")
    if run.fault == "replay when all is well":
        await _replay(stage, lost, old[lost]["id"])
        await stage.rest(group, run.life, "ready again")
    await _delete(stage, group)


async def _boot(stage: Theatre, group: str, run: Run) -> None:
    """Deleted while its VMs boot."""
    del run
    await _create(stage, group, _SLICE)
    await stage.until(lambda: len(vms_of(stage.world, group)) == 2, lambda: "there are no VMs")
    await _delete(stage, group)


_LIVES: Final = {"life": _life, "preempt": _preempt, "deleted while VMs boot": _boot}
LIVES: Final = tuple(_LIVES)


async def _create(stage: Theatre, group: str, manifest: Json) -> None:
    await stage.bench.cluster.create(changed(manifest, {"metadata.name": group}))


async def _delete(stage: Theatre, group: str) -> None:
    await stage.bench.cluster.delete("TPUNodeGroup", "default", group)
    await stage.gone(group)


async def _replay(stage: Theatre, vm: str, instance_id: str) -> None:
    """All entries of an incarnation once more, as they were and under ids of their own."""
    logs = (await stage.bench.control.world("logs=full&last=4000"))["history"]["logs"]
    told = [log["entry"] for log in logs if log["admitted"] and _is_of(log["entry"], vm, instance_id)]
    assert len(told) > 4, told
    others = [entry | {"insertId": f"replay{number}"} for number, entry in enumerate(copy.deepcopy(told))]
    await publish(stage.bench, [json.dumps(entry).encode() for entry in (*told, *others)])


def _is_of(entry: Json, vm: str, instance_id: str) -> bool:
    named = entry.get("protoPayload", {}).get("resourceName") or entry.get("jsonPayload", {}).get("instance") or ""
    return named.rpartition("/")[2] == vm and entry["resource"]["labels"].get("instance_id") == instance_id


async def events(stage: Theatre, groups: Iterable[str]) -> list[list[Event]]:
    """The events of these groups."""
    logs = (await stage.bench.control.world("logs=full&last=20000"))["history"]["logs"]
    return [events_of(group, logs) for group in groups]
