"""Gathering: what a look reads, and what the deletion of a child waits for."""

from dataclasses import replace
from typing import Any

import pytest

from controller.api.constants import FINALIZER
from controller.api.resources import ManagedInstanceGroup, Resource, TPUNodeGroup, parse
from controller.core.child import status_of
from controller.core.children import child_key, child_manifest
from controller.core.failures import Retry
from controller.core.model import Cause, Kind, Scope, Wake
from controller.core.observed import MigView, ResourceRef, ResourceView
from controller.core.plan import Policy, Recheck
from controller.runtime.apply import Applier
from controller.runtime.child_look import ChildLook
from controller.runtime.knowledge import brought_template
from controller.runtime.observe import Observer
from controller.runtime.statuses import StatusWriter
from controller.runtime.token_work import TokenWork
from tests.core.builders import (
    GROUP,
    GROUP_KEY,
    PROJECT,
    make_group,
    make_instance,
    make_node,
    make_row,
    make_template_view,
    vm,
)
from tests.runtime.test_group_look import Life, joined, ready_life, wake
from tests.runtime.virtual_time import BEGINNING
from tests.runtime.world import World

URI = f"projects/{PROJECT}/global/instanceTemplates/golden"
DELETED = "2026-01-31T12:00:00Z"


@pytest.mark.parametrize(
    ("uri", "location"),
    [
        (URI, "global"),
        (f"https://www.googleapis.com/compute/v1/{URI}", "global"),
        (f"projects/{PROJECT}/regions/us-central1/instanceTemplates/golden", "us-central1"),
        (
            f"https://compute.googleapis.com/compute/v1/projects/{PROJECT}/regions/us-central1/instanceTemplates/golden",
            "us-central1",
        ),
    ],
)
def test_where_a_brought_template_is(uri: str, location: str) -> None:
    group = make_group(instanceConfig=None, bootstrapKubernetes=None, instanceTemplateURI=uri)
    assert brought_template(group) == ResourceRef(Kind.TEMPLATE, PROJECT, location, "golden")


class Bringing(World):
    """A group with a brought template."""

    def __init__(self) -> None:
        super().__init__()
        self.group = make_group(instanceConfig=None, bootstrapKubernetes=None, instanceTemplateURI=URI)
        self.ref = brought_template(self.group)
        self.observer = Observer(self.env)

    async def rejection(self, group: TPUNodeGroup | None = None) -> str | None:
        """Why the group cannot work, after a look."""
        seen = await self.observer.group(GROUP_KEY, group or self.group, wake(Scope.SPEC))
        return seen.rejection


async def test_a_brought_template_that_does_not_exist_is_asked_for_again_by_each_look() -> None:
    world = Bringing()
    why = f"spec.instanceTemplateURI: {URI} does not exist; create it, or name another one"
    assert (await world.rejection(), await world.rejection()) == (why, why)
    assert world.cloud.count("get") == 2


async def test_one_that_does_is_read_once() -> None:
    world = Bringing()
    world.cloud.resources[URI] = ResourceView(world.ref, "1", template=make_template_view())
    assert (await world.rejection(), await world.rejection()) == (None, None)
    assert world.cloud.count("get") == 1


async def test_one_that_cannot_serve_is_refused() -> None:
    world = Bringing()
    bad = make_template_view(machine_type="n2-standard-4")
    world.cloud.resources[URI] = ResourceView(world.ref, "1", template=bad)
    assert await world.rejection() == (
        f"{URI}: its machine type 'n2-standard-4' is no TPU of v6e or v7; bring a template of one"
    )


async def test_a_spec_that_cannot_work_is_refused_without_a_call() -> None:
    world = Bringing()
    assert await world.rejection(make_group(nodeCount=3)) is not None
    assert world.cloud.calls == []


class Bootstrapping(World):
    """A group of ours on a control plane of some version, before it has a child."""

    def __init__(self, control_plane: str) -> None:
        super().__init__()
        self.cluster.control_plane = control_plane

    async def rejection(self) -> str | None:
        """Why the group cannot work, after a look."""
        return (await Observer(self.env).group(GROUP_KEY, GROUP, wake(Scope.SPEC))).rejection


async def test_a_group_of_a_version_that_the_control_plane_does_not_take_is_refused() -> None:
    assert "takes nodes of 1.33 to 1.36" in (await Bootstrapping("v1.36.3").rejection() or "")


async def test_a_group_of_a_version_that_it_takes_is_not() -> None:
    assert await Bootstrapping("v1.34.3").rejection() is None


async def test_an_upgrade_of_the_control_plane_strands_no_group_that_has_its_vms() -> None:
    life = await ready_life()
    life.cluster.control_plane = "v1.40.0"
    seen = await Observer(life.env).group(GROUP_KEY, life.group, wake(Scope.SPEC))
    assert seen.rejection is None


class Dying(Life):
    """The group, one of its children being deleted."""

    def dying(self, kind: Kind) -> Resource:
        """The child of this kind, with its deletion asked for."""
        raw = self._child(kind)
        raw["metadata"] |= {"resourceVersion": "50", "deletionTimestamp": DELETED}
        self.dispatch.custom_resource(kind, "MODIFIED", raw)
        found = self.env.knowledge.resources.get(child_key(GROUP, kind))
        assert found is not None
        return found

    async def blocked_by(self, kind: Kind) -> str:
        """What its deletion waits for."""
        child = self.dying(kind)
        seen = await Observer(self.env).child(child_key(GROUP, kind), child, status_of(child), wake(Scope.SPEC))
        return seen.blocked_by


