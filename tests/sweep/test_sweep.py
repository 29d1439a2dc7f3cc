"""The event sweep: whatever befalls any single event of a life, the life ends as if nothing had.

Learned first: the events of each life, and what there is of a group whenever it is at rest. Then one run for each event
and each fault, many groups at once. The world is in a hurry, the operator is the real one, the end is compared whole.
"""

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from tests.scenarios.faults import assert_tokens_were_single, plan
from tests.scenarios.harness import Bench, bench, log_lines
from tests.sweep import drive
from tests.sweep.drive import LIVES, Ended, Reference, Theatre, perform, theatre
from tests.sweep.patched import BUGS
from tests.sweep.runs import LOST, TOLD, Event, Run, one_by_one, shared
from tests.sweep.state import difference

pytestmark = [pytest.mark.sweep, pytest.mark.timeout(600)]

_HURRY: Final = ("--timings", "0.2", "--log-latency", "0.2")
_PROGRAM: Final = (sys.executable, "-m", "tests.sweep.patched")
#: How long a rest of a life is waited for, in seconds, with many groups at once.
_PATIENCE: Final = 60.0
#: The same where a process is started again many times meanwhile. And where no event tells that a Node's VM is another
#: one by now: the Node is not Ready only 40 s later.
_LONG: Final = 150.0
_SETTINGS: Final[dict[str, Any]] = {
    "node_service_account": "default",
    "retry_first": "200ms",
    "retry_max": "2s",
    "live_tokens": "5000",
    "compute_reads_per_minute": "100000",
    "compute_writes_per_minute": "100000",
    "max_looks_per_key_per_second": "100",
}
#: Nothing but events and what follows one: whoever misses an event stays where it is.
_EVENTS_ALONE: Final[dict[str, Any]] = {"resync_interval": "1h", "operation_looks": "30m"}
_SAFETY_NET: Final[dict[str, Any]] = {
    "resync_interval": "4s",
    "deaf_resync_interval": "4s",
    "operation_looks": "500ms,1s,2s",
}
_AFTER_A_START: Final[dict[str, Any]] = {"resync_interval": "1h", "operation_looks": "500ms,1s,2s"}
#: Calls that looks make, of which every so many-th fails: what an event asked for is asked for again.
_TROUBLE: Final = {
    "instances.get": 5,
    "instanceGroupManagers.get": 7,
    "instanceGroupManagers.listManagedInstances": 6,
    "instances.setMetadata": 5,
    "instanceTemplates.get": 6,
}


@dataclass(frozen=True, slots=True)
class Learned:
    """What a life is like when nothing befalls it. `handed_over`: names of the events that ask for a look."""

    reference: Reference
    events: dict[str, list[Event]]
    handed_over: dict[str, list[str]]


@asynccontextmanager
async def stage_of(
    folder: Path, reference: Reference | None, settings: dict[str, Any], patience: float = _PATIENCE, **more: str
) -> AsyncIterator[Theatre]:
    """A world and an operator of its own."""
    folder.mkdir()  # noqa: ASYNC240 - a moment
    async with bench(folder, *_HURRY) as made:
        await start(made, settings, **more)
        async with theatre(made, reference, patience) as stage:
            yield stage


async def start(world: Bench, settings: dict[str, Any], **more: str) -> None:
    """The operator, as a sweep has it."""
    named = {f"SWEEP_{name.upper()}": value for name, value in more.items()}
    await world.start_operator(program=_PROGRAM, more=named, **_SETTINGS, **settings)


