"""The whole decision of a look at a group, for worlds that people will recognise."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.api.constants import FINALIZER
from controller.api.reasons import Reason
from controller.api.resources import TPUNodeGroup
from controller.core.actions import (
    Cordon,
    CreateChild,
    DeleteChild,
    DeleteStaleNode,
    InjectToken,
    MintToken,
    RevokeToken,
    ScrubMetadata,
    SetFinalizers,
    Uncordon,
)
from controller.core.children import child_key, child_manifest
from controller.core.group import plan_group
from controller.core.join import Host
from controller.core.model import Kind, Scope
from controller.core.observed import Instance, MigView, NodeView, TokenView
from controller.core.plan import Plan, Recheck
from controller.core.snapshot import Child, GroupSnapshot
from tests.core.builders import (
    GROUP,
    GROUP_KEY,
    MARK,
    NOW,
    POLICY,
    ago,
    children,
    make_child,
    make_condition,
    make_group,
    make_host,
    make_instance,
    make_node,
    make_ready_status,
    make_single_hosts,
    make_snapshot,
    make_template_view,
    make_token,
    ready_host,
    vm,
)

REFERENCE = "tpu.google.com/cleanup-mig"
URI = "projects/my-gcp-project/global/instanceTemplates/golden"
COMING = MigView(target_size=2, is_stable=False, counts={"running": 1, "staging": 1})
ONE_RUNS = MigView(target_size=2, is_stable=False, counts={"running": 1})


def plan(snapshot: GroupSnapshot) -> Plan:
    """What is decided of it at NOW."""
    return plan_group(snapshot, POLICY, NOW)


def create(kind: Kind) -> CreateChild:
    """The creation of the group's child of this kind."""
    return CreateChild(child_key(GROUP, kind), child_manifest(GROUP, kind, POLICY))


def inject(instance: Instance) -> InjectToken:
    """The injection that the group asks for."""
    return InjectToken(instance, "10.128.0.2", "10.128.0.2:6443")


CONVERGED = make_snapshot(ready_host(), ready_host("bbbb", "1002"), group=make_group(status=make_ready_status()))


def test_our_finalizer_is_set_before_anything_else() -> None:
    snapshot = make_snapshot(group=make_group(finalizers=("x",)), children={}, filled=False, mig=None)
    assert plan(snapshot) == Plan((SetFinalizers(GROUP_KEY, "7", ("x", FINALIZER)),))


@pytest.mark.parametrize(
    ("there", "created"),
    [
        pytest.param({}, (Kind.POLICY, Kind.TEMPLATE), id="policy and template come first"),
        pytest.param(children(Kind.POLICY), (Kind.TEMPLATE,), id="what is there is not created again"),
        pytest.param(
            {**children(Kind.POLICY), Kind.TEMPLATE: make_child(Kind.TEMPLATE, ready=make_condition("False"))},
            (),
            id="the MIG waits until both are Ready",
        ),
        pytest.param(children(Kind.POLICY, Kind.TEMPLATE), (Kind.MIG,), id="then the MIG is created"),
        pytest.param(children(), (), id="and then all are there"),
    ],
)
def test_children_are_created_in_their_order(there: Mapping[Kind, Child], created: tuple[Kind, ...]) -> None:
    snapshot = make_snapshot(children=there, mig=None)
    assert plan(snapshot) == Plan(tuple(create(kind) for kind in created))


def test_hosts_of_their_own_need_no_policy_for_their_mig() -> None:
    group = make_single_hosts()
    snapshot = make_snapshot(group=group, children=children(Kind.TEMPLATE, group=group), mig=None)
    created = CreateChild(child_key(group, Kind.MIG), child_manifest(group, Kind.MIG, POLICY))
    assert plan(snapshot) == Plan((created,))


def test_the_mig_of_a_brought_template_waits_until_that_was_checked() -> None:
    group = make_group(instanceConfig=None, bootstrapKubernetes=None, instanceTemplateURI=URI)
    there = children(Kind.POLICY, group=group)
    unseen = make_snapshot(group=group, children=there, mig=None)
    seen = make_snapshot(group=group, children=there, mig=None, template=make_template_view())
    assert plan(unseen) == Plan()
    assert plan(seen) == Plan((CreateChild(child_key(group, Kind.MIG), child_manifest(group, Kind.MIG, POLICY)),))


