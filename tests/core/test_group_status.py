"""What a group's status says: the first thing in the way of Ready gives the reason."""

from dataclasses import replace
from typing import Any

import pytest

from controller.api.reasons import Reason
from controller.api.resources import NodeStatus, NodeSummary, TPUNodeGroup, TPUNodeGroupStatus
from controller.core.actions import InjectToken, Outcome
from controller.core.failures import Failure, Rejected, Retry
from controller.core.group_status import group_status, only_details_differ, ready_verdict
from controller.core.join import Host
from controller.core.model import Kind
from controller.core.observed import MigView, OperationError
from controller.core.snapshot import GroupSnapshot
from controller.core.verdicts import Verdict
from tests.core.builders import (
    NOW,
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

URI = "projects/my-gcp-project/global/instanceTemplates/golden"
B = ready_host("bbbb", "1002")
PART = MigView(2, is_stable=False, counts={"running": 1, "staging": 1})
NO_CAPACITY = OperationError("ZONE_RESOURCE_POOL_EXHAUSTED", "No more capacity.")
NO_QUOTA = OperationError("QUOTA_EXCEEDED", "Quota exceeded.")


def ready(snapshot: GroupSnapshot, *failures: Failure) -> tuple[str, str, str]:
    """Status, reason and message of Ready after a look with these failures."""
    outcomes = [Outcome(InjectToken(make_instance(), "", ""), failure=failure) for failure in failures]
    verdict = ready_verdict(snapshot, snapshot.states(NOW), outcomes)
    return verdict.status, verdict.reason, verdict.message


def case(says: str, snapshot: GroupSnapshot, *verdict: str) -> Any:
    """A row whose id is a sentence."""
    return pytest.param(snapshot, verdict, id=says)


def mig_child(reason: str, message: str = "why") -> dict[Kind, Any]:
    """All children, the MIG not Ready for this reason."""
    return {**children(), Kind.MIG: make_child(Kind.MIG, ready=make_condition("False", reason, message))}


@pytest.mark.parametrize(
    ("snapshot", "verdict"),
    [
        case("every host is Ready", make_snapshot(ready_host(), B), "True", "Ready", "all 2 hosts are Ready"),
        case(
            "the VMs are awaited",
            make_snapshot(ready_host(), make_host("bbbb", make_instance("bbbb", id="2", status="STAGING")), mig=PART),
            "False",
            "Provisioning",
            "1 of 2 VMs run",
        ),
        case("no VM exists", make_snapshot(mig=None), "False", "Provisioning", "0 of 2 VMs run"),
        case(
            "the VMs run and one has not joined",
            make_snapshot(make_host("aaaa", make_instance(token="tok001"), None, make_token()), B),
            "False",
            "AwaitingNodeJoin",
            "1 of 2 hosts have joined",
        ),
        case(
            "a Node is not Ready",
            make_snapshot(ready_host(ready=False), B),
            "False",
            "NodeNotReady",
            f"1 of 2 Nodes are Ready; {vm()}: the Node is not Ready",
        ),
        case(
            "a Node lacks its chips",
            make_snapshot(ready_host(chips=0), B),
            "False",
            "NodeNotReady",
            f"1 of 2 Nodes are Ready; {vm()}: google.com/tpu allocatable is 0, not 4: is the device plugin running?",
        ),
        case(
            "the Node of an earlier VM is in the way",
            make_snapshot(make_host("aaaa", make_instance(id="2001"), make_node(heartbeat=None)), B),
            "False",
            "StaleNode",
            f"Node {vm()}: the Node is that of an earlier VM of this name",
        ),
        case(
            "the slice is not connected yet",
            make_snapshot(
                ready_host(), B, mig=MigView(2, is_stable=True, counts={"running": 2}, topologies={"2x2x2": "FAILED"})
            ),
            "False",
            "TopologyNotApplied",
            "topology 2x2x2 is not active yet",
        ),
        case(
            "the MIG is still changing",
            make_snapshot(ready_host(), B, children=mig_child("Unstable")),
            "False",
            "Provisioning",
            "the managed instance group is not stable yet",
        ),
        case(
            "a child cannot go on",
            make_snapshot(ready_host(), B, children=mig_child("NotOurs")),
            "False",
            "NotOurs",
            f"ManagedInstanceGroup {children()[Kind.MIG].key.name}: why",
        ),
        case("the spec cannot work", make_snapshot(rejection="change it"), "False", "RequestRejected", "change it"),
        case(
            "there is no capacity",
            make_snapshot(mig=PART, errors=(NO_CAPACITY,)),
            "False",
            "Stockout",
            "No more capacity. GCE has no capacity now; it is asked again. (ZONE_RESOURCE_POOL_EXHAUSTED)",
        ),
        case(
            "there is no quota",
            make_snapshot(mig=PART, errors=(NO_QUOTA,)),
            "False",
            "QuotaExceeded",
            "Quota exceeded. Ask for a higher quota, or free some of it; it is asked again. (QUOTA_EXCEEDED)",
        ),
        case(
            "the MIG cannot make VMs",
            make_snapshot(mig=PART, errors=(OperationError("NEVER_SEEN", "Odd."),)),
            "False",
            "InstancesCreationFailed",
            "Odd. (NEVER_SEEN)",
        ),
        case(
            "an old error of a MIG whose VMs run by now says nothing",
            make_snapshot(ready_host(), B, errors=(NO_CAPACITY,)),
            "True",
            "Ready",
            "all 2 hosts are Ready",
        ),
        case(
            "a host was lost",
            make_snapshot(make_host("aaaa", make_instance(status="TERMINATED"), make_node()), B),
            "False",
            "InstanceLost",
            f"host {vm()}: the VM is TERMINATED",
        ),
        case(
            "hosts were lost and an event told why",
            make_snapshot(
                make_host("aaaa", make_instance(status="STOPPING"), hint=(Reason.HOST_ERROR, "the host broke")),
                make_host("bbbb", make_instance("bbbb", id="1002", status="TERMINATED")),
            ),
            "False",
            "HostError",
            f"host {vm()} (and 1 more): the host broke",
        ),
        case(
            "a lost host starts again",
            make_snapshot(
                make_host("aaaa", make_instance(status="STAGING"), make_node(), hint=(Reason.HOST_ERROR, "broke")),
                B,
                mig=PART,
            ),
            "False",
            "HostError",
            f"host {vm()}: broke",
        ),
        case(
            "a VM says that it cannot join",
            make_snapshot(make_host("aaaa", make_instance(), hint=(Reason.BOOTSTRAP_FAILED, "kubeadm: no")), B),
            "False",
            "BootstrapFailed",
            f"host {vm()}: kubeadm: no",
        ),
        case(
            "what befell a VM that runs again is over",
            make_snapshot(make_host("aaaa", make_instance(), hint=(Reason.HOST_ERROR, "the host broke")), B),
            "False",
            "AwaitingNodeJoin",
            "1 of 2 hosts have joined",
        ),
    ],
)
def test_ready_is_explained_when(snapshot: GroupSnapshot, verdict: tuple[str, str, str]) -> None:
    assert ready(snapshot) == verdict


def test_a_preempted_slice_says_what_brings_it_back() -> None:
    group = make_group(instanceConfig={"machineType": "tpu7x-standard-4t", "provisioningModel": "SPOT"})
    lost = make_host("aaaa", make_instance(status="TERMINATED"), hint=(Reason.PREEMPTED, "it was preempted"))
    snapshot = make_snapshot(lost, B, group=group, children=children(group=group))
    assert ready(snapshot) == (
        "False",
        "Preempted",
        (
            f"host {vm()}: it was preempted; the slice stays down: "
            "set spec.recoveryPolicy to RecreateSlice, or apply the group anew"
        ),
    )


def test_a_slice_whose_host_shut_itself_down_says_what_brings_it_back() -> None:
    lost = make_host("aaaa", make_instance(status="TERMINATED"), hint=(Reason.GUEST_TERMINATED, "it shut itself down"))
    assert ready(make_snapshot(lost, B)) == (
        "False",
        "GuestTerminated",
        f"host {vm()}: it shut itself down; the slice stays down: start the VM, or apply the group anew",
    )


@pytest.mark.parametrize(
    ("group", "advice"),
    [
        (make_group(), "; the slice stays down: set spec.recoveryPolicy to RecreateSlice, or apply the group anew"),
        (make_group(recoveryPolicy="RecreateSlice"), ""),
    ],
)
def test_a_slice_whose_vm_was_deleted_says_so(group: TPUNodeGroup, advice: str) -> None:
    mig = MigView(2, is_stable=True, counts={"running": 1, "nonExistent": 1}, is_bulk=True)
    snapshot = make_snapshot(B, group=group, children=children(group=group), mig=mig)
    assert ready(snapshot) == ("False", "InstanceLost", f"1 of 2 VMs were deleted{advice}")


def test_a_refusal_of_an_action_is_told_and_passing_trouble_is_not() -> None:
    snapshot = make_snapshot(make_host("aaaa", make_instance()), B)
    assert ready(snapshot, Retry("timeout"), Rejected("Grant it.", "403"))[1:] == ("ReconcileError", "Grant it. (403)")
    assert ready(snapshot, Retry("timeout"))[1] == "AwaitingNodeJoin"


@pytest.mark.parametrize(
    ("there", "reason"),
    [
        (children(), "DeletingMIG"),
        (children(Kind.POLICY, Kind.TEMPLATE), "DeletingTemplate"),
        (children(Kind.POLICY), "DeletingPolicy"),
        ({}, "DeletingNodes"),
    ],
    ids=["the MIG", "the template", "the policy", "the Nodes"],
)
def test_a_deletion_says_what_it_waits_for(there: dict[Kind, Any], reason: str) -> None:
    assert ready(make_snapshot(group=make_group(deleting=True), children=there, mig=None))[1] == reason


@pytest.mark.parametrize(
    "host",
    [
        make_host("aaaa", instance, node, hint=hint)
        for instance in (None, *(make_instance(status=s) for s in ("STAGING", "RUNNING", "STOPPING", "TERMINATED")))
        for node in (None, make_node(), make_node(ready=False))
        for hint in (None, (Reason.HOST_ERROR, "broke"), (Reason.BOOTSTRAP_FAILED, "no"))
    ],
)
def test_every_reason_of_ready_is_one_that_users_can_look_up(host: Host) -> None:
    assert ready(make_snapshot(host, B))[1] in set(Reason)


def status_of(snapshot: GroupSnapshot, **fields: Any) -> TPUNodeGroupStatus:
    """The whole status after a look without actions."""
    return group_status(snapshot, (), NOW, **{"events": None, "last_event": None, **fields})


def conditions(status: TPUNodeGroupStatus) -> dict[str, tuple[str, str, str]]:
    """All conditions, in short."""
    return {c.type: (c.status, c.reason, c.message) for c in status.conditions}


def test_the_whole_status_of_a_group_on_its_way() -> None:
    waits = make_host("bbbb", make_instance("bbbb", id="1002", status="STAGING"))
    snapshot = make_snapshot(ready_host(), waits, mig=PART, children=mig_child("Unstable", "1 of 2"))
    status = status_of(snapshot, events=Verdict("True", "Flowing", "events arrive"), last_event=ago(seconds=3.5))
    assert status.model_copy(update={"conditions": ()}) == TPUNodeGroupStatus(
        node_summary=NodeSummary(ready=1, reconciling=1, failed=0),
        nodes_ready="1/2",
        accelerator="tpu7x",
        nodes=(
            NodeStatus(
                name=vm("bbbb"), instance_id="1002", phase="Provisioning", reason=Reason.PROVISIONING, since=NOW
            ),
        ),
        observed_generation=1,
        last_event_time=ago(seconds=4),
    )
    assert conditions(status) == {
        "WorkloadPolicyReady": ("True", "Ready", "WorkloadPolicy exists"),
        "InstanceTemplateReady": ("True", "Ready", "InstanceTemplate exists"),
        "ManagedInstanceGroupReady": ("False", "Unstable", "1 of 2"),
        "NodesJoined": ("False", "AwaitingNodeJoin", "1 of 2 hosts have joined"),
        "EventsFlowing": ("True", "Flowing", "events arrive"),
        "Ready": ("False", "Provisioning", "1 of 2 VMs run"),
    }


def test_a_group_without_children_says_that_they_are_created() -> None:
    assert conditions(status_of(make_snapshot(children={}, mig=None))) == {
        "WorkloadPolicyReady": ("False", "Provisioning", "the WorkloadPolicy is being created"),
        "InstanceTemplateReady": ("False", "Provisioning", "the InstanceTemplate is being created"),
        "ManagedInstanceGroupReady": ("False", "Provisioning", "the ManagedInstanceGroup is being created"),
        "NodesJoined": ("False", "AwaitingNodeJoin", "0 of 2 hosts have joined"),
        "Ready": ("False", "Provisioning", "0 of 2 VMs run"),
    }


BROUGHT = make_single_hosts(instanceConfig=None, instanceTemplateURI=URI)


@pytest.mark.parametrize(("seen", "says"), [(make_template_view(), "True"), (None, "False")], ids=["seen", "unseen"])
def test_what_a_group_does_not_need_is_told_as_such(seen: Any, says: str) -> None:
    there = children(Kind.MIG, group=BROUGHT)
    told = conditions(status_of(make_snapshot(group=BROUGHT, template=seen, children=there)))
    assert told["WorkloadPolicyReady"] == ("True", "NotNeeded", "single hosts have no workload policy")
    assert told["InstanceTemplateReady"] == (says, "Brought", f"the group brings {URI}")


def test_a_status_said_twice_is_the_same_even_though_time_and_events_went_on() -> None:
    waits = make_host("bbbb", make_instance("bbbb", id="1002", status="STAGING"))
    first = status_of(make_snapshot(ready_host(), waits, mig=PART), last_event=ago(minutes=1))
    again = make_snapshot(ready_host(), waits, mig=PART, group=make_group(status=first))
    assert group_status(again, (), NOW.replace(minute=5), events=None, last_event=NOW) == first


def listed(host: Host, old: TPUNodeGroupStatus) -> NodeStatus:
    """The entry of the one host that is not Ready."""
    (entry,) = status_of(make_snapshot(host, B, group=make_group(status=old))).nodes
    return entry


@pytest.mark.parametrize(
    ("host", "since"),
    [
        pytest.param(make_host("aaaa", make_instance(status="STAGING")), ago(minutes=5), id="the phase is the same"),
        pytest.param(make_host("aaaa", make_instance()), NOW, id="the phase is another"),
        pytest.param(make_host("aaaa", make_instance(id="2001", status="STAGING")), NOW, id="the VM is another"),
    ],
)
def test_since_when_a_host_is_in_its_phase(host: Host, since: Any) -> None:
    entry = NodeStatus(name=vm(), instance_id="1001", phase="Provisioning", reason="x", since=ago(minutes=5))
    assert listed(host, TPUNodeGroupStatus(nodes=(entry,))).since == since


def test_at_most_fifty_hosts_are_listed() -> None:
    group = make_single_hosts(60)
    hosts = [make_host(f"x{i:03}", make_instance(f"x{i:03}", id=str(i), status="STAGING")) for i in range(60)]
    snapshot = make_snapshot(*hosts, group=group, children=children(Kind.TEMPLATE, Kind.MIG, group=group))
    status = status_of(snapshot)
    assert [node.name for node in status.nodes] == [vm(f"x{i:03}") for i in range(50)]
    assert status.node_summary == NodeSummary(ready=0, reconciling=60, failed=0)


def test_lost_hosts_are_counted_as_failed() -> None:
    lost = make_host("aaaa", make_instance(status="TERMINATED"))
    assert status_of(make_snapshot(lost, B)).node_summary == NodeSummary(ready=1, reconciling=0, failed=1)


@pytest.mark.parametrize(
    ("fresh", "details"),
    [
        pytest.param(make_ready_status().model_copy(update={"nodes_ready": "1/2"}), "details", id="a count"),
        pytest.param(
            TPUNodeGroupStatus(conditions=(make_condition(message="other"),)), "details", id="a condition's message"
        ),
        pytest.param(make_ready_status("False"), "more", id="a condition's status"),
        pytest.param(make_ready_status("True", "Other"), "more", id="a condition's reason"),
        pytest.param(make_ready_status().model_copy(update={"observed_generation": 2}), "more", id="the generation"),
    ],
)
def test_what_anybody_acts_on_is_more_than_a_detail(fresh: TPUNodeGroupStatus, details: str) -> None:
    assert only_details_differ(make_ready_status(), fresh) is (details == "details")


def test_a_restart_does_not_unsay_that_events_flow() -> None:
    flowing, unknown = Verdict("True", "Flowing", "events arrive"), Verdict("Unknown", "AwaitingFirstEvent", "none yet")
    snapshot = make_snapshot()
    said = group_status(snapshot, (), NOW, events=flowing, last_event=None)
    restarted = replace(snapshot, group=snapshot.group.model_copy(update={"status": said}))
    assert group_status(restarted, (), NOW, events=unknown, last_event=None) == said
