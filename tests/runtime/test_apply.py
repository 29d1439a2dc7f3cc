"""Acting: every kind of action, in its order, under the lease, recorded before and after, and no longer than a pass."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

import pytest

from controller.api.constants import API_VERSION
from controller.core.actions import (
    Action,
    Cordon,
    CreateChild,
    DeleteResource,
    InjectToken,
    InsertResource,
    LabelNode,
    MintToken,
    Outcome,
    RevokeToken,
    SetFinalizers,
)
from controller.core.failures import Conflict, Gone, Rejected, Retry
from controller.core.model import Cause, Kind
from controller.core.observed import OperationView
from controller.runtime.apply import Applier
from controller.runtime.auditing import resource_of
from controller.runtime.custom_resources import Change
from controller.runtime.leadership import NotLeader
from controller.runtime.token_work import TokenWork
from sinks.audit.record import AuditCause, AuditFailure, AuditOperation, AuditRecord
from sinks.audit.record import Outcome as Recorded
from tests.core.builders import GROUP_KEY, MARK, make_instance, make_ref, vm
from tests.runtime.actions import CHILD_KEY, EVERY_ACTION, KINDS, MANIFEST, MIG_PATH, REF, VM
from tests.runtime.virtual_time import BEGINNING, elapsed
from tests.runtime.world import World, make_pass


class Acting:
    """An applier in a world, with what it told of custom resources."""

    def __init__(self, **limits: Any) -> None:
        self.world = World()
        self.changes: list[Change] = []
        tokens = TokenWork(self.world.env, signature_wait=2.0)
        self.applier = Applier(self.world.env, tokens, self.world.auditor, self.changes.append, **limits)

    async def apply(self, *actions: Action, **causes: Cause) -> tuple[list[Outcome], bool]:
        """Apply them in one pass."""
        return await self.applier.apply(actions, make_pass(causes))


def slowly(acting: Acting, seconds: float) -> None:
    """Each write to a Node takes so long."""
    label = acting.world.cluster.label_node

    async def slow(name: str, uid: str, labels: Any) -> None:
        await asyncio.sleep(seconds)
        await label(name, uid, labels)

    acting.world.cluster.label_node = slow  # type: ignore[method-assign]


def label(name: str, key: str = "a") -> LabelNode:
    """A write to a Node."""
    return LabelNode(name, "n1", {key: "b"})


def test_every_kind_of_action_is_covered_here() -> None:
    assert set(EVERY_ACTION) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_of_action_has_a_resource(kind: type[Action]) -> None:
    action, _, resource = EVERY_ACTION[kind]
    assert resource_of(action) == resource


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
async def test_every_kind_of_action_is_done_by_its_call(kind: type[Action]) -> None:
    action, method, _ = EVERY_ACTION[kind]
    acting = Acting()
    if kind is InjectToken:
        acting.world.vault.mint(GROUP_KEY, VM, BEGINNING)
    (outcome,), complete = await acting.apply(action)
    assert (outcome.action, outcome.failure, complete) == (action, None, True)
    assert acting.world.cloud.count(method) + acting.world.cluster.count(method) == 1


async def test_actions_on_one_target_keep_their_order() -> None:
    acting = Acting()
    await acting.apply(RevokeToken("tok001", vm(), "why"), MintToken(VM), InjectToken(VM, "", ""))
    calls = [call[0] for call in (*acting.world.cluster.calls, *acting.world.cloud.calls)]
    assert calls == ["delete_token_secret", "create_token_secret", "await_signature", "ca_hashes", "set_metadata"]


async def test_targets_do_not_wait_for_one_another() -> None:
    acting = Acting()
    slowly(acting, 0.4)
    await acting.apply(label("a"), label("b"), label("a", "second"))
    assert elapsed() == 0.8
    assert [call[1] for call in acting.world.cluster.calls] == ["a", "b", "a"]


async def test_no_more_targets_are_acted_on_at_one_time_than_allowed() -> None:
    acting = Acting(concurrency=2, pass_limit=100)
    slowly(acting, 1)
    await acting.apply(*(label(name) for name in "abcde"))
    assert elapsed() == 3


async def test_what_matters_first_begins_first() -> None:
    acting = Acting(concurrency=1)
    await acting.apply(label("a"), RevokeToken("tok001", "z", "why"))
    assert [call[0] for call in acting.world.cluster.calls] == ["delete_token_secret", "label_node"]


async def test_a_failure_stops_its_own_target_alone() -> None:
    acting = Acting()
    refused = Rejected("no permission", "403")
    acting.world.cluster.fail("create_token_secret", refused)
    other = Cordon("other", "n2", MARK)
    outcomes, complete = await acting.apply(MintToken(VM), InjectToken(VM, "", ""), other)
    assert sorted(outcomes, key=lambda o: o.action.target) == [
        Outcome(other),
        Outcome(MintToken(VM), failure=refused),
    ]
    assert (acting.world.cloud.calls, complete) == ([], True)


async def test_a_failure_behind_a_success_asks_for_no_look_at_once() -> None:
    acting = Acting()
    acting.world.cluster.fail("create_token_secret", Retry("timeout"))
    _, complete = await acting.apply(RevokeToken("tok001", vm(), "why"), MintToken(VM))
    assert complete is True


async def test_a_pass_begins_nothing_after_its_time() -> None:
    acting = Acting(pass_limit=1.0)
    slowly(acting, 0.7)
    outcomes, complete = await acting.apply(label("a"), label("a", "second"), label("a", "third"))
    assert (len(outcomes), complete, elapsed()) == (2, False, 1.4)


async def test_what_was_not_begun_is_known_although_another_target_failed_behind_a_success() -> None:
    acting = Acting(concurrency=1, pass_limit=1.0)
    slowly(acting, 0.7)
    acting.world.cluster.fail("create_token_secret", Retry("timeout"))
    actions = (RevokeToken("tok001", vm(), "why"), MintToken(VM), label("x"), label("y"), label("z"))
    outcomes, complete = await acting.apply(*actions)
    assert (len(outcomes), complete) == (4, False)


async def test_an_empty_plan_is_complete() -> None:
    assert await Acting().apply() == ([], True)


async def test_without_the_lease_nothing_is_done_and_nothing_is_recorded() -> None:
    acting = Acting()
    acting.world.lease = NotLeader("lost")
    with pytest.raises(NotLeader):
        await acting.apply(MintToken(VM), label("other"))
    await asyncio.sleep(1)
    assert (acting.world.cluster.calls, acting.world.ahead.records, acting.world.records.records) == ([], [], [])


async def test_the_lease_is_checked_before_each_act() -> None:
    acting = Acting()
    await acting.apply(RevokeToken("tok001", vm(), "why"), MintToken(VM), label("other"))
    assert acting.world.checks == 3


FIRST, LAST = AuditOperation("pass-1", first=True), AuditOperation("pass-1", last=True)


def record(action: Action, outcome: Recorded, **fields: Any) -> AuditRecord:
    """The record of an act of the test's pass."""
    base = AuditRecord(
        action=type(action).__name__,
        resource=resource_of(action),
        group="default/slice",
        identity="tester",
        cause=AuditCause("test", BEGINNING, generation=1),
        outcome=outcome,
        started=BEGINNING,
        operation=AuditOperation("pass-1"),
    )
    return replace(base, **fields)


