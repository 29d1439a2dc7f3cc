"""One look at one key: handed to the one that knows its kind; a failure comes back as a retry and never leaves."""

from datetime import timedelta
from typing import Any

import pytest

from controller.api.resources import Resource
from controller.core.children import child_key, child_manifest
from controller.core.failures import Failure, Retry
from controller.core.model import Cause, Key, Kind, Scope, Wake
from controller.core.plan import Policy, Recheck
from controller.runtime.leadership import NotLeader
from controller.runtime.mailbox import Next
from controller.runtime.pacing import calling_group, calling_priority
from controller.runtime.reconcile import Reconciler
from controller.runtime.resync import resync_recheck
from tests.core.builders import GROUP, GROUP_KEY
from tests.runtime.virtual_time import BEGINNING
from tests.runtime.world import World

CHILD_KEY = child_key(GROUP, Kind.POLICY)
DONE, RETRIED = Next(retry_after=1.0), Next(retry_after=2.0)


class Looks:
    """A kind's looks: notes them, and raises what it is told to."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, Key]] = []
        self.context: list[tuple[str, int]] = []
        self.error: Exception | None = None
        self.error_of_failed: Exception | None = None

    async def run(self, key: Key, resource: Resource, wake: Wake) -> Next:
        """Look."""
        del resource, wake
        self.seen.append(("run", key))
        self.context.append((calling_group.get(), calling_priority.get()))
        if self.error is not None:
            raise self.error
        return DONE

    async def failed(self, key: Key, resource: Resource, wake: Wake, failure: Failure) -> Next:
        """Tell."""
        del resource, wake
        assert failure is self.error
        self.seen.append(("failed", key))
        if self.error_of_failed is not None:
            raise self.error_of_failed
        return RETRIED


class Reconciling(World):
    """A reconciler that knows the group and one child."""

    def __init__(self) -> None:
        super().__init__()
        self.groups, self.children = Looks(), Looks()
        manifest = child_manifest(GROUP, Kind.POLICY, Policy())
        manifest["metadata"] |= {"uid": "c1", "resourceVersion": "1"}
        self.env.knowledge.resources.apply(Kind.GROUP, "ADDED", GROUP.to_manifest())
        self.env.knowledge.resources.apply(Kind.POLICY, "ADDED", manifest)
        self.reconciler = Reconciler(self.env, self.groups, self.children)  # type: ignore[arg-type]

    async def look(self, key: Key = GROUP_KEY, kind: str = "test") -> Next:
        """One look."""
        return await self.reconciler.look(key, wake(kind))

    def metric(self, name: str, **labels: Any) -> float | None:
        """A metric's value."""
        return self.env.metrics.registry.get_sample_value(name, labels)


def wake(kind: str = "test") -> Wake:
    """A wake."""
    return Wake(Scope.SPEC, Cause(kind, BEGINNING))


async def test_each_kind_has_its_own_looks() -> None:
    world = Reconciling()
    assert (await world.look(), await world.look(CHILD_KEY)) == (DONE, DONE)
    assert (world.groups.seen, world.children.seen) == ([("run", GROUP_KEY)], [("run", CHILD_KEY)])


async def test_an_object_that_is_gone_needs_no_look() -> None:
    world = Reconciling()
    assert await world.look(Key(Kind.GROUP, "default", "gone")) == Next()
    assert world.groups.seen == []


@pytest.mark.parametrize(("kind", "priority"), [("resync", 3), ("start", 3), ("instance.inserted.last", 1)])
async def test_calls_are_paced_by_whose_look_makes_them_and_why(kind: str, priority: int) -> None:
    world = Reconciling()
    await world.look(kind=kind)
    assert world.groups.context == [("default/slice", priority)]


@pytest.mark.parametrize("key", [GROUP_KEY, CHILD_KEY], ids=["a group", "a child"])
async def test_a_failure_is_told_and_comes_back_as_a_retry(key: Key) -> None:
    world = Reconciling()
    looks = world.groups if key == GROUP_KEY else world.children
    looks.error = Retry("timeout")
    assert await world.look(key) == RETRIED
    assert looks.seen == [("run", key), ("failed", key)]


@pytest.mark.parametrize("again", [Retry("also"), NotLeader("lost")], ids=["another failure", "a lost lease"])
async def test_a_failure_that_cannot_be_told_is_retried_all_the_same(again: Exception) -> None:
    world = Reconciling()
    world.groups.error, world.groups.error_of_failed = Retry("timeout"), again
    assert await world.look() == Next(retry=wake())
    assert world.metric("tpu_looks_failed_total", kind="TPUNodeGroup") == 1


async def test_without_the_lease_a_look_ends_and_nothing_is_retried() -> None:
    world = Reconciling()
    world.groups.error = NotLeader("lost")
    assert await world.look() == Next()


async def test_a_bug_leaves_for_the_mailbox_to_report() -> None:
    world = Reconciling()
    world.groups.error = ValueError("a bug")
    with pytest.raises(ValueError, match="a bug"):
        await world.look()


async def test_looks_are_counted_by_what_caused_them() -> None:
    world = Reconciling()
    await world.look(kind="resync")
    assert world.metric("tpu_looks_total", kind="TPUNodeGroup", cause="resync") == 1


class TestResync:
    """The safety net."""

    def due(self, world: World, kind: str = "test", *, deaf: bool = False) -> float:
        """Seconds until the next one, after a look of this kind."""
        recheck = resync_recheck(world.env, GROUP_KEY, wake(kind), deaf=deaf)
        assert recheck == Recheck(recheck.at, "resync", Scope.MIG | Scope.SPEC)
        return (recheck.at - world.clock.now()).total_seconds()

    def test_it_comes_ten_minutes_after_the_last_one(self) -> None:
        assert self.due(World()) == 600

    def test_other_looks_do_not_put_it_off(self) -> None:
        world = World()
        self.due(world)
        world.clock.advance(599)
        assert self.due(world) == 1

    def test_it_is_planned_anew_when_it_was_made(self) -> None:
        world = World()
        self.due(world)
        world.clock.advance(600)
        assert self.due(world, "resync") == 600

    def test_one_that_is_overdue_is_planned_anew(self) -> None:
        world = World()
        self.due(world)
        world.clock.advance(700)
        assert self.due(world) == 600

    def test_while_no_events_come_it_comes_much_sooner_and_then_no_more(self) -> None:
        world = World()
        self.due(world)
        deaf = world.env.policy.deaf_resync
        assert (self.due(world, deaf=True), deaf) == (deaf.total_seconds(), timedelta(seconds=30))
        world.clock.advance(30)
        assert self.due(world, "resync") == 600
