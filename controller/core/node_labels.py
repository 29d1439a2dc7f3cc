"""What a Node of a group carries: labels that schedulers select by, and the TPU taint (facts: TPU 2)."""

from collections.abc import Mapping, Sequence

from controller.api.constants import (
    LABEL_ACCELERATOR,
    LABEL_CHIP_COUNT,
    LABEL_INSTANCE_ID,
    LABEL_NODE_GROUP,
    LABEL_NODE_GROUP_NAME,
    LABEL_NODE_GROUP_NAMESPACE,
    LABEL_TOPOLOGY,
    TPU_RESOURCE,
    TPU_TAINT_VALUE,
)
from controller.core.actions import Action, DeleteStaleNode, LabelNode, TaintNode
from controller.core.join import HostState, Phase
from controller.core.observed import NodeView, Taint

TPU_TAINT = Taint(TPU_RESOURCE, TPU_TAINT_VALUE, "NoSchedule")
_MAX_LABEL_VALUE = 63


def group_labels(namespace: str, name: str, *, accelerator: str, topology: str, chips: int) -> dict[str, str]:
    """All labels of a group's Nodes. The joined `<namespace>-<name>` is ambiguous: for the reference's users only."""
    labels = {LABEL_NODE_GROUP_NAMESPACE: namespace, LABEL_NODE_GROUP_NAME: name}
    joined = f"{namespace}-{name}"
    if len(joined) <= _MAX_LABEL_VALUE:
        labels[LABEL_NODE_GROUP] = joined
    if accelerator:
        labels[LABEL_ACCELERATOR] = accelerator
        labels[LABEL_TOPOLOGY] = topology
        if chips:
            labels[LABEL_CHIP_COUNT] = str(chips)
    return labels


def kube_labels(labels: Mapping[str, str]) -> str:
    """The metadata value `kube-labels`: sorted, comma-joined k=v (facts: TPU 2, 3.6)."""
    return ",".join(f"{key}={labels[key]}" for key in sorted(labels))


def node_actions(states: Sequence[HostState], labels: Mapping[str, str], *, taint: bool | None) -> tuple[Action, ...]:
    """Labels and taint of joined Nodes, and the deletion of stale ones. `taint` None: leave taints alone."""
    actions: list[Action] = []
    for state in states:
        node = state.host.node
        if node is None:
            continue
        if state.phase is Phase.REPLACED:
            actions.append(DeleteStaleNode(node.name, node.uid, node.resource_version, state.message))
            continue
        wanted = dict(labels)
        if state.host.instance is not None:
            # A kubelet that adopted an old Node kept the old incarnation's id on it; one that joined by itself, or
            # whose labels somebody removed, has none.
            wanted[LABEL_INSTANCE_ID] = state.host.instance.id
        missing = {key: value for key, value in wanted.items() if node.labels.get(key) != value}
        if taint is not None:
            # First: a label changes the version of the Node that the taints were seen at.
            actions += _taint(node, wanted=taint)
        if missing:
            actions.append(LabelNode(node.name, node.uid, missing))
    return tuple(actions)


def _taint(node: NodeView, *, wanted: bool) -> list[Action]:
    if (TPU_TAINT in node.taints) is wanted:
        return []
    others = tuple(t for t in node.taints if t != TPU_TAINT)
    taints = (*others, TPU_TAINT) if wanted else others
    return [TaintNode(node.name, node.uid, node.resource_version, taints)]
