"""What the Nodes of a group carry."""

import pytest

from controller.api.constants import LABEL_INSTANCE_ID
from controller.core.actions import Action, DeleteStaleNode, LabelNode, TaintNode
from controller.core.join import Host
from controller.core.node_labels import TPU_TAINT, group_labels, kube_labels, node_actions
from controller.core.observed import Taint
from tests.core.builders import LABELS, ago, make_host, make_instance, make_node, make_state, ready_host, vm

OTHER_TAINT = Taint("team", "a", "NoSchedule")


def node_work(host: Host, *, taint: bool | None = True) -> tuple[Action, ...]:
    """The work on one host's Node."""
    return node_actions([make_state(host)], LABELS, taint=taint)


def test_the_labels_of_a_group() -> None:
    assert group_labels("research", "slice", accelerator="tpu7x", topology="2x2x2", chips=4) == {
        "cloud.google.com/tpu-node-group-namespace": "research",
        "cloud.google.com/tpu-node-group-name": "slice",
        "cloud.google.com/tpu-node-group": "research-slice",
        "cloud.google.com/gke-tpu-accelerator": "tpu7x",
        "cloud.google.com/gke-tpu-topology": "2x2x2",
        "cloud.google.com/gke-accelerator-count": "4",
    }


def test_an_unknown_machine_type_gives_no_label_of_its_hardware() -> None:
    assert group_labels("research", "slice", accelerator="", topology="2x2x2", chips=0) == {
        "cloud.google.com/tpu-node-group-namespace": "research",
        "cloud.google.com/tpu-node-group-name": "slice",
        "cloud.google.com/tpu-node-group": "research-slice",
    }


@pytest.mark.parametrize(
    ("namespace", "there"),
    [pytest.param("n" * 57, True, id="63 characters fit"), pytest.param("n" * 58, False, id="64 do not")],
)
def test_the_joined_label_is_left_out_when_it_is_too_long(namespace: str, there: bool) -> None:  # noqa: FBT001
    labels = group_labels(namespace, "slice", accelerator="", topology="", chips=0)
    assert ("cloud.google.com/tpu-node-group" in labels) is there


def test_kube_labels_are_sorted_and_joined() -> None:
    assert kube_labels({"b": "2", "a": "1"}) == "a=1,b=2"


def test_a_node_that_has_all_is_left_alone() -> None:
    assert node_work(ready_host()) == ()


def test_a_host_without_a_node_needs_nothing() -> None:
    assert node_work(make_host("aaaa", make_instance())) == ()


def test_only_what_is_missing_or_wrong_is_labelled() -> None:
    wrong = {**LABELS, "cloud.google.com/gke-tpu-topology": "4x4x4"}
    del wrong["cloud.google.com/gke-accelerator-count"]
    assert node_work(ready_host(labels=wrong)) == (
        LabelNode(
            vm(),
            "node-uid-aaaa",
            {"cloud.google.com/gke-tpu-topology": "2x2x2", "cloud.google.com/gke-accelerator-count": "4"},
        ),
    )


def test_a_node_that_was_adopted_gets_the_id_of_its_vm() -> None:
    adopted = make_host("aaaa", make_instance(id="2002"), make_node(instance_id="1001"))
    assert node_work(adopted) == (LabelNode(vm(), "node-uid-aaaa", {LABEL_INSTANCE_ID: "2002"}),)


def test_a_node_without_an_id_is_given_that_of_its_vm() -> None:
    bare = make_host("aaaa", make_instance(), make_node(instance_id=""))
    assert node_work(bare) == (LabelNode(vm(), "node-uid-aaaa", {LABEL_INSTANCE_ID: "1001"}),)


@pytest.mark.parametrize(
    ("present", "wanted", "written"),
    [
        pytest.param((), True, (TPU_TAINT,), id="missing"),
        pytest.param((OTHER_TAINT,), True, (OTHER_TAINT, TPU_TAINT), id="missing beside another's"),
        pytest.param((TPU_TAINT, OTHER_TAINT), False, (OTHER_TAINT,), id="not wanted any more"),
    ],
)
def test_our_taint_comes_and_goes_and_others_stay(
    present: tuple[Taint, ...],
    wanted: bool,  # noqa: FBT001
    written: tuple[Taint, ...],
) -> None:
    host = ready_host(taints=present)
    assert node_work(host, taint=wanted) == (TaintNode(vm(), "node-uid-aaaa", "70", written),)


def test_taints_are_left_alone_where_the_vms_join_by_themselves() -> None:
    assert node_work(ready_host(taints=()), taint=None) == ()


def test_the_taint_goes_first_since_the_label_would_change_the_version_that_it_was_seen_at() -> None:
    assert node_work(ready_host(labels={}, taints=())) == (
        TaintNode(vm(), "node-uid-aaaa", "70", (TPU_TAINT,)),
        LabelNode(vm(), "node-uid-aaaa", LABELS),
    )


@pytest.mark.parametrize(
    ("host", "why"),
    [
        pytest.param(make_host(node=make_node(), absent=True), "the VM does not exist", id="GCE has no such VM"),
        pytest.param(
            make_host("aaaa", make_instance(id="2002"), make_node(heartbeat=ago(hours=1))),
            "the Node is that of an earlier VM of this name",
            id="its VM has another id",
        ),
    ],
)
def test_a_stale_node_is_deleted_as_it_was_seen_when(host: Host, why: str) -> None:
    assert node_work(host) == (DeleteStaleNode(vm(), "node-uid-aaaa", "70", why),)


@pytest.mark.parametrize(
    "host",
    [
        pytest.param(make_host(node=make_node()), id="its VM was not looked for since the Node was seen"),
        pytest.param(
            make_host("aaaa", make_instance(id="2002"), make_node(instance_id="1001", heartbeat=ago(minutes=1))),
            id="it has spoken since the VM was made",
        ),
        pytest.param(make_host("aaaa", make_instance(status="TERMINATED"), make_node()), id="its VM is only stopped"),
    ],
)
def test_a_node_is_never_deleted_when(host: Host) -> None:
    assert not any(isinstance(action, DeleteStaleNode) for action in node_work(host))
