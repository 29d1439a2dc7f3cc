"""From what Kubernetes tells to wakes of those whom it concerns."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from controller.api.constants import API_VERSION, FINALIZER
from controller.core.children import child_key, child_manifest
from controller.core.failures import Retry
from controller.core.model import Cause, Key, Kind, Scope, Wake
from controller.core.observed import NodeView
from controller.core.plan import Policy
from controller.runtime.apply import Applier
from controller.runtime.dispatch import Dispatch
from controller.runtime.housekeeping import Housekeeping
from controller.runtime.token_work import TokenWork
from tests.core.builders import GROUP, GROUP_KEY, UID, after, ago, make_node, make_token, vm
from tests.runtime.virtual_time import BEGINNING, elapsed
from tests.runtime.world import World

Json = dict[str, Any]
MIG, TEMPLATE, POLICY = (child_key(GROUP, kind) for kind in (Kind.MIG, Kind.TEMPLATE, Kind.POLICY))
DELETED: Json = {"deletionTimestamp": "2026-01-31T12:00:00Z"}


def raw_group(version: int = 10, *, uid: str = UID, status: Json | None = None, **metadata: Any) -> Json:
    """The group as the API gives it."""
    manifest = GROUP.to_manifest()
    base = {"uid": uid, "resourceVersion": str(version), "finalizers": [FINALIZER]}
    manifest["metadata"] = {**manifest["metadata"], **base, **metadata}
    return {**manifest, **({"status": status} if status else {})}


def raw_child(kind: Kind, version: int = 20, **metadata: Any) -> Json:
    """A child of the group as the API gives it."""
    manifest = child_manifest(GROUP, kind, Policy())
    base = {"uid": f"uid-{kind}", "resourceVersion": str(version), "finalizers": [FINALIZER]}
    manifest["metadata"] = {**manifest["metadata"], **base, **metadata}
    return manifest


def wake(kind: str, scope: Scope = Scope.SPEC) -> Wake:
    """A wake of now."""
    return Wake(scope, Cause(kind, BEGINNING))


class Dispatching(World):
    """A dispatch that notes its posts; `seen` objects are known and their posts forgotten."""

    def __init__(self, *seen: Json) -> None:
        super().__init__()
        self.posts: list[tuple[Key, Wake]] = []
        self.forgotten: list[Key] = []
        self.node_views: dict[str, NodeView] = {}
        self.env.knowledge.nodes = self.node_views
        self.dispatch = Dispatch(self.env, lambda key, w: self.posts.append((key, w)), self.forgotten.append)
        for raw in seen:
            self.tell(raw, "ADDED")
        self.posts.clear()

    def tell(self, raw: Json, event_type: str | None = "MODIFIED") -> None:
        """An event of the watch."""
        self.dispatch.custom_resource(Kind(raw["kind"]), event_type, raw)

    def node(self, old: NodeView | None, new: NodeView | None) -> None:
        """An event of the Node watch, after its store has changed."""
        node = new or old
        assert node is not None
        if new is None:
            self.node_views.pop(node.name, None)
        else:
            self.node_views[node.name] = new
        self.dispatch.node(old, new)


ALL: tuple[Json, ...] = (raw_group(), *(raw_child(kind) for kind in (Kind.POLICY, Kind.TEMPLATE, Kind.MIG)))


def test_a_new_group_is_looked_at_in_full() -> None:
    world = Dispatching()
    world.tell(raw_group(), "ADDED")
    assert world.posts == [(GROUP_KEY, wake("start", Scope.ALL))]


async def test_after_the_first_list_a_new_one_was_applied() -> None:
    world = Dispatching()
    await world.dispatch.list_again()
    world.tell(raw_group(), "ADDED")
    assert world.posts == [(GROUP_KEY, wake("spec", Scope.ALL))]


async def test_a_new_child_wakes_itself_in_full_and_its_group() -> None:
    world = Dispatching(raw_group())
    await world.dispatch.list_again()
    world.posts.clear()
    world.tell(raw_child(Kind.MIG), "ADDED")
    assert world.posts == [(MIG, wake("spec", Scope.ALL)), (GROUP_KEY, wake("spec", Scope.SPEC | Scope.MIG))]
    world.posts.clear()
    world.tell(raw_child(Kind.POLICY), "ADDED")
    assert world.posts == [(POLICY, wake("spec", Scope.ALL)), (GROUP_KEY, wake("spec"))]


def test_a_changed_spec_wakes_a_look_at_what_is_known() -> None:
    world = Dispatching(raw_group())
    world.tell(raw_group(11, generation=2))
    assert world.posts == [(GROUP_KEY, wake("start"))]


def test_a_status_alone_wakes_nobody() -> None:
    world = Dispatching(raw_group())
    world.tell(raw_group(11, status={"nodesReady": "2/2"}))
    assert world.posts == []


def test_a_deletion_is_looked_at_in_full() -> None:
    world = Dispatching(raw_group())
    world.tell(raw_group(11, **DELETED))
    assert world.posts == [(GROUP_KEY, wake("deletion", Scope.ALL))]


def test_a_group_that_is_gone_is_forgotten_and_its_children_wait_no_more() -> None:
    world = Dispatching(*ALL)
    world.tell(raw_group(30), "DELETED")
    assert world.forgotten == [GROUP_KEY]
    assert sorted(world.posts, key=str) == sorted([(key, wake("gone")) for key in (MIG, TEMPLATE, POLICY)], key=str)


def test_a_mig_that_is_gone_wakes_its_group_and_those_that_wait_to_be_deleted() -> None:
    world = Dispatching(*ALL[:3], raw_child(Kind.MIG))
    world.tell(raw_child(Kind.TEMPLATE, 21, **DELETED))
    world.posts.clear()
    world.tell(raw_child(Kind.MIG, 30), "DELETED")
    assert world.forgotten == [MIG]
    assert world.posts == [(GROUP_KEY, wake("gone")), (TEMPLATE, wake("gone", Scope.MIG))]


def test_a_policy_that_is_gone_wakes_its_group() -> None:
    world = Dispatching(*ALL)
    world.tell(raw_child(Kind.POLICY, 30), "DELETED")
    assert world.posts == [(GROUP_KEY, wake("gone"))]


def test_events_of_what_is_gone_are_nobodys() -> None:
    world = Dispatching(*ALL)
    index = world.env.knowledge.index
    assert index.owner_of_base(MIG.name) == GROUP_KEY
    world.tell(raw_group(30), "DELETED")
    assert index.owner_of_base(MIG.name) is None


def test_a_mig_on_its_own_hears_of_its_vms_and_one_of_a_group_does_not() -> None:
    own = raw_child(Kind.MIG, ownerReferences=[])
    assert Dispatching(own).env.knowledge.index.owner_of_base(MIG.name) == MIG
    assert Dispatching(raw_child(Kind.MIG)).env.knowledge.index.owner_of_base(MIG.name) is None


NODE = make_node()


def test_a_node_of_the_group_wakes_it() -> None:
    world = Dispatching(raw_group())
    world.node(None, NODE)
    world.node(NODE, replace(NODE, ready=False))
    world.node(replace(NODE, ready=False), None)
    assert world.posts == [(GROUP_KEY, wake("node", Scope.NODES))] * 3


def test_a_node_without_a_provider_id_is_the_groups_by_its_name() -> None:
    world = Dispatching(raw_group())
    world.node(None, make_node(provider_id=""))
    assert world.posts == [(GROUP_KEY, wake("node", Scope.NODES))]


def test_a_node_of_nobody_wakes_nobody() -> None:
    world = Dispatching(raw_group())
    world.node(None, replace(NODE, name="control-plane", provider_id=""))
    world.node(None, replace(NODE, name="other-mig-12345678-abcd", provider_id="gce://p/z/other-mig-12345678-abcd"))
    assert world.posts == []


def test_a_node_that_comes_or_speaks_makes_an_absence_doubtful() -> None:
    world = Dispatching(raw_group())
    memory = world.env.knowledge.memory(GROUP_KEY)
    memory.absent = {vm()}
    world.node(None, NODE)
    assert memory.absent == set()
    memory.absent = {vm()}
    world.dispatch.node_spoke(NODE)
    assert memory.absent == set()


def test_a_cordon_wakes_the_mig_that_waits_for_it() -> None:
    world = Dispatching(*ALL[:3], raw_child(Kind.MIG, **DELETED))
    world.node(None, NODE)
    assert world.posts == [(GROUP_KEY, wake("node", Scope.NODES)), (MIG, wake("node"))]


def test_a_heartbeat_wakes_the_group_only_while_it_waits_for_that_node() -> None:
    ready = Dispatching(raw_group())
    ready.dispatch.node_spoke(NODE)
    assert ready.posts == []
    waiting = Dispatching(raw_group(status={"nodes": [{"name": vm(), "phase": "Joined"}]}))
    waiting.dispatch.node_spoke(NODE)
    assert waiting.posts == [(GROUP_KEY, wake("node", Scope.NODES))]


def test_nodes_are_found_by_the_base_of_their_names() -> None:
    world = Dispatching(raw_group())
    for suffix in ("bbbb", "aaaa"):
        world.node(None, make_node(suffix))
    world.node(None, replace(NODE, name="other-abcd"))
    nodes = world.env.knowledge.nodes_of(MIG.name)
    assert [node.name for node in nodes] == [vm("aaaa"), vm("bbbb")]
    world.node(make_node("aaaa"), None)
    assert [node.name for node in world.env.knowledge.nodes_of(MIG.name)] == [vm("bbbb")]


async def test_a_list_finds_what_the_watch_had_missed() -> None:
    world = Dispatching(raw_group())
    world.cluster.objects[Kind.MIG] = {"m": raw_child(Kind.MIG)}
    assert await world.dispatch.list_again() == 2
    assert world.forgotten == [GROUP_KEY]
    assert world.env.knowledge.resources.keys() == (MIG,)
    assert await world.dispatch.list_again() == 0


class Keeping(Dispatching):
    """Housekeeping over a dispatch."""

    def __init__(self, *seen: Json) -> None:
        super().__init__(*seen)
        for raw in seen:
            self.cluster.objects[Kind(raw["kind"])][raw["metadata"]["name"]] = raw
        tokens = TokenWork(self.env, signature_wait=0)
        applier = Applier(self.env, tokens, self.auditor, self.dispatch.changed)
        self.keeping = Housekeeping(self.env, self.dispatch, applier)

    def drift(self) -> float | None:
        """What rounds had found."""
        return self.env.metrics.registry.get_sample_value("tpu_resync_drift_total", {"kind": "custom_resources"})


async def test_at_the_start_tokens_and_objects_are_known_before_the_first_look() -> None:
    world = Keeping(raw_group())
    world.cluster.tokens = {"tok001": make_token()}
    await world.keeping.start()
    assert world.vault.of_group(GROUP_KEY) == (make_token(),)
    assert world.drift() is None


async def test_what_a_round_finds_is_drift() -> None:
    world = Keeping(raw_group())
    await world.keeping.start()
    world.cluster.objects[Kind.MIG] = {"m": raw_child(Kind.MIG)}
    await world.keeping.again()
    assert world.drift() == 1


async def test_the_token_of_a_group_that_is_gone_is_revoked_under_the_lease() -> None:
    world = Keeping(raw_group())
    world.cluster.tokens = {"tok001": make_token(), "stray0": replace(make_token("stray0"), group="gone")}
    await world.keeping.start()
    await world.keeping.again()
    assert ([*world.cluster.tokens], world.vault.live, world.checks) == (["tok001"], 1, 1)
    assert [(record.action, record.group, record.outcome) for record in world.records.records] == [
        ("RevokeToken", "default/gone", "done")
    ]


async def test_a_group_whose_token_was_deleted_by_somebody_looks_again() -> None:
    world = Keeping(raw_group())
    world.cluster.tokens = {"tok001": make_token()}
    await world.keeping.start()
    world.posts.clear()
    world.cluster.tokens.clear()
    await world.keeping.again()
    assert [(key, wake.scope, wake.cause.kind) for key, wake in world.posts] == [(GROUP_KEY, Scope.NONE, "token")]


@pytest.mark.parametrize(("token_id", "rounds"), [("tok001", [100, 700]), ("other0", [600])])
async def test_only_a_token_of_ours_that_is_lost_asks_for_a_round(token_id: str, rounds: list[float]) -> None:
    world = Keeping(raw_group())
    world.cluster.tokens = {"tok001": make_token(expires=after(hours=1))}
    await world.keeping.start()
    asyncio.get_running_loop().call_later(100, lambda: world.cluster.lost(token_id))
    assert await rounds_within(world, 750) == rounds


async def rounds_within(world: Keeping, seconds: float) -> list[float]:
    """When rounds were made."""
    at: list[float] = []
    listing = world.cluster.list_token_secrets

    async def noting() -> Any:
        at.append(elapsed())
        return await listing()

    world.cluster.list_token_secrets = noting  # type: ignore[method-assign]
    task = asyncio.create_task(world.keeping.run())
    await asyncio.sleep(seconds)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    return at


async def test_a_round_is_made_every_ten_minutes() -> None:
    assert await rounds_within(Keeping(raw_group()), 1900) == [600, 1200, 1800]


async def test_a_round_that_fails_is_repeated_soon() -> None:
    world = Keeping(raw_group())
    world.cluster.fail("list_token_secrets", Retry("timeout"))
    assert await rounds_within(world, 1300) == [600, 660, 1260]


async def test_a_round_that_is_asked_for_is_made_at_once() -> None:
    world = Keeping(raw_group())
    asyncio.get_running_loop().call_later(100, world.keeping.ask)
    assert await rounds_within(world, 750) == [100, 700]


def test_what_was_minted_before_the_group_was_listed_is_no_stray_of_it() -> None:
    world = Keeping(raw_group())
    world.vault.replace([make_token(created=ago(hours=1))], BEGINNING)
    assert world.vault.strays({GROUP_KEY}) == ()


def test_a_resource_that_cannot_be_read_wakes_nobody() -> None:
    world = Dispatching()
    broken = raw_group()
    broken["spec"]["nodeCount"] = "many"
    world.tell({**broken, "apiVersion": API_VERSION}, "ADDED")
    assert world.posts == []
