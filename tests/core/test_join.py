"""The phase of a host follows from what was observed, and from nothing else."""

from datetime import datetime, timedelta

import pytest

from controller.api.reasons import Reason
from controller.core.join import Host, HostState, Phase, is_current, live_token, states_of
from controller.core.observed import Instance, NodeView
from tests.core.builders import (
    NOW,
    after,
    ago,
    make_host,
    make_instance,
    make_node,
    make_row,
    make_state,
    make_token,
    ready_host,
    vm,
)

CREATED = datetime.fromisoformat("2026-01-31T11:50:00.400000+00:00")


def case(says: str, *values: object) -> object:
    """A row whose id is a sentence."""
    return pytest.param(*values, id=says)


@pytest.mark.parametrize(
    ("host", "phase", "reason"),
    [
        case("nothing is known of the name", make_host(), Phase.ABSENT, Reason.PROVISIONING),
        case(
            "a Node whose VM was not looked for yet",
            make_host(node=make_node()),
            Phase.ABSENT,
            Reason.PROVISIONING,
        ),
        case(
            "a Node whose VM GCE does not have",
            make_host(node=make_node(), absent=True),
            Phase.REPLACED,
            Reason.STALE_NODE,
        ),
        case(
            "the MIG lists a VM that was not read yet",
            make_host(member=make_row(status="STAGING")),
            Phase.PROVISIONING,
            Reason.PROVISIONING,
        ),
        case(
            "no Node and no VM that GCE has",
            make_host(absent=True),
            Phase.ABSENT,
            Reason.PROVISIONING,
        ),
        case(
            "a Node of an earlier id, silent since before the VM was made",
            make_host("aaaa", make_instance(id="2002"), make_node(instance_id="1001", heartbeat=ago(minutes=11))),
            Phase.REPLACED,
            Reason.STALE_NODE,
        ),
        case(
            "a Node of an earlier id that a new kubelet has adopted",
            make_host("aaaa", make_instance(id="2002"), make_node(instance_id="1001", heartbeat=ago(minutes=9))),
            Phase.READY,
            "",
        ),
        *(
            case(f"the VM is {status}", make_host("aaaa", make_instance(status=status)), phase, reason)
            for status, phase, reason in [
                ("PENDING", Phase.PROVISIONING, Reason.PROVISIONING),
                ("PROVISIONING", Phase.PROVISIONING, Reason.PROVISIONING),
                ("STAGING", Phase.PROVISIONING, Reason.PROVISIONING),
                ("STOPPING", Phase.LEAVING, Reason.INSTANCE_LOST),
                ("PENDING_STOP", Phase.LEAVING, Reason.INSTANCE_LOST),
                ("SUSPENDING", Phase.LEAVING, Reason.INSTANCE_LOST),
                ("DEPROVISIONING", Phase.LEAVING, Reason.INSTANCE_LOST),
                ("TERMINATED", Phase.FAILED, Reason.INSTANCE_LOST),
                ("SUSPENDED", Phase.FAILED, Reason.INSTANCE_LOST),
                ("REPAIRING", Phase.FAILED, Reason.INSTANCE_LOST),
            ]
        ),
        case(
            "a host that had joined starts again: it is lost until it runs",
            make_host("aaaa", make_instance(status="STAGING"), make_node()),
            Phase.PROVISIONING,
            Reason.INSTANCE_LOST,
        ),
        case(
            "an event explains a loss that the API shows",
            make_host("aaaa", make_instance(status="TERMINATED"), make_node(), hint=(Reason.PREEMPTED, "taken back")),
            Phase.FAILED,
            Reason.PREEMPTED,
        ),
        case(
            "an event alone makes no loss",
            make_host("aaaa", make_instance(), make_node(), hint=(Reason.PREEMPTED, "taken back")),
            Phase.READY,
            "",
        ),
        case("it runs and has no token", make_host("aaaa", make_instance()), Phase.RUNNING, "AwaitingToken"),
        case(
            "it runs and its metadata holds a token without a Secret",
            make_host("aaaa", make_instance(token="gone00")),
            Phase.RUNNING,
            "AwaitingToken",
        ),
        case(
            "it runs and holds a live token",
            make_host("aaaa", make_instance(token="tok001"), None, make_token()),
            Phase.TOKEN_INJECTED,
            Reason.AWAITING_NODE_JOIN,
        ),
        case(
            "its script says that it cannot join",
            make_host("aaaa", make_instance(), hint=(Reason.BOOTSTRAP_FAILED, "kubeadm: no")),
            Phase.RUNNING,
            Reason.BOOTSTRAP_FAILED,
        ),
        case("its Node is not Ready", ready_host(ready=False), Phase.JOINED, Reason.NODE_NOT_READY),
        case("its Node lacks chips", ready_host(chips=0), Phase.JOINED, Reason.NODE_NOT_READY),
        case("its Node is Ready with its chips", ready_host(), Phase.READY, ""),
    ],
)
def test_a_host_is_in_the_phase_that_was_seen(host: Host, phase: Phase, reason: str) -> None:
    state = make_state(host)
    assert (state.phase, state.reason) == (phase, reason)