def test_a_group_that_cannot_work_is_left_alone() -> None:
    assert plan(make_snapshot(children={}, mig=None, rejection="change it")) == Plan()


@pytest.mark.parametrize(
    ("ready", "finalizers"),
    [
        pytest.param("False", None, id="not before every child has adopted what was there"),
        pytest.param("True", ("x", FINALIZER), id="once they have"),
    ],
)
def test_the_references_finalizers_are_swapped_for_ours(ready: str, finalizers: tuple[str, ...] | None) -> None:
    group = make_group(finalizers=(REFERENCE, "x", FINALIZER))
    mig = make_child(Kind.MIG, ready=make_condition("True" if ready == "True" else "False"))
    decided = plan(make_snapshot(group=group, children={**children(), Kind.MIG: mig}, mig=None))
    assert decided == (Plan() if finalizers is None else Plan((SetFinalizers(GROUP_KEY, "7", finalizers),)))


def test_a_ready_group_needs_nothing() -> None:
    assert plan(CONVERGED) == Plan()


def test_a_vm_that_runs_is_given_its_token_while_the_other_is_awaited() -> None:
    runs = make_instance()
    snapshot = make_snapshot(
        make_host("aaaa", runs),
        make_host("bbbb", make_instance("bbbb", id="1002", status="STAGING")),
        mig=COMING,
        mig_read_at=NOW,
    )
    assert plan(snapshot) == Plan(
        (MintToken(runs), inject(runs)),
        (
            Recheck(NOW + POLICY.follow_up_first, "follow_up", Scope.MIG),
            Recheck(NOW + POLICY.unconfirmed_looks[0], "unconfirmed", Scope.INSTANCES, (runs.name,)),
        ),
    )


def test_revocations_come_before_tokens_tokens_before_replacements_and_scrubbing_last() -> None:
    joined, runs = make_instance(token="tok001"), make_instance("bbbb", id="1002")
    stale = make_host(
        "cccc",
        make_instance("cccc", id="2003"),
        make_node("cccc", instance_id="1003", heartbeat=ago(hours=1)),
    )
    snapshot = make_snapshot(
        make_host("aaaa", joined, make_node(), make_token()),
        make_host("bbbb", runs),
        stale,
        group=make_single_hosts(3),
        children=children(Kind.TEMPLATE, Kind.MIG, group=make_single_hosts(3)),
        orphans=[make_token("orphan", "dddd")],
        mig=MigView(3, is_stable=True, counts={"running": 3}),
    )
    labelled = [action for action in plan(snapshot).actions if type(action).__name__ != "LabelNode"]
    assert labelled == [
        RevokeToken("tok001", vm(), "not in use any more"),
        RevokeToken("orphan", vm("dddd"), "its VM is gone"),
        MintToken(runs),
        inject(runs),
        DeleteStaleNode(vm("cccc"), "node-uid-cccc", "70", "the Node is that of an earlier VM of this name"),
        ScrubMetadata(joined),
    ]


def test_the_stale_node_of_a_broken_slice_is_deleted_and_only_the_others_are_cordoned() -> None:
    stale = make_host("aaaa", make_instance(id="2001", status="STAGING"), make_node(heartbeat=ago(hours=1)))
    snapshot = make_snapshot(
        stale, ready_host("bbbb", "1002"), group=make_group(status=make_ready_status()), mig_read_at=NOW
    )
    assert plan(snapshot).actions == (
        DeleteStaleNode(vm("aaaa"), "node-uid-aaaa", "70", "the Node is that of an earlier VM of this name"),
        Cordon(vm("bbbb"), "node-uid-bbbb", MARK),
    )


def test_a_slice_that_is_whole_again_is_opened() -> None:
    hosts = [ready_host(cordoned_by=MARK), ready_host("bbbb", "1002", cordoned_by=MARK)]
    assert plan(make_snapshot(*hosts)) == Plan(
        (Uncordon(vm("aaaa"), "node-uid-aaaa"), Uncordon(vm("bbbb"), "node-uid-bbbb"))
    )


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param(
            {"mig": MigView(2, is_stable=True, counts={"running": 2}, topologies={"2x2x2": "FAILED"})},
            id="its topology is not active",
        ),
        pytest.param(
            {"children": {**children(), Kind.MIG: make_child(Kind.MIG, ready=make_condition("False"))}},
            id="its MIG is not Ready",
        ),
    ],
)
def test_a_slice_stays_cordoned_while(fields: dict[str, Any]) -> None:
    hosts = [ready_host(cordoned_by=MARK), ready_host("bbbb", "1002", cordoned_by=MARK)]
    assert plan(make_snapshot(*hosts, **fields)) == Plan()