@pytest.mark.parametrize("kind", [Kind.POLICY, Kind.TEMPLATE])
async def test_template_and_policy_wait_for_the_mig(kind: Kind) -> None:
    world = Dying()
    assert await world.blocked_by(kind) == f"{child_key(GROUP, Kind.MIG)} to be gone"
    world.dispatch.custom_resource(Kind.MIG, "DELETED", world._child(Kind.MIG))
    assert await world.blocked_by(kind) == ""


async def test_the_mig_waits_for_the_cordon_of_its_nodes() -> None:
    world = Dying()
    world.node_is("aaaa", joined("aaaa", "1001"))
    world.node_is("bbbb", make_node("bbbb", provider_id=f"gce://other/zone/{vm('bbbb')}"))
    assert await world.blocked_by(Kind.MIG) == f"the cordon of {vm('aaaa')}"
    world.node_is("aaaa", replace(joined("aaaa", "1001"), unschedulable=True))
    assert await world.blocked_by(Kind.MIG) == ""


async def test_without_an_owner_nothing_is_waited_for() -> None:
    world = Dying()
    world.node_is("aaaa", joined("aaaa", "1001"))
    world.dispatch.custom_resource(Kind.GROUP, "DELETED", world.raw)
    assert await world.blocked_by(Kind.MIG) == ""


async def test_many_vms_are_read_by_one_list() -> None:
    life = await ready_life()
    names = [f"{i:04}" for i in range(40)]
    for number, suffix in enumerate(names):
        life.cloud.instances[vm(suffix)] = make_instance(suffix, id=str(5000 + number), status="STOPPING")
    await life.look(wake(Scope.INSTANCES, *(vm(suffix) for suffix in names)))
    assert (life.cloud.count("list_instances"), life.cloud.count("get_instance")) == (1, 0)


async def test_one_read_that_fails_does_not_lose_the_others() -> None:
    life = await ready_life()
    life.vm_is("bbbb", "1002", "TERMINATED")
    timeout = Retry("timeout")
    life.cloud.fail("get_instance", timeout)
    await life.look(wake(Scope.INSTANCES, vm("aaaa"), vm("bbbb")))
    memory = life.env.knowledge.memory(GROUP_KEY)
    assert (memory.instances[vm("bbbb")].status, memory.unread) == ("TERMINATED", {vm("aaaa"): timeout})


async def test_a_look_at_a_group_that_could_not_be_finished_is_told_when_it_lasts() -> None:
    life = await ready_life()
    for attempt in (1, 2, 3):
        following = await life.looks.failed(GROUP_KEY, life.group, wake(Scope.MIG), Retry("timeout"))
        assert following.retry == wake(Scope.MIG)
        assert (life.ready == ("Unknown", "ReconcileError")) is (attempt == 3)


async def test_a_group_that_went_while_it_was_read_is_left_alone() -> None:
    life = await ready_life()
    group = life.group
    life.dispatch.custom_resource(Kind.GROUP, "DELETED", life.raw)
    life.cluster.calls.clear()
    await life.looks.run(GROUP_KEY, group, wake(Scope.NODES))
    assert life.cluster.calls == []


async def test_a_mig_on_its_own_follows_its_vms_until_they_run() -> None:
    world = World()
    manifest = child_manifest(GROUP, Kind.MIG, Policy())
    base = {"uid": "m1", "resourceVersion": "1", "finalizers": [FINALIZER], "ownerReferences": []}
    raw: dict[str, Any] = {**manifest, "metadata": {**manifest["metadata"], **base}}
    key = child_key(GROUP, Kind.MIG)
    world.env.knowledge.resources.apply(Kind.MIG, "ADDED", raw)
    world.cluster.answer = raw
    applier = Applier(world.env, TokenWork(world.env, signature_wait=0.1), world.auditor, lambda _: None)
    looks = ChildLook(world.env, Observer(world.env), applier, StatusWriter(world.env), lambda *_: None)
    child = parse(raw)
    assert isinstance(child, ManagedInstanceGroup)
    path = f"projects/{PROJECT}/zones/us-central1-c/instanceGroupManagers/{key.name}"
    mark = f"tpu-node-group-controller ManagedInstanceGroup default/{key.name} uid=m1"
    kinds = []
    for counts in ({"staging": 2}, {"running": 2}):
        view = MigView(2, is_stable=False, counts=counts)
        ref = ResourceRef(Kind.MIG, PROJECT, "us-central1-c", key.name)
        world.cloud.resources[path] = ResourceView(ref, "1", mark, mig=view)
        following = await looks.run(key, child, Wake(Scope.MIG, Cause("test", BEGINNING)))
        kinds.append([recheck.kind for recheck in following.rechecks])
    assert kinds == [["follow_up", "resync"], ["resync"]]


async def test_a_row_tells_of_a_vm_that_is_on_its_way() -> None:
    life = Life()
    life.cloud.rows = (make_row("aaaa", status="STAGING"),)
    life.mig({"staging": 1})
    following = await life.look(wake(Scope.ALL))
    assert (life.ready, life.cloud.count("get_instance")) == (("False", "Provisioning"), 0)
    follow_up = Recheck(BEGINNING + life.env.policy.follow_up_first * 2, "follow_up", Scope.MIG)
    assert follow_up in following.rechecks