def test_a_vm_that_joins_by_itself_awaits_no_token_of_ours() -> None:
    host = make_host("aaaa", make_instance())
    assert make_state(host, bootstraps=False) == HostState(
        host, Phase.TOKEN_INJECTED, Reason.AWAITING_NODE_JOIN, "the VM runs and has not joined yet"
    )


def test_ready_from_before_a_restart_says_nothing() -> None:
    restarted = make_instance(started=ago(seconds=4))
    host = make_host("aaaa", restarted, make_node(heartbeat=ago(seconds=5)))
    assert make_state(host) == HostState(
        host, Phase.JOINED, Reason.NODE_NOT_READY, "the kubelet has not reported since the VM started"
    )


@pytest.mark.parametrize(
    ("started", "phase"),
    [
        case("in the same second, before the whole-second heartbeat", ago(seconds=5), Phase.READY),
        case("in the same second, after it", ago(seconds=4.2), Phase.READY),
        case("in a later second", ago(seconds=3.9), Phase.JOINED),
    ],
)
def test_a_heartbeat_counts_from_the_second_in_which_the_vm_started(started: datetime, phase: Phase) -> None:
    host = make_host("aaaa", make_instance(started=started), make_node(heartbeat=ago(seconds=5)))
    assert make_state(host).phase is phase


@pytest.mark.parametrize(
    ("node", "instance", "verdict"),
    [
        case("the id is the VM's", make_node(instance_id="1"), make_instance(id="1"), "current"),
        case(
            "another id, no word since the VM was made",
            make_node(instance_id="1", heartbeat=CREATED.replace(microsecond=0)),
            make_instance(id="2", created=CREATED),
            "stale",
        ),
        case(
            "another id, silent for ever",
            make_node(instance_id="1", heartbeat=None),
            make_instance(id="2", created=CREATED),
            "stale",
        ),
        case(
            "another id, a word since the VM was made",
            make_node(instance_id="1", heartbeat=CREATED + timedelta(seconds=1)),
            make_instance(id="2", created=CREATED),
            "current",
        ),
        case(
            "no id, made in the second in which the VM was made",
            make_node(instance_id="", created=CREATED.replace(microsecond=0), heartbeat=None),
            make_instance(created=CREATED),
            "current",
        ),
        case(
            "no id, made in an earlier second",
            make_node(instance_id="", created=CREATED.replace(microsecond=0) - timedelta(seconds=1), heartbeat=None),
            make_instance(created=CREATED),
            "stale",
        ),
        case(
            "no id, made earlier, a word since",
            make_node(instance_id="", created=CREATED - timedelta(hours=1), heartbeat=CREATED + timedelta(seconds=1)),
            make_instance(created=CREATED),
            "current",
        ),
    ],
)
def test_a_node_is_current_or_stale_when(node: NodeView, instance: Instance, verdict: str) -> None:
    assert is_current(node, instance) is (verdict == "current")


@pytest.mark.parametrize(
    ("host", "margin", "found"),
    [
        case("there is no VM", make_host("aaaa", None, None, make_token()), 0, None),
        case(
            "it lies in the metadata of its own VM",
            make_host("aaaa", make_instance(token="tok001"), None, make_token()),
            10,
            "tok001",
        ),
        case("it is not in the metadata", make_host("aaaa", make_instance(), None, make_token()), 0, None),
        case(
            "it was made for another incarnation",
            make_host("aaaa", make_instance(token="tok001"), None, make_token(instance_id="999")),
            0,
            None,
        ),
        case(
            "it lives for exactly the margin, which is too short",
            make_host("aaaa", make_instance(token="tok001"), None, make_token(expires=after(minutes=10))),
            10,
            None,
        ),
        case(
            "it has expired",
            make_host("aaaa", make_instance(token="tok001"), None, make_token(expires=NOW)),
            0,
            None,
        ),
    ],
)
def test_a_token_is_live_when(host: Host, margin: int, found: str | None) -> None:
    token = live_token(host, NOW, timedelta(minutes=margin))
    assert (token.id if token else None) == found


def test_states_come_in_the_order_of_names() -> None:
    hosts = {vm(s): make_host(s) for s in ("cccc", "aaaa", "bbbb")}
    states = states_of(hosts, chips=4, bootstraps=True, now=NOW)
    assert [state.host.name for state in states] == [vm("aaaa"), vm("bbbb"), vm("cccc")]


@pytest.mark.parametrize("phase", list(Phase))
def test_only_a_host_that_should_run_and_does_not_is_lost(phase: Phase) -> None:
    assert HostState(make_host(), phase).lost is (phase in {Phase.FAILED, Phase.LEAVING})