async def learn(folder: Path) -> Learned:
    """Three lives of each kind, undisturbed: what they share is what a life is."""
    runs = [Run(life) for life in LIVES for _ in range(3)]
    async with stage_of(folder, None, _EVENTS_ALONE) as stage:
        ended = await perform(stage, runs)
        assert [str(each) for each in ended if each.wrong] == []
        groups = {life: [each.group for each in ended if each.run.life == life] for life in LIVES}
        events = {life: shared(await drive.events(stage, groups[life])) for life in LIVES}
        told = [line for line in log_lines(_log(stage.bench)) if line.get("event") == "handed over"]
    handed = {life: sorted({line["name"] for line in told if line["group"] in groups[life]}) for life in LIVES}
    rests: dict[tuple[str, str], tuple[str, ...]] = {}
    for (life, at, group), state in stage.learned.items():
        first = rests.setdefault((life, at), state)
        assert state == first, f"{group} is another than the first of its kind: {difference(first, state)}"
    return Learned(rests, events, handed)


def _log(world: Bench) -> Path:
    assert world.operator is not None
    return world.operator.log


async def drift(world: Bench) -> float:
    """`tpu_resync_drift_total` of all kinds."""
    metrics = (await world.ask_operator("/metrics"))[1]
    return sum(float(value) for value in re.findall(r"^tpu_resync_drift_total\{[^}]*\} (\S+)$", metrics, re.MULTILINE))


async def trouble(world: Bench) -> None:
    """From now on some calls of looks fail once."""
    for method, each in _TROUBLE.items():
        await plan(world, method, "error-before", 503, nth=f"every {each}")


def report(title: str, ended: Sequence[Ended], seconds: float) -> None:
    """What was run, for whoever watches; then it must have ended well."""
    lines = [f"{title}: {len(ended)} runs in {seconds:.0f} s"]
    lines += [f"  wrong: {each.group} ({each.run}): {each.wrong}" for each in ended if each.wrong]
    lines += [f"  did not happen: {each.group} ({each.run})" for each in ended if not each.wrong and not each.fired]
    print("\n".join(lines))  # noqa: T201 - a sweep says what it did


async def assert_nothing_was_done_twice(stage: Theatre, runs: Sequence[Run]) -> None:
    """One MIG for each life, one token for each VM, nothing left, and no call that changed anything after the end."""
    effective = (await stage.bench.control.calls()).effective()
    assert {verb: effective[f"instanceGroupManagers.{verb}"] for verb in ("insert", "delete")} == {
        "insert": len(runs),
        "delete": len(runs),
    }
    assert_tokens_were_single(stage.bench)
    assert stage.states == {}


async def sweep(title: str, stage: Theatre, runs: Sequence[Run]) -> list[Ended]:
    """All runs, and one more life after them: what came past its group's end has been dealt with by then."""
    begun = asyncio.get_running_loop().time()
    ended = await perform(stage, runs)
    ended += await perform(stage, [Run(LIVES[0])], len(runs))
    report(title, ended, asyncio.get_running_loop().time() - begun)
    return ended


def assert_well(ended: Sequence[Ended]) -> None:
    """Every run ended as its reference; nearly every fault had its turn (VMs that are deleted may not get so far)."""
    assert [f"{each.run}: {each.wrong}" for each in ended if each.wrong] == []
    assert len([each for each in ended if not each.fired]) * 20 < len(ended)


@pytest.fixture(scope="module")
def memory() -> dict[str, Learned]:
    """What the first test learns for all."""
    return {}


@pytest.fixture
async def learned(tmp_path: Path, memory: dict[str, Learned]) -> Learned:
    if not memory:
        memory["lives"] = await learn(tmp_path / "learning")
    return memory["lives"]


async def test_events_that_are_doubled_swapped_or_replayed_need_no_resync_and_change_nothing(
    tmp_path: Path, learned: Learned
) -> None:
    runs = one_by_one(learned.events, TOLD) + [Run("preempt", replay) for replay in drive.REPLAYS]
    async with stage_of(tmp_path / "told", learned.reference, _EVENTS_ALONE) as stage:
        await trouble(stage.bench)
        ended = await sweep("doubled, swapped, replayed", stage, runs)
        assert_well(ended)
        assert await drift(stage.bench) == 0
        await assert_nothing_was_done_twice(stage, [each.run for each in ended])