async def test_an_act_is_recorded_before_it_and_after_it() -> None:
    acting = Acting()
    insert = InsertResource(REF, {}, "r1")
    await acting.apply(insert)
    assert acting.world.ahead.records == [record(insert, Recorded.BEGUN, request_id="r1", operation=FIRST)]
    assert acting.world.records.records == [record(insert, Recorded.ACCEPTED, request_id="r1", operation=LAST)]


async def test_the_first_and_the_last_record_of_a_pass_say_so_also_when_a_chain_is_cut_off() -> None:
    acting = Acting()
    acting.world.cluster.fail("create_token_secret", Conflict("It is there.", "409"))
    await acting.apply(MintToken(VM), InjectToken(VM, "10.0.0.2", "10.0.0.2:6443"), label("other"))
    ahead = [(each.action, each.operation) for each in acting.world.ahead.records]
    ended = [each.operation for each in acting.world.records.records]
    assert [operation for _, operation in ahead] == [FIRST, AuditOperation("pass-1")]
    assert sorted(action for action, _ in ahead) == ["LabelNode", "MintToken"]
    assert ended == [AuditOperation("pass-1"), LAST]


async def test_a_failed_act_is_recorded_with_its_code_and_message() -> None:
    acting = Acting()
    acting.world.cluster.fail("cordon_node", Conflict("It changed.", "409"))
    cordon = Cordon(vm(), "n1", MARK)
    await acting.apply(cordon)
    failure = AuditFailure("409", "It changed.")
    assert acting.world.records.records == [record(cordon, Recorded.FAILED, failure=failure, operation=LAST)]


async def test_a_failure_without_a_code_is_recorded_by_its_class() -> None:
    acting = Acting()
    acting.world.cluster.fail("cordon_node", Gone("No such Node."))
    await acting.apply(Cordon(vm(), "n1", MARK))
    assert acting.world.records.records[0].failure == AuditFailure("Gone", "No such Node.")


async def test_an_act_takes_the_time_that_its_record_says() -> None:
    acting = Acting()
    slowly(acting, 0.25)
    await acting.apply(label("a"))
    assert acting.world.records.records[0].latency_ms == 250


async def test_an_act_on_a_vm_is_recorded_with_the_event_that_named_it() -> None:
    acting = Acting()
    cause = Cause("instance.inserted.last", BEGINNING - timedelta(seconds=2), "log|at|id", "detail")
    await acting.apply(MintToken(VM), Cordon("other", "n2", MARK), **{vm(): cause})
    told = {r.action: r.cause for r in acting.world.records.records}
    assert told == {
        "MintToken": AuditCause(cause.kind, cause.at, cause.event, cause.detail, 1),
        "Cordon": AuditCause("test", BEGINNING, generation=1),
    }


