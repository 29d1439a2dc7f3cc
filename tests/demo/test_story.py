"""The scenarios, on a cluster that answers each deed with a fixed sequence of changes."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from controller.demo import story as module
from controller.demo.options import ControlPlane, DemoOptions, Scenario
from controller.demo.story import Story, StoryError
from controller.demo.witness import Witness
from tests.demo.builders import at

Change = Callable[["Stage"], None]
JOINS = ControlPlane("1.34", "10.128.0.2", 6443)


def ready(status: str, reason: str = "Ready") -> Change:
    def change(stage: "Stage") -> None:
        condition = {"type": "Ready", "status": status, "reason": reason, "message": "m"}
        stage.witness.see_group("MODIFIED", {"metadata": {}, "status": {"conditions": [condition]}})

    return change


def node(change_type: str, name: str, instance_id: str) -> Change:
    def change(stage: "Stage") -> None:
        stage.revision += 1
        meta = {
            "name": name,
            "uid": f"{name}-{instance_id}",
            "resourceVersion": str(stage.revision),
            "labels": {"tpu.google.com/instance-id": instance_id},
        }
        stage.witness.see_node(change_type, {"metadata": meta})

    return change


def gone(stage: "Stage") -> None:
    stage.witness.see_group("DELETED", {})


UP = (node("ADDED", "vm-a", "1"), node("ADDED", "vm-b", "2"), ready("True"))


class Stage:
    """User and fate in one. `answers`: what the cluster shows after each deed, change by change."""

    def __init__(self, answers: Mapping[str, Sequence[Change]]) -> None:
        self.witness = Witness(lambda: at(0))
        self.answers: dict[str, Sequence[Change]] = {"apply demo-slice": UP, "delete": (gone,), **answers}
        self.deeds: list[str] = []
        self.said: list[str] = []
        self.revision = 0
        self._playing: set[asyncio.Task[None]] = set()

    async def apply(self, manifest: dict[str, Any]) -> None:
        self._do(f"apply {manifest['metadata']['name']}")

    async def delete(self) -> None:
        self._do("delete")

    async def strike(self, instance: str, what: str) -> None:
        self._do(f"{what} {instance}")

    async def capacity(self, zone: str, machine_type: str, available: int | None) -> None:
        self._do(f"capacity {zone} {machine_type} {available}")

    def _do(self, deed: str) -> None:
        self.deeds.append(deed)
        self._playing.add(asyncio.ensure_future(self._answer(self.answers.get(deed, ()))))

    async def _answer(self, changes: Sequence[Change]) -> None:
        for change in changes:
            for _ in range(10):  # turns of the loop in which the story sees what was before
                await asyncio.sleep(0)
            change(self)


def story(stage: Stage, scenario: Scenario) -> Story:
    seconds = iter(range(1000))
    return Story(
        DemoOptions(scenario), JOINS, stage, stage, stage.witness, stage.said.append, lambda: float(next(seconds))
    )


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.05)


async def test_a_life_goes_through_a_host_error_to_deleted() -> None:
    stage = Stage({"host-error vm-a": (ready("False", "HostError"), ready("True"))})
    life = story(stage, Scenario.LIFE)
    await life.play()
    await life.delete()
    assert stage.deeds == ["apply demo-slice", "host-error vm-a", "delete"]
    assert stage.said == [
        "you apply a TPUNodeGroup: 2 hosts tpu7x-standard-4t, 2x2x2, BULK, STANDARD",
        "a host fails under vm-a",
        "you delete it",
    ]
    assert life.ready_seconds == 1


async def test_a_restart_as_another_vm_ends_the_story() -> None:
    again = (ready("False"), node("DELETED", "vm-a", "1"), node("ADDED", "vm-a", "9"), ready("True"))
    with pytest.raises(StoryError, match="the restarted slice has other VMs"):
        await story(Stage({"host-error vm-a": again}), Scenario.LIFE).play()


async def test_preempted_hosts_come_back_as_others_under_the_same_names() -> None:
    def lost(name: str, old: str, new: str) -> tuple[Change, ...]:
        return (ready("False", "Preempted"), node("DELETED", name, old), node("ADDED", name, new))

    answers = {"preempt vm-a": lost("vm-a", "1", "3"), "preempt vm-b": (*lost("vm-b", "2", "4"), ready("True"))}
    stage = Stage(answers)
    await story(stage, Scenario.PREEMPT).play()
    assert stage.deeds == ["apply demo-slice", "preempt vm-a", "preempt vm-b"]


async def test_a_stockout_is_shown_and_ends() -> None:
    stage = Stage(
        {
            "apply demo-slice": (ready("False", "Provisioning"), ready("False", "Stockout")),
            "capacity us-central1-c tpu7x-standard-4t None": (ready("True"),),
        }
    )
    await story(stage, Scenario.STOCKOUT).play()
    assert stage.deeds == [
        "capacity us-central1-c tpu7x-standard-4t 0",
        "apply demo-slice",
        "capacity us-central1-c tpu7x-standard-4t None",
    ]


@pytest.mark.usefixtures("impatient")
async def test_what_does_not_come_is_named_with_how_things_stand() -> None:
    stage = Stage({"apply demo-slice": (ready("False", "QuotaExceeded"),)})
    with pytest.raises(StoryError) as caught:
        await story(stage, Scenario.LIFE).play()
    assert str(caught.value) == "waited 0.05 s for Ready=True; the group says Ready=False, QuotaExceeded: m"


@pytest.mark.usefixtures("impatient")
async def test_a_group_that_never_says_anything_is_named_so() -> None:
    with pytest.raises(StoryError) as caught:
        await story(Stage({"apply demo-slice": ()}), Scenario.LIFE).play()
    assert str(caught.value) == "waited 0.05 s for Ready=True; the group says no Ready condition yet"