async def test_events_that_are_lost_or_come_past_the_end_cost_time_only(tmp_path: Path, learned: Learned) -> None:
    runs = one_by_one(learned.events, LOST) + [Run(life, "drop") for life in LIVES]
    async with stage_of(tmp_path / "lost", learned.reference, _SAFETY_NET, _LONG) as stage:
        ended = await sweep("lost, late", stage, runs)
        assert_well(ended)
        await assert_nothing_was_done_twice(stage, [each.run for each in ended])


async def test_a_kill_between_hand_over_and_look_loses_nothing(tmp_path: Path, learned: Learned) -> None:
    runs = [Run(life, "kill", Event(name, 1)) for life in LIVES for name in learned.handed_over[life]]
    wanted = {(f"run{number:04}", run.event.name) for number, run in enumerate(runs) if run.event}
    killed: set[tuple[str, str]] = set()
    async with stage_of(
        tmp_path / "killed", learned.reference, _AFTER_A_START, _LONG, hold=json.dumps(sorted(wanted))
    ) as stage:
        killing = asyncio.create_task(kill_whenever_held(stage.bench, wanted, killed))
        ended = await sweep("killed", stage, runs)
        killing.cancel()
        with suppress(asyncio.CancelledError):
            await killing
        assert_well(ended)
        print(f"  killed after {len(killed)} of {len(wanted)} events")  # noqa: T201 - a sweep says what it did
        # The others came when the look at a start had found what they tell already, and nothing was left to look at.
        assert len(killed) * 4 > len(wanted) * 3
        await assert_nothing_was_done_twice(stage, [each.run for each in ended])


async def kill_whenever_held(world: Bench, wanted: set[tuple[str, str]], killed: set[tuple[str, str]]) -> None:
    """Kill -9 whenever an event is handed over whose look was held, then start again; until cancelled."""
    while True:
        log = _log(world)
        await _held(log)
        await world.kill_operator()
        # Others of the wanted were perhaps handed over since, and are as dead.
        told = {(line["group"], line["name"]) for line in log_lines(log) if line.get("event") == "handed over"}
        killed |= told & wanted
        await start(world, _AFTER_A_START, hold=json.dumps(sorted(wanted - killed)))


async def _held(log: Path) -> None:
    """Wait for a line of a log that says that a look was held."""
    place = 0
    while True:
        await asyncio.sleep(0.1)
        with log.open("rb") as file:
            file.seek(place)
            for line in file.readlines():
                if b'"event": "held"' in line:
                    return
                place += len(line) if line.endswith(b"\n") else 0


@pytest.mark.parametrize("bug", BUGS)
async def test_a_bug_that_is_put_in_is_found(tmp_path: Path, learned: Learned, bug: str) -> None:
    ended = await _a_few(tmp_path / "bug", learned, patience=20, bug=bug)
    wrong = [each for each in ended if each.wrong]
    print(f"{bug}: {len(wrong)} of {len(ended)} runs ended wrong")  # noqa: T201 - a sweep says what it did
    assert wrong


async def test_without_a_bug_the_same_runs_end_well(tmp_path: Path, learned: Learned) -> None:
    assert_well(await _a_few(tmp_path / "none", learned, patience=_PATIENCE, bug=""))


async def _a_few(folder: Path, learned: Learned, *, patience: float, bug: str) -> list[Ended]:
    """A few of the runs that need no resync, while some calls of looks fail."""
    runs = [
        *(Run(life, fault, learned.events[life][0]) for life in LIVES for fault in TOLD),
        *(Run("preempt", replay) for replay in drive.REPLAYS),
    ]
    async with stage_of(folder, learned.reference, _EVENTS_ALONE, patience, bug=bug) as stage:
        await trouble(stage.bench)
        return await perform(stage, runs)
