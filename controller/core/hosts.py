"""Put together what is known of each host of a group: the VM, the Node, the tokens. Pure matching, no judgement."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from controller.api.reasons import Reason
from controller.core.join import Host
from controller.core.names import base_name_of, provider_id
from controller.core.observed import Instance, ManagedInstance, NodeView, TokenView

Hint = tuple[Reason, str]


@dataclass(frozen=True, slots=True)
class Inventory:
    """A group's VMs as last read. Keys: instance names, but instance ids for `injected`, `injectable` and `hints`."""

    #: False until everything was read once: before that, "not here" means nothing.
    filled: bool = False
    instances: Mapping[str, Instance] = field(default_factory=dict)
    #: Names for which GCE answered 404 after their Node, if there is one, was seen last.
    absent: frozenset[str] = frozenset()
    #: name -> row of listManagedInstances of our MIG, for VMs that exist.
    members: Mapping[str, ManagedInstance] = field(default_factory=dict)
    #: Names that the MIG lists without a VM: it is about to make one.
    awaited: frozenset[str] = frozenset()
    injected: Mapping[str, datetime] = field(default_factory=dict)
    #: instance id -> id of a token that was minted for it and waits to be injected.
    injectable: Mapping[str, str] = field(default_factory=dict)
    hints: Mapping[str, Hint] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Matched:
    """The hosts of a group by name, tokens of ours without a host, and Nodes of a host's name that are another's."""

    hosts: Mapping[str, Host]
    orphans: tuple[TokenView, ...] = ()
    claimants: tuple[NodeView, ...] = ()


def bears_name_rightly(node: NodeView, project: str, zone: str) -> bool:
    """Whether a Node is that of the VM of its name in this zone: its providerID says so, or says nothing yet."""
    return node.provider_id in {"", provider_id(project, zone, node.name)}


def match_hosts(
    inventory: Inventory, nodes: Iterable[NodeView], tokens: Iterable[TokenView], *, project: str, zone: str, base: str
) -> Matched:
    """One Host for every name that a VM, a Node or the MIG's list has. `base`: the MIG's base instance name."""
    ours: dict[str, NodeView] = {}
    claimants: list[NodeView] = []
    for node in nodes:
        if base_name_of(node.name) != base:
            continue
        if bears_name_rightly(node, project, zone):
            ours[node.name] = node
        else:
            claimants.append(node)
    by_instance: dict[str, list[TokenView]] = {}
    for token in tokens:
        by_instance.setdefault(token.instance, []).append(token)
    names = {*inventory.instances, *inventory.members, *inventory.awaited, *ours}
    hosts = {name: _host(name, inventory, ours.get(name), by_instance.pop(name, [])) for name in sorted(names)}
    orphans = tuple(token for tokens_of_one in by_instance.values() for token in tokens_of_one)
    return Matched(hosts, orphans if inventory.filled else (), tuple(claimants))


def _host(name: str, inventory: Inventory, node: NodeView | None, tokens: list[TokenView]) -> Host:
    instance = inventory.instances.get(name)
    member = inventory.members.get(name)
    instance_id = instance.id if instance else member.id if member else ""
    return Host(
        name=name,
        instance=instance,
        node=node,
        tokens=tuple(tokens),
        # A 404 that the MIG's own row contradicts proves nothing: a Node must not be deleted for it.
        absent=instance is None
        and inventory.filled
        and name in inventory.absent
        and not (member is not None and member.status == "RUNNING"),
        member=member,
        injectable=inventory.injectable.get(instance_id, ""),
        injected_at=inventory.injected.get(instance_id),
        hint=inventory.hints.get(instance_id),
    )
