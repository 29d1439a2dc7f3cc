"""The end of a group, step by step: each step waits for the one before it."""

from collections.abc import Mapping

import pytest

from controller.api.constants import FINALIZER
from controller.api.reasons import Reason
from controller.core.actions import Action, Cordon, DeleteChild, DeleteStaleNode, RevokeToken, SetFinalizers
from controller.core.children import child_key
from controller.core.group import plan_group
from controller.core.join import Host
from controller.core.model import Kind, Scope
from controller.core.plan import Plan, Recheck
from controller.core.snapshot import Child, GroupSnapshot
from controller.core.teardown import teardown_stage
from tests.core.builders import (
    GROUP,
    GROUP_KEY,
    MARK,
    NOW,
    POLICY,
    after,
    children,
    make_child,
    make_group,
    make_host,
    make_instance,
    make_node,
    make_snapshot,
    make_token,
    ready_host,
    vm,
)

BACKSTOP = (Recheck(after(seconds=60), "teardown", Scope.MIG),)
CORDONED = ready_host(cordoned_by=MARK)
GONE = make_host(node=make_node(cordoned_by=MARK), absent=True)


def dying(
    *hosts: Host,
    there: Mapping[Kind, Child] | None = None,
    finalizers: tuple[str, ...] = (FINALIZER,),
    filled: bool = True,
    orphans: tuple[str, ...] = (),
) -> GroupSnapshot:
    """A group that its user has deleted."""
    return make_snapshot(
        *hosts,
        group=make_group(deleting=True, finalizers=finalizers),
        children={} if there is None else there,
        filled=filled,
        mig=None,
        orphans=[make_token(token, "dddd") for token in orphans],
    )


def plan(snapshot: GroupSnapshot) -> Plan:
    """What is decided of it at NOW."""
    return plan_group(snapshot, POLICY, NOW)


def delete(kind: Kind) -> DeleteChild:
    """The deletion of the group's child of this kind."""
    return DeleteChild(child_key(GROUP, kind), f"uid-{kind}")


def test_first_nodes_are_cordoned_tokens_revoked_and_the_mig_deleted() -> None:
    waiting = make_host("bbbb", make_instance("bbbb", id="1002", token="tok001"), None, make_token("tok001", "bbbb"))
    snapshot = dying(ready_host(), waiting, there=children(), orphans=("orphan",))
    assert plan(snapshot) == Plan(
        (
            RevokeToken("tok001", vm("bbbb"), "the group is being deleted"),
            RevokeToken("orphan", vm("dddd"), "the group is being deleted"),
            Cordon(vm(), "node-uid-aaaa", MARK),
            delete(Kind.MIG),
        ),
        BACKSTOP,
    )


@pytest.mark.parametrize(
    ("there", "actions"),
    [
        pytest.param(
            {**children(), Kind.MIG: make_child(Kind.MIG, deleting=True)}, (), id="nothing while the MIG goes"
        ),
        pytest.param(
            children(Kind.POLICY, Kind.TEMPLATE),
            (delete(Kind.TEMPLATE), delete(Kind.POLICY)),
            id="template and policy once the MIG is gone",
        ),
        pytest.param(
            {Kind.TEMPLATE: make_child(Kind.TEMPLATE, deleting=True), **children(Kind.POLICY)},
            (delete(Kind.POLICY),),
            id="the one that is not asked to go yet",
        ),
        pytest.param(
            {kind: make_child(kind, deleting=True) for kind in (Kind.POLICY, Kind.TEMPLATE)},
            (),
            id="nothing while they go",
        ),
    ],
)
def test_children_go_in_their_order(there: Mapping[Kind, Child], actions: tuple[Action, ...]) -> None:
    assert plan(dying(CORDONED, there=there)) == Plan(actions, BACKSTOP)


def test_the_nodes_go_when_the_children_are_gone_and_their_vms_seen_gone() -> None:
    assert plan(dying(GONE)) == Plan(
        (DeleteStaleNode(vm(), "node-uid-aaaa", "70", "its VM is deleted with the group"),), BACKSTOP
    )


@pytest.mark.parametrize(
    "snapshot",
    [
        pytest.param(dying(make_host(node=make_node())), id="its VM was not looked for since it spoke"),
        pytest.param(dying(CORDONED), id="its VM is still there"),
        pytest.param(dying(make_host(node=make_node()), filled=False), id="GCE was not heard at all"),
    ],
)
def test_no_node_is_deleted_while(snapshot: GroupSnapshot) -> None:
    assert plan(snapshot) == Plan((), (Recheck(NOW, "teardown", Scope.INSTANCES),))


@pytest.mark.parametrize(
    ("finalizers", "left"),
    [
        pytest.param((FINALIZER,), (), id="ours alone"),
        pytest.param(("x", FINALIZER, "y"), ("x", "y"), id="others stay"),
        pytest.param((FINALIZER, "tpu.google.com/cleanup-mig"), (), id="the reference's go with ours"),
        pytest.param(("tpu.google.com/cleanup-mig",), (), id="the reference's alone, of a group that it left dying"),
    ],
)
def test_the_finalizer_goes_last(finalizers: tuple[str, ...], left: tuple[str, ...]) -> None:
    assert plan(dying(finalizers=finalizers)) == Plan((SetFinalizers(GROUP_KEY, "7", left),))


def test_the_finalizer_stays_until_the_last_token_is_revoked() -> None:
    assert plan(dying(orphans=("orphan",))) == Plan(
        (RevokeToken("orphan", vm("dddd"), "the group is being deleted"),), BACKSTOP
    )


def test_a_group_that_is_not_ours_any_more_is_left_alone() -> None:
    assert plan(dying(CORDONED, there=children(), finalizers=("x",))) == Plan()


def test_a_vm_that_still_boots_is_given_no_token() -> None:
    booting = make_host("aaaa", make_instance())
    assert plan(dying(booting, there={Kind.MIG: make_child(Kind.MIG, deleting=True)})) == Plan((), BACKSTOP)


@pytest.mark.parametrize(
    ("snapshot", "stage"),
    [
        (dying(GONE, there=children()), Reason.DELETING_MIG),
        (dying(GONE, there=children(Kind.TEMPLATE, Kind.POLICY)), Reason.DELETING_TEMPLATE),
        (dying(GONE, there=children(Kind.POLICY)), Reason.DELETING_POLICY),
        (dying(GONE), Reason.DELETING_NODES),
        (dying(filled=False), Reason.DELETING_NODES),
        (dying(), None),
    ],
    ids=["the MIG", "then the template", "then the policy", "then the Nodes", "GCE unheard", "nothing"],
)
def test_what_a_deletion_waits_for(snapshot: GroupSnapshot, stage: Reason | None) -> None:
    assert teardown_stage(snapshot) == stage
