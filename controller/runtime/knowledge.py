"""All that the looks share: custom resources, Nodes, tokens, GCE resources as last read, and each key's memory."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from controller.api.resources import Resource, TPUNodeGroup
from controller.core.child import status_of
from controller.core.children import child_ref
from controller.core.desired import ref_of
from controller.core.model import Key, Kind
from controller.core.names import base_name_of
from controller.core.observed import NodeView, ResourceRef, ResourceView
from controller.core.route import RoutingIndex
from controller.runtime.awaited import Awaited
from controller.runtime.custom_resources import CustomResources, owner_of
from controller.runtime.group_memory import GroupMemory
from controller.runtime.vault import TokenVault


@dataclass(frozen=True, slots=True)
class Seen:
    """A GCE resource as it was read last; `view` None when GCE answered 404."""

    view: ResourceView | None
    at: datetime


@dataclass(slots=True)
class Knowledge:
    """Mutable, on one event loop, without locks: every change of it is made between two awaits."""

    vault: TokenVault
    #: The Node store's live mapping, by name.
    nodes: Mapping[str, NodeView] = field(default_factory=dict)
    resources: CustomResources = field(default_factory=CustomResources)
    index: RoutingIndex = field(default_factory=RoutingIndex)
    #: GCE resources by their partial URL.
    seen: dict[str, Seen] = field(default_factory=dict)
    #: Request ids that were written to a status and not sent by this process: GCE cannot know them.
    unsent: set[str] = field(default_factory=set)
    #: Audit entries that must come.
    awaited: Awaited = field(default_factory=Awaited)
    #: When an operation was first heard of.
    operations: dict[str, datetime] = field(default_factory=dict)
    _memories: dict[Key, GroupMemory] = field(default_factory=dict)
    _names_by_base: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def memory(self, key: Key) -> GroupMemory:
        """What a key's looks remember."""
        return self._memories.setdefault(key, GroupMemory())

    def admit(self, key: Key, resource: Resource) -> None:
        """A custom resource is here: route the events of its GCE resources to it."""
        if isinstance(resource, TPUNodeGroup):
            self.index.add_instances_of(child_ref(resource, Kind.MIG), key)
            if resource.spec.instance_template_uri:
                self.index.add_resource(brought_template(resource), key)
            return
        ref = ref_of(resource)
        self.index.add_resource(ref, key)
        if key.kind is Kind.MIG and owner_of(resource) is None:
            self.index.add_instances_of(ref, key)

    def dismiss(self, key: Key, resource: Resource) -> None:
        """A custom resource is gone: forget all that concerns it."""
        self.index.remove(key)
        self._memories.pop(key, None)
        if isinstance(resource, TPUNodeGroup):
            return
        self.seen.pop(ref_of(resource).path, None)
        status = status_of(resource)
        self.operations.pop(status.operation_name or "", None)
        self.unsent.discard(status.request_id or "")

    def node_changed(self, old: NodeView | None, new: NodeView | None) -> Key | None:
        """A Node came, changed or went. Returns the group that looks at such a name."""
        node = new or old
        base = base_name_of(node.name) if node is not None else None
        if node is None or base is None:
            return None
        if new is None:
            self._names_by_base[base].discard(node.name)
        else:
            self._names_by_base[base].add(node.name)
        key = self._group_of(node)
        if key is not None and new is not None:
            self.memory(key).sight(node.name, node.instance_id)
        return key

    def node_spoke(self, node: NodeView) -> Key | None:
        """A Node's heartbeat moved. Returns its group."""
        key = self._group_of(node)
        if key is not None:
            self.memory(key).sight(node.name, node.instance_id)
        return key

    def nodes_of(self, base: str) -> Iterable[NodeView]:
        """The Nodes whose names a MIG of this base instance name could have made."""
        return [self.nodes[name] for name in sorted(self._names_by_base.get(base, ())) if name in self.nodes]

    def known_names(self, key: Key, base: str) -> set[str]:
        """The VMs of this base instance name that a Node or a token of the group speaks of."""
        nodes = {node.name for node in self.nodes_of(base)}
        return nodes | {token.instance for token in self.vault.of_group(key)}

    def _group_of(self, node: NodeView) -> Key | None:
        """By the routing index; the providerID names project and zone, else any group of this base name will do."""
        parts = node.provider_id.removeprefix("gce://").split("/")
        if len(parts) == 3:
            key = self.index.owner_of_instance(parts[0], parts[1], parts[2])
            if key is not None:
                return key
        return self.index.owner_of_base(base_name_of(node.name) or "")


def brought_template(group: TPUNodeGroup) -> ResourceRef:
    """The template that a group brings."""
    parts = (group.spec.instance_template_uri or "").split("/")
    # `global` or a region stands before the collection, in a partial URL and in a full one.
    return ResourceRef(Kind.TEMPLATE, group.spec.project, parts[-3], parts[-1])