async def test_actions_are_counted_by_their_outcome() -> None:
    acting = Acting()
    acting.world.cluster.fail("cordon_node", Conflict("x"))
    await acting.apply(Cordon("a", "n1", MARK), label("b"))
    count = acting.world.env.metrics.registry.get_sample_value
    assert count("tpu_actions_total", {"action": "Cordon", "outcome": "failed"}) == 1
    assert count("tpu_actions_total", {"action": "LabelNode", "outcome": "done"}) == 1


GROUP_RAW: dict[str, Any] = {
    "apiVersion": API_VERSION,
    "kind": "TPUNodeGroup",
    "metadata": {"name": "slice", "namespace": "default", "uid": "u1", "resourceVersion": "7", "finalizers": []},
    "spec": {"project": "p"},
}


async def test_finalizers_that_were_written_are_known_to_the_next_look() -> None:
    acting = Acting()
    resources = acting.world.env.knowledge.resources
    resources.apply(Kind.GROUP, "ADDED", GROUP_RAW)
    metadata = {**GROUP_RAW["metadata"], "resourceVersion": "8", "finalizers": ["f"]}
    acting.world.cluster.answer = {**GROUP_RAW, "metadata": metadata}
    await acting.apply(SetFinalizers(GROUP_KEY, "7", ("f",)))
    group = resources.group(GROUP_KEY)
    assert group is not None
    assert (group.metadata.finalizers, group.metadata.resource_version) == (("f",), "8")
    assert acting.changes == []


async def test_an_object_that_went_with_its_last_finalizer_is_told_once() -> None:
    acting = Acting()
    acting.world.env.knowledge.resources.apply(Kind.GROUP, "ADDED", GROUP_RAW)
    await acting.apply(SetFinalizers(GROUP_KEY, "7", ()))
    assert [(change.key, change.gone) for change in acting.changes] == [(GROUP_KEY, True)]


async def test_a_child_that_was_created_is_known_at_once_and_the_watch_tells_nothing_new() -> None:
    acting = Acting()
    await acting.apply(CreateChild(CHILD_KEY, MANIFEST))
    assert [(change.key, change.new) for change in acting.changes] == [(CHILD_KEY, True)]
    created = {**MANIFEST, "metadata": {**MANIFEST["metadata"], "uid": "new-uid", "resourceVersion": "1000"}}
    assert acting.world.env.knowledge.resources.apply(Kind.MIG, "ADDED", created) is None


async def test_a_request_id_that_is_sent_is_one_that_gce_may_know() -> None:
    acting = Acting()
    acting.world.env.knowledge.unsent.update({"r1", "r2"})
    acting.world.cloud.fail("insert", Retry("timeout"))
    await acting.apply(InsertResource(REF, {}, "r1"))
    assert acting.world.env.knowledge.unsent == {"r2"}


async def test_the_operation_of_a_mutation_is_its_outcome() -> None:
    acting = Acting()
    delete = DeleteResource(make_ref(Kind.MIG), "r2")
    outcomes, _ = await acting.apply(delete)
    assert outcomes == [Outcome(delete, OperationView(f"delete-{MIG_PATH.rpartition('/')[2]}", done=False))]


async def test_a_bug_is_no_outcome() -> None:
    acting = Acting()
    acting.world.cluster.fail("cordon_node", ValueError("a bug"))
    with pytest.raises(ValueError, match="a bug"):
        await acting.apply(Cordon(make_instance().name, "n1", MARK))


MIG: Final = make_ref(Kind.MIG)


async def awaited_after(acting: Acting, *actions: Action) -> list[str]:
    """Of which mutations an entry must come now."""
    await acting.apply(*actions)
    return [missed.what for missed in acting.world.env.knowledge.awaited.missed(MIG.project, 1e9)]


async def test_an_accepted_mutation_must_come_back_as_an_entry() -> None:
    acting = Acting()
    acting.world.env.knowledge.unsent.add("r1")
    assert await awaited_after(acting, InsertResource(MIG, {}, "r1")) == [f"insert of {MIG.path}"]
    acting = Acting()
    assert await awaited_after(acting, DeleteResource(MIG, "r2")) == [f"delete of {MIG.path}"]


async def test_a_request_that_is_sent_again_makes_no_other_entry() -> None:
    # After a lost answer, or a restart: the entry of the first time has come already, for all we know.
    assert await awaited_after(Acting(), InsertResource(MIG, {}, "r1")) == []


async def test_a_refused_mutation_has_no_operation_to_be_told_of() -> None:
    acting = Acting()
    acting.world.cloud.fail("delete", Rejected("no", "403"))
    assert await awaited_after(acting, DeleteResource(MIG, "r1")) == []