def test_before_gce_was_heard_nothing_is_done_to_hosts() -> None:
    snapshot = make_snapshot(make_host(node=make_node()), filled=False, mig=None)
    assert plan(snapshot) == Plan()


def test_a_node_that_was_faster_than_the_events_has_its_vm_read_at_once() -> None:
    snapshot = make_snapshot(make_host(node=make_node()), ready_host("bbbb", "1002"), mig=ONE_RUNS)
    assert plan(snapshot) == Plan((), (Recheck(NOW, "unknown_node", Scope.INSTANCES, (vm(),)),))


def test_a_node_whose_vm_cannot_be_read_before_there_is_a_mig_is_no_reason_to_look_for_ever() -> None:
    snapshot = make_snapshot(make_host(node=make_node()), mig=None)
    assert plan(snapshot).rechecks == ()


def test_a_vm_that_runs_under_a_name_of_ours_and_is_not_listed_is_asked_about_again() -> None:
    stranger = make_host("aaaa", make_instance(), member=False)
    snapshot = make_snapshot(stranger, ready_host("bbbb", "1002"), mig=ONE_RUNS)
    assert plan(snapshot) == Plan(
        (), (Recheck(NOW + POLICY.unconfirmed_looks[-1], "unproven", Scope.INSTANCES, (vm(),)),)
    )


TAKEN = make_host("aaaa", make_instance(status="TERMINATED"), make_node(cordoned_by=MARK))
LEFT = ready_host("bbbb", "1002", cordoned_by=MARK)
SPOT = {"machineType": "tpu7x-standard-4t", "provisioningModel": "SPOT"}
RECREATE = make_group(recoveryPolicy="RecreateSlice", instanceConfig=SPOT)
ON_DEMAND = make_group(recoveryPolicy="RecreateSlice")
PREEMPTED = replace(TAKEN, hint=(Reason.PREEMPTED, "Instance was preempted."))
FAILED = replace(TAKEN, hint=(Reason.HOST_ERROR, "Instance terminated by Compute Engine."))


@pytest.mark.parametrize(
    ("hosts", "group", "deleted"),
    [
        pytest.param((PREEMPTED, LEFT), RECREATE, True, id="a VM was taken and the policy says so"),
        pytest.param((TAKEN, LEFT), RECREATE, True, id="a VM was taken and no event told"),
        pytest.param((PREEMPTED, LEFT), make_group(instanceConfig=SPOT), False, id="not when the policy is Manual"),
        pytest.param((FAILED, LEFT), ON_DEMAND, False, id="not when Compute Engine restarts the VM by itself"),
        pytest.param((PREEMPTED, LEFT), ON_DEMAND, False, id="not for what an event says of a VM that is not Spot"),
        pytest.param((LEFT,), RECREATE, False, id="not when no VM was taken"),
        pytest.param(
            (PREEMPTED, make_host("bbbb", make_instance("bbbb", id="1002", status="STAGING"))),
            RECREATE,
            False,
            id="not while VMs come back",
        ),
    ],
)
def test_a_slice_is_made_anew_when(hosts: tuple[Host, ...], group: TPUNodeGroup, deleted: bool) -> None:  # noqa: FBT001
    mig = MigView(2, is_stable=False, counts={"running": 1, "terminated": 1})
    decided = plan(make_snapshot(*hosts, group=group, mig=mig))
    deletion = DeleteChild(child_key(GROUP, Kind.MIG), "uid-ManagedInstanceGroup")
    assert decided.actions == ((deletion,) if deleted else ())


@pytest.mark.parametrize(
    ("counts", "deleted"),
    [
        pytest.param({"running": 1, "nonExistent": 1}, True, id="a VM of it was deleted"),
        pytest.param({"nonExistent": 2}, False, id="not when no VM was made yet"),
    ],
)
def test_a_slice_in_part_is_made_anew_when(counts: dict[str, int], deleted: bool) -> None:  # noqa: FBT001
    mig = MigView(2, is_stable=True, counts=counts, is_bulk=True)
    decided = plan(make_snapshot(*[LEFT][: counts.get("running", 0)], group=RECREATE, mig=mig))
    deletion = DeleteChild(child_key(GROUP, Kind.MIG), "uid-ManagedInstanceGroup")
    assert decided == Plan((deletion,) if deleted else ())


