"""Matching VMs, Nodes and tokens by name, and telling whose a thing is."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from controller.api.reasons import Reason
from controller.core.hosts import Inventory, Matched, match_hosts
from controller.core.join import Host
from controller.core.observed import ManagedInstance, NodeView, TokenView
from tests.core.builders import BASE, PROJECT, ZONE, ago, make_instance, make_node, make_row, make_token, vm


def match(inventory: Inventory, nodes: Iterable[NodeView] = (), tokens: Iterable[TokenView] = ()) -> Matched:
    """The match for the group's MIG."""
    return match_hosts(inventory, nodes, tokens, project=PROJECT, zone=ZONE, base=BASE)


def test_a_vm_a_node_and_a_token_of_one_name_are_one_host() -> None:
    instance, node, token = make_instance(), make_node(), make_token()
    inventory = Inventory(
        filled=True,
        instances={vm(): instance},
        members={vm(): make_row()},
        injected={"1001": ago(seconds=3)},
        injectable={"1001": "tok001"},
        hints={"1001": (Reason.HOST_ERROR, "broken")},
    )
    assert match(inventory, [node], [token]) == Matched(
        {
            vm(): Host(
                name=vm(),
                instance=instance,
                node=node,
                tokens=(token,),
                member=make_row(),
                injectable="tok001",
                injected_at=ago(seconds=3),
                hint=(Reason.HOST_ERROR, "broken"),
            )
        }
    )


@pytest.mark.parametrize(
    "members",
    [
        pytest.param({}, id="our MIG does not list the name"),
        pytest.param({vm(): make_row(id="999")}, id="our MIG lists the name with another id"),
    ],
)
def test_a_vm_is_not_ours_when(members: dict[str, ManagedInstance]) -> None:
    inventory = Inventory(filled=True, instances={vm(): make_instance()}, members=members)
    assert match(inventory).hosts[vm()].is_member is False


def test_a_member_whose_vm_was_not_read_is_a_host_without_a_vm() -> None:
    assert match(Inventory(filled=True, members={vm(): make_row()})) == Matched({vm(): Host(vm(), member=make_row())})


def test_what_was_said_of_an_earlier_incarnation_is_not_said_of_this_one() -> None:
    inventory = Inventory(
        filled=True,
        instances={vm(): make_instance(id="2002")},
        members={vm(): make_row(id="2002")},
        injected={"1001": ago(seconds=3)},
        injectable={"1001": "tok001"},
        hints={"1001": (Reason.PREEMPTED, "taken")},
    )
    host = match(inventory).hosts[vm()]
    assert (host.injected_at, host.injectable, host.hint) == (None, "", None)


@pytest.mark.parametrize(
    ("node", "hosts", "claimants"),
    [
        pytest.param(make_node(), [vm()], [], id="a Node with our providerID is the host's"),
        pytest.param(make_node(provider_id=""), [vm()], [], id="so is one without a providerID"),
        pytest.param(
            make_node(provider_id=f"gce://{PROJECT}/us-east5-b/{vm()}"), [], [vm()], id="one of another zone claims"
        ),
        pytest.param(
            make_node(provider_id=f"gce://other-project/{ZONE}/{vm()}"), [], [vm()], id="one of another project claims"
        ),
        pytest.param(
            make_node(provider_id=f"gce://{PROJECT}/{ZONE}/{vm('bbbb')}"), [], [vm()], id="one of another VM claims"
        ),
        pytest.param(replace(make_node(), name="control-plane"), [], [], id="a Node of another name is nobody's"),
        pytest.param(replace(make_node(), name=f"{BASE}-aaaaa"), [], [], id="nor one with a longer suffix"),
    ],
)
def test_whose_a_node_is(node: NodeView, hosts: list[str], claimants: list[str]) -> None:
    matched = match(Inventory(filled=True), [node])
    assert (list(matched.hosts), [n.name for n in matched.claimants]) == (hosts, claimants)


def test_a_token_without_a_host_is_an_orphan() -> None:
    assert match(Inventory(filled=True), (), [make_token()]) == Matched({}, (make_token(),))


def test_before_gce_was_heard_no_token_is_an_orphan() -> None:
    assert match(Inventory(filled=False), (), [make_token()]) == Matched({})


@pytest.mark.parametrize(
    ("inventory", "absent"),
    [
        pytest.param(Inventory(filled=True, absent=frozenset({vm()})), True, id="GCE was asked and has none"),
        pytest.param(Inventory(filled=True), False, id="GCE was not asked since"),
        pytest.param(Inventory(filled=False, absent=frozenset({vm()})), False, id="GCE was not heard at all yet"),
        pytest.param(
            Inventory(filled=True, instances={vm(): make_instance()}, absent=frozenset({vm()})),
            False,
            id="a later read found one",
        ),
        pytest.param(
            Inventory(filled=True, members={vm(): make_row()}, absent=frozenset({vm()})),
            False,
            id="the MIG's own row says that it runs",
        ),
        pytest.param(
            Inventory(filled=True, members={vm(): make_row(status="STAGING")}, absent=frozenset({vm()})),
            True,
            id="the MIG's own row says that the next one comes",
        ),
    ],
)
def test_a_vm_is_absent_only_when(inventory: Inventory, absent: bool) -> None:  # noqa: FBT001
    assert match(inventory, [make_node()]).hosts[vm()].absent is absent


def test_a_name_that_the_mig_lists_without_a_vm_is_a_host_that_is_absent() -> None:
    inventory = Inventory(filled=True, awaited=frozenset({vm("aaaa")}))
    hosts = match_hosts(inventory, (), (), project="my-gcp-project", zone="us-central1-c", base="slice").hosts
    assert hosts == {vm("aaaa"): Host(vm("aaaa"))}
