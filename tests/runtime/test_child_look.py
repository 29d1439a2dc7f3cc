"""A child's life, look by look, over small ports: what is written before what is done."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from controller.api.constants import FINALIZER
from controller.api.resources import ChildStatus, Resource
from controller.core.child import status_of
from controller.core.children import child_key, child_manifest
from controller.core.failures import Conflict, Gone, NoCapacity, Rejected, Retry
from controller.core.merge_patch import merge_patch
from controller.core.model import Cause, Key, Kind, Scope, Wake
from controller.core.names import ownership_mark
from controller.core.observed import OperationError, OperationView, ResourceView
from controller.core.plan import Policy
from controller.runtime.apply import Applier
from controller.runtime.child_look import ChildLook
from controller.runtime.mailbox import Next
from controller.runtime.observe import Observer
from controller.runtime.statuses import StatusWriter
from controller.runtime.token_work import TokenWork
from tests.core.builders import GROUP, GROUP_KEY, make_ref
from tests.runtime.virtual_time import BEGINNING
from tests.runtime.world import World

Json = dict[str, Any]
KEY, REF, UID = child_key(GROUP, Kind.POLICY), make_ref(Kind.POLICY), "uid-policy"
MIG = Wake(Scope.MIG, Cause("test", BEGINNING))
SPEC = Wake(Scope.SPEC, Cause("test", BEGINNING))


class Child(World):
    """A policy of the group on an API server that keeps it."""

    def __init__(self, **metadata: Any) -> None:
        super().__init__()
        manifest = child_manifest(GROUP, Kind.POLICY, Policy())
        base = {"uid": UID, "resourceVersion": "1", "generation": 1, "finalizers": [FINALIZER]}
        manifest["metadata"] = {**manifest["metadata"], **base, **metadata}
        self.raw: Json = {**manifest, "status": {}}
        self.env.knowledge.resources.apply(Kind.POLICY, "ADDED", self.raw)
        self.posts: list[tuple[Key, Wake]] = []
        applier = Applier(self.env, TokenWork(self.env, signature_wait=0.1), self.auditor, lambda _: None)
        self.looks = ChildLook(
            self.env,
            Observer(self.env),
            applier,
            StatusWriter(self.env),
            lambda key, wake: self.posts.append((key, wake)),
        )
        patch_status, set_finalizers = self.cluster.patch_status, self.cluster.set_finalizers

        async def patching(key: Key, uid: str, patch: Json) -> Json:
            self.cluster.answer = self._next()
            return await patch_status(key, uid, patch)

        async def finalizing(key: Key, resource_version: str, finalizers: Sequence[str]) -> Json | None:
            gone = "deletionTimestamp" in self.raw["metadata"] and not finalizers
            self.raw["metadata"]["finalizers"] = list(finalizers)
            self.cluster.answer = None if gone else self._next()
            return await set_finalizers(key, resource_version, finalizers)

        self.cluster.patch_status = patching  # type: ignore[method-assign]
        self.cluster.set_finalizers = finalizing  # type: ignore[method-assign]

    def _next(self) -> Json:
        version = int(self.raw["metadata"]["resourceVersion"]) + 1
        self.raw["metadata"] = {**self.raw["metadata"], "resourceVersion": str(version)}
        return self.raw

    @property
    def child(self) -> Resource:
        """The child as known."""
        found = self.env.knowledge.resources.get(KEY)
        assert found is not None
        return found

    @property
    def status(self) -> ChildStatus:
        """Its status."""
        return status_of(self.child)

    async def look(self, wake: Wake = MIG) -> Next:
        """One look."""
        return await self.looks.run(KEY, self.child, wake)

    def delete(self) -> None:
        """The user deletes it."""
        version = str(int(self.raw["metadata"]["resourceVersion"]) + 1)
        stamp = "2026-01-31T12:00:00Z"
        self.raw["metadata"] = {**self.raw["metadata"], "deletionTimestamp": stamp, "resourceVersion": version}
        self.env.knowledge.resources.apply(Kind.POLICY, "MODIFIED", self.raw)

    def exists(self, **fields: Any) -> None:
        """GCE has the policy."""
        mark = ownership_mark(KEY, UID)
        view = ResourceView(REF, "4711", mark, status="READY")
        self.cloud.resources[REF.path] = replace(view, **fields)

    def done(self, name: str, error: OperationError | None = None) -> None:
        """An operation has ended."""
        self.cloud.operations[name] = OperationView(name, done=True, error=error)

    @property
    def acts(self) -> list[str]:
        """The mutations so far."""
        names = {"insert", "delete", "patch_status", "set_finalizers"}
        return [call[0] for call in (*self.cluster.calls, *self.cloud.calls) if call[0] in names]


def ready(world: Child) -> tuple[str, str]:
    """Status and reason of Ready."""
    (condition,) = world.status.conditions
    return condition.status, condition.reason


async def test_a_child_without_our_finalizer_gets_it_and_nothing_is_read() -> None:
    world = Child(finalizers=[])
    following = await world.look()
    assert (world.acts, world.cloud.calls) == (["set_finalizers"], [])
    assert following.again is not None
    assert world.child.metadata.finalizers == (FINALIZER,)


async def test_the_request_id_is_in_the_status_before_the_insert_is_sent() -> None:
    world = Child()
    following = await world.look()
    request_id = world.status.request_id
    assert (world.acts, following.again) == (["patch_status"], SPEC)
    assert request_id in world.env.knowledge.unsent
    await world.look(SPEC)
    assert [call[3] for call in world.cloud.calls if call[0] == "insert"] == [request_id]
    assert (world.status.operation_name, world.status.request_id) == (f"insert-{REF.name}", request_id)
    assert world.env.knowledge.unsent == set()


async def test_the_end_of_the_operation_makes_it_ready_and_wakes_its_group() -> None:
    world = Child()
    await world.look()
    await world.look(SPEC)
    world.exists()
    world.done(f"insert-{REF.name}")
    world.posts.clear()
    await world.look()
    assert (ready(world), world.status.operation_name, world.status.request_id) == (("True", "Created"), None, None)
    assert world.posts == [(GROUP_KEY, SPEC)]


async def test_an_insert_without_an_answer_is_sent_again_with_the_same_id() -> None:
    world = Child()
    await world.look()
    world.cloud.fail("insert", Retry("timeout"))
    following = await world.look(SPEC)
    assert following.retry == Wake(Scope.MIG, Cause("retry", BEGINNING))
    await world.look()
    first, second = [call[3] for call in world.cloud.calls if call[0] == "insert"]
    assert first == second


async def test_an_insert_that_was_refused_is_sent_anew_with_another_id_after_five_minutes() -> None:
    world = Child()
    await world.look()
    world.cloud.fail("insert", Rejected("no permission", "403"))
    following = await world.look(SPEC)
    assert (ready(world), world.status.request_id) == (("False", "RequestRejected"), None)
    assert following.retry_after == 300


async def test_a_conflict_is_looked_at_at_once_and_what_is_ours_adopted() -> None:
    world = Child()
    await world.look()
    world.cloud.fail("insert", Conflict("exists", "409"))
    following = await world.look(SPEC)
    assert following.again is not None
    assert following.again.scope == Scope.MIG
    assert following.retry is None
    world.exists()
    await world.look()
    assert ready(world) == ("True", "Created")


async def test_a_stockout_in_the_operation_is_told_and_retried_slowly() -> None:
    world = Child()
    await world.look()
    await world.look(SPEC)
    world.done(f"insert-{REF.name}", OperationError("QUOTA_EXCEEDED", "Quota exceeded."))
    following = await world.look()
    assert (ready(world), following.retry_after) == (("False", "QuotaExceeded"), 30)
    assert world.status.operation_name is None


async def test_a_deletion_ends_when_gce_answers_404() -> None:
    world = Child()
    world.exists()
    await world.look()
    world.delete()
    await world.look()
    assert world.status.operation_name == f"delete-{REF.name}"
    del world.cloud.resources[REF.path]
    world.done(f"delete-{REF.name}")
    world.cloud.calls.clear()
    await world.look()
    assert world.env.knowledge.resources.get(KEY) is None
    assert world.cloud.count("insert") == 0


async def test_what_was_deleted_by_somebody_else_is_gone_as_well() -> None:
    world = Child()
    world.exists()
    world.delete()
    world.cloud.fail("delete", Gone("gone", "404"))
    following = await world.look()
    assert (following.retry, following.again) == (None, Wake(Scope.MIG, MIG.cause))


async def test_a_child_that_is_deleted_before_its_insert_was_sent_lets_go_at_once() -> None:
    world = Child()
    await world.look()
    world.delete()
    await world.look()
    assert world.cloud.count("insert") == 0
    assert world.env.knowledge.resources.get(KEY) is None


async def test_after_a_restart_an_insert_of_unknown_outcome_is_replayed_before_letting_go() -> None:
    world = Child()
    world.raw["status"] = {"requestId": "from-before"}
    world.env.knowledge.resources.apply(Kind.POLICY, "DELETED", world.raw)
    world.env.knowledge.resources.apply(Kind.POLICY, "ADDED", world.raw)
    world.delete()
    await world.look()
    assert [call[3] for call in world.cloud.calls if call[0] == "insert"] == ["from-before"]
    assert world.env.knowledge.resources.get(KEY) is not None


async def test_a_read_that_failed_is_told_when_it_lasts() -> None:
    world = Child()
    failure = NoCapacity("quota", "429")
    for attempt in (1, 2, 3):
        following = await world.looks.failed(KEY, world.child, SPEC, failure)
        assert following.retry == Wake(Scope.SPEC | Scope.MIG, SPEC.cause)
        assert bool(world.status.conditions) is (attempt == 3)
    assert ready(world) == ("Unknown", "ReconcileError")


async def test_nothing_changes_while_nothing_happens() -> None:
    world = Child()
    world.exists()
    await world.look()
    before = world.status
    world.cluster.calls.clear()
    await world.look()
    assert (merge_patch(before.to_manifest(), world.status.to_manifest()), world.acts) == ({}, [])