def test_the_nodes_of_a_mig_that_is_being_deleted_are_cordoned() -> None:
    group = make_single_hosts()
    mig = make_child(Kind.MIG, group=group, deleting=True)
    snapshot = make_snapshot(
        ready_host("aaaa", labels=make_snapshot(group=group, children={}).labels),
        group=group,
        children={**children(Kind.TEMPLATE, group=group), Kind.MIG: mig},
    )
    assert plan(snapshot).actions == (Cordon(vm("aaaa"), "node-uid-aaaa", MARK),)


# Properties: any world that can be, decided twice, is decided alike, and the rules of tokens hold in each.

_statuses = st.sampled_from(["STAGING", "RUNNING", "RUNNING", "STOPPING", "TERMINATED"])
_moments = st.sampled_from([ago(seconds=1), ago(minutes=9), ago(minutes=30)])


@st.composite
def hosts(draw: st.DrawFn, suffix: str) -> Host:
    """Any host that could be."""
    instance: Instance | None = None
    if draw(st.integers(0, 5)):
        token = draw(st.sampled_from(["", "gone00", f"live{suffix[:2]}"]))
        instance = make_instance(suffix, id=draw(st.sampled_from(["1", "2"])), status=draw(_statuses), token=token)
    node: NodeView | None = None
    if draw(st.booleans()):
        node = make_node(
            suffix,
            instance_id=draw(st.sampled_from(["", "1", "2"])),
            ready=draw(st.booleans()),
            heartbeat=draw(st.none() | _moments),
            cordoned_by=draw(st.sampled_from(["", MARK])),
        )
    ids = draw(st.sets(st.sampled_from([f"live{suffix[:2]}", f"lost{suffix[:2]}"])))
    expiries = st.sampled_from([NOW, NOW + POLICY.token_renew_margin / 2, NOW + POLICY.token_life])
    tokens: list[TokenView] = [
        make_token(i, suffix, instance_id=draw(st.sampled_from(["1", "2"])), expires=draw(expiries))
        for i in sorted(ids)
    ]
    member = draw(st.sampled_from([True, True, False]))
    absent = instance is None and draw(st.booleans())
    return make_host(suffix, instance, node, *tokens, member=member, absent=absent)


worlds = st.builds(
    lambda one, other, ready, slots: make_snapshot(
        one,
        other,
        group=make_group(status=make_ready_status("True" if ready else "False")),
        token_slots=slots,
        mig_read_at=NOW,
    ),
    hosts("aaaa"),
    hosts("bbbb"),
    st.booleans(),
    st.integers(0, 2),
)


@given(worlds)
def test_the_same_world_is_decided_alike(snapshot: GroupSnapshot) -> None:
    assert plan(snapshot) == plan(snapshot)


@given(worlds)
def test_a_token_goes_only_to_a_member_that_runs_without_a_node(snapshot: GroupSnapshot) -> None:
    for action in plan(snapshot).actions:
        if isinstance(action, MintToken | InjectToken):
            host = snapshot.matched.hosts[action.instance.name]
            assert host.instance is action.instance
            assert (host.instance.status, host.is_member, host.node) == ("RUNNING", True, None)


@given(worlds)
def test_no_more_tokens_are_minted_than_there_is_room_for(snapshot: GroupSnapshot) -> None:
    minted = [action for action in plan(snapshot).actions if isinstance(action, MintToken)]
    assert len(minted) <= snapshot.token_slots
    assert len({action.instance.id + action.instance.name for action in minted}) == len(minted)


@given(worlds)
def test_a_node_that_has_spoken_since_its_vm_was_made_is_not_deleted(snapshot: GroupSnapshot) -> None:
    for action in plan(snapshot).actions:
        if isinstance(action, DeleteStaleNode):
            host = snapshot.matched.hosts[action.node]
            spoke: datetime | None = host.node.heartbeat if host.node else None
            assert host.absent or (host.instance and (spoke is None or spoke <= host.instance.created))


@given(worlds)
def test_a_node_that_is_deleted_is_not_written_to_as_well(snapshot: GroupSnapshot) -> None:
    actions = plan(snapshot).actions
    deleted = {action.node for action in actions if isinstance(action, DeleteStaleNode)}
    written = {action.node for action in actions if isinstance(action, Cordon | Uncordon)}
    assert not deleted & written
