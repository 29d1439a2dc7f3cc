"""Short worlds for decisions: each builder makes a whole value with names that fit together; `check_world` refuses
snapshots that no look could have seen, so that a test cannot pass on one.

The default world is the two-host tpu7x slice `default/slice`, its VMs RUNNING since ten minutes.
"""

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from controller.api.conditions import Condition, Status
from controller.api.constants import (
    API_VERSION,
    FINALIZER,
    KEY_JOIN_TOKEN,
    LABEL_INSTANCE_ID,
)
from controller.api.resources import (
    ChildStatus,
    ObjectMeta,
    OwnerReference,
    TPUNodeGroup,
    TPUNodeGroupStatus,
    WorkloadPolicyStatus,
)
from controller.core.child import ChildSnapshot
from controller.core.children import child_key, child_ref
from controller.core.hosts import Matched
from controller.core.join import Host, HostState, state_of
from controller.core.model import Key, Kind
from controller.core.names import ownership_mark
from controller.core.node_labels import TPU_TAINT, group_labels
from controller.core.observed import (
    Instance,
    ManagedInstance,
    Metadata,
    MigView,
    NodeView,
    OperationError,
    ResourceRef,
    ResourceView,
    Taint,
    TemplateView,
    TokenView,
)
from controller.core.plan import Policy
from controller.core.snapshot import Child, GroupSnapshot

Json = dict[str, Any]

NOW: Final = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
PROJECT: Final = "my-gcp-project"
ZONE: Final = "us-central1-c"
POLICY: Final = Policy()
UID: Final = "group-uid"


def ago(**span: float) -> datetime:
    """So long before NOW, as `ago(minutes=3)`."""
    return NOW - timedelta(**span)


def after(**span: float) -> datetime:
    """So long after NOW."""
    return NOW + timedelta(**span)


def make_group(
    *,
    name: str = "slice",
    finalizers: tuple[str, ...] = (FINALIZER,),
    deleting: bool = False,
    status: TPUNodeGroupStatus | None = None,
    **spec: Any,
) -> TPUNodeGroup:
    """A BULK slice of two tpu7x hosts. `spec`: fields by their names in YAML; None removes one."""
    manifest: Json = {
        "project": PROJECT,
        "nodeLocation": ZONE,
        "nodeCount": 2,
        "acceleratorConnectionMode": "STATIC",
        "topology": "2x2x2",
        "targetSizePolicyMode": "BULK",
        "instanceConfig": {"machineType": "tpu7x-standard-4t"},
        "bootstrapKubernetes": {"version": "1.31", "controlPlaneIP": "10.128.0.2"},
    }
    manifest |= copy.deepcopy(spec)
    metadata: Json = {
        "name": name,
        "namespace": "default",
        "uid": UID,
        "resourceVersion": "7",
        "generation": 1,
        "finalizers": list(finalizers),
    }
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-31T11:59:00Z"
    raw = {"metadata": metadata, "spec": {key: value for key, value in manifest.items() if value is not None}}
    group = TPUNodeGroup.model_validate(raw)
    return group if status is None else group.model_copy(update={"status": status})


def make_single_hosts(count: int = 2, **spec: Any) -> TPUNodeGroup:
    """Hosts of their own, in one group."""
    return make_group(**{"nodeCount": count, "topology": "2x2x1", "targetSizePolicyMode": "INDIVIDUAL", **spec})


def make_ready_status(status: Status = "True", reason: str = "Ready") -> TPUNodeGroupStatus:
    """A status whose summary says so."""
    return TPUNodeGroupStatus(conditions=(make_condition(status, reason),))


def make_condition(
    status: Status = "True", reason: str = "Ready", message: str = "", type_: str = "Ready"
) -> Condition:
    """A condition of generation 1, five minutes old."""
    return Condition(
        type=type_,
        status=status,
        reason=reason,
        message=message,
        last_transition_time=ago(minutes=5),
        observed_generation=1,
    )


GROUP: Final = make_group()
BASE: Final = child_key(GROUP, Kind.MIG).name
GROUP_KEY: Final = Key(Kind.GROUP, "default", "slice")
MARK: Final = "default/slice"


def vm(suffix: str = "aaaa") -> str:
    """The name of a VM that the group's MIG makes."""
    return f"{BASE}-{suffix}"


def make_instance(
    suffix: str = "aaaa",
    *,
    id: str = "1001",  # noqa: A002 - as GCE calls it
    status: str = "RUNNING",
    token: str = "",
    created: datetime | None = None,
    started: datetime | None = None,
    fingerprint: str = "f1",
) -> Instance:
    """A VM. `token`: the public half of the token in its metadata."""
    items = {"kube-labels": "x"} | ({KEY_JOIN_TOKEN: f"{token}.0123456789abcdef"} if token else {})
    return Instance(
        project=PROJECT,
        zone=ZONE,
        name=vm(suffix),
        id=id,
        status=status,
        created=created or ago(minutes=10),
        started=started,
        metadata=Metadata(items, fingerprint),
    )


LABELS: Final = group_labels("default", "slice", accelerator="tpu7x", topology="2x2x2", chips=4)


def make_node(
    suffix: str = "aaaa",
    *,
    instance_id: str = "1001",
    ready: bool = True,
    chips: int = 4,
    heartbeat: datetime | None = ago(seconds=5),  # noqa: B008 - a frozen value
    created: datetime | None = None,
    labels: Mapping[str, str] | None = None,
    taints: tuple[Taint, ...] = (TPU_TAINT,),
    unschedulable: bool = False,
    cordoned_by: str = "",
    provider_id: str | None = None,
    resource_version: str = "70",
) -> NodeView:
    """A Ready Node of this incarnation, labelled and tainted as it should be."""
    name = vm(suffix)
    own = {LABEL_INSTANCE_ID: instance_id} if instance_id else {}
    return NodeView(
        name=name,
        uid=f"node-uid-{suffix}",
        resource_version=resource_version,
        provider_id=f"gce://{PROJECT}/{ZONE}/{name}" if provider_id is None else provider_id,
        instance_id=instance_id,
        created=created or ago(minutes=9),
        labels={**(LABELS if labels is None else labels), **own},
        taints=taints,
        unschedulable=unschedulable or bool(cordoned_by),
        cordoned_by=cordoned_by,
        ready=ready,
        tpu_allocatable=chips,
        heartbeat=heartbeat,
    )


def make_token(
    id: str = "tok001",  # noqa: A002 - as the Secret calls it
    suffix: str = "aaaa",
    *,
    instance_id: str = "1001",
    expires: datetime | None = None,
    created: datetime | None = None,
) -> TokenView:
    """A token of an hour's life, ten minutes old."""
    created = created or ago(minutes=10)
    return TokenView(
        id=id,
        namespace="default",
        group="slice",
        instance=vm(suffix),
        instance_id=instance_id,
        expires=expires or created + timedelta(hours=1),
        created=created,
    )


def make_row(
    suffix: str = "aaaa",
    *,
    id: str = "1001",  # noqa: A002
    status: str = "RUNNING",
    errors: tuple[OperationError, ...] = (),
) -> ManagedInstance:
    """A row of listManagedInstances."""
    return ManagedInstance(vm(suffix), id, status, errors)


def make_host(
    suffix: str = "aaaa",
    instance: Instance | None = None,
    node: NodeView | None = None,
    *tokens: TokenView,
    member: ManagedInstance | bool = True,
    **fields: Any,
) -> Host:
    """A host. `member`: our MIG's row of it, or whether it lists the VM as it is."""
    if isinstance(member, ManagedInstance):
        fields["member"] = member
    elif member and instance is not None:
        fields["member"] = make_row(suffix, id=instance.id, status=instance.status)
    host = Host(vm(suffix), instance, node, tokens, **fields)
    check_host(host, host.name)
    return host


def ready_host(suffix: str = "aaaa", id: str = "1001", **node: Any) -> Host:  # noqa: A002
    """A host with all that it needs."""
    return make_host(suffix, make_instance(suffix, id=id), make_node(suffix, instance_id=id, **node))


def make_state(host: Host, *, chips: int = 4, bootstraps: bool = True) -> HostState:
    """The state of a host at NOW."""
    return state_of(host, chips=chips, bootstraps=bootstraps, now=NOW)


def make_child(kind: Kind, *, group: TPUNodeGroup = GROUP, ready: Condition | None = None, **fields: Any) -> Child:
    """A child of the group; Ready unless said otherwise."""
    condition = ready or make_condition(reason="Created", message=f"{kind} exists")
    fields = {"deleting": False, "ready": condition, **fields}
    return Child(key=child_key(group, kind), uid=f"uid-{kind}", **fields)


def children(*kinds: Kind, group: TPUNodeGroup = GROUP, **fields: Any) -> dict[Kind, Child]:
    """Ready children of these kinds; all three without any."""
    return {kind: make_child(kind, group=group, **fields) for kind in kinds or (Kind.POLICY, Kind.TEMPLATE, Kind.MIG)}


STABLE_MIG: Final = MigView(target_size=2, is_stable=True, counts={"running": 2}, topologies={"2x2x2": "ACTIVE"})


def make_snapshot(
    *hosts: Host, group: TPUNodeGroup = GROUP, orphans: Sequence[TokenView] = (), **fields: Any
) -> GroupSnapshot:
    """What a look saw of a group that has all its children, a stable MIG and room for ten tokens."""
    fields = {
        "children": children(group=group),
        "filled": True,
        "mig": STABLE_MIG,
        "mig_read_at": ago(seconds=1),
        "token_slots": 10,
        **fields,
    }
    if fields["mig"] is None:
        fields["mig_read_at"] = None
    claimants = tuple(fields.pop("claimants", ()))
    matched = Matched({host.name: host for host in hosts}, tuple(orphans), claimants)
    snapshot = GroupSnapshot(group=group, matched=matched, **fields)
    check_world(snapshot)
    return snapshot


class ImpossibleWorldError(AssertionError):
    """A test described what no look could have seen."""


def _refuse(condition: bool, why: str) -> None:  # noqa: FBT001 - a guard
    if condition:
        raise ImpossibleWorldError(why)


def check_host(host: Host, name: str) -> None:
    """Refuse a host whose parts contradict one another."""
    vm_, node = host.instance, host.node
    _refuse(host.name != name, f"the host {host.name} is kept under {name}")
    _refuse(vm_ is not None and vm_.name != name, "the VM has another name")
    _refuse(node is not None and node.name != name, "the Node has another name")
    _refuse(host.absent and vm_ is not None, "a VM that is there is not absent")
    _refuse(host.member is not None and host.member.name != name, "a member of another name")
    _refuse(host.injected_at is not None and vm_ is None, "an injection into no VM")
    _refuse(any(token.instance != name for token in host.tokens), "a token of another host")
    _refuse(len({token.id for token in host.tokens}) != len(host.tokens), "two tokens of one id")
    waiting = [token for token in host.tokens if token.id == host.injectable]
    _refuse(bool(host.injectable) and not waiting, "an injectable token without its Secret")
    _refuse(any(vm_ is None or t.instance_id != vm_.id for t in waiting), "an injectable token of another incarnation")
    if vm_ is not None:
        _refuse(vm_.created > NOW or (vm_.started or vm_.created) < vm_.created, "a VM from the future")
        _refuse(bool(host.injectable) and vm_.metadata.token_id == host.injectable, "injected and injectable")
    if node is not None:
        _refuse(node.heartbeat is not None and not ago(days=9) < node.heartbeat <= NOW, "an impossible heartbeat")
        _refuse(node.labels.get(LABEL_INSTANCE_ID, "") != node.instance_id, "the Node's id is not its label")
        _refuse(bool(node.cordoned_by) and not node.unschedulable, "a cordon mark on a schedulable Node")
        claimed = f"gce://{PROJECT}/{ZONE}/{name}"
        _refuse(node.provider_id not in {"", claimed}, "a Node of another VM is a claimant, not the host's")


def check_world(snapshot: GroupSnapshot) -> None:
    """Refuse a snapshot that contradicts itself. Raises ImpossibleWorldError."""
    for name, host in snapshot.matched.hosts.items():
        check_host(host, name)
    hosts, orphans = snapshot.matched.hosts.values(), snapshot.matched.orphans
    _refuse(any(token.instance in snapshot.matched.hosts for token in orphans), "an orphan token whose host is there")
    _refuse(bool(orphans) and not snapshot.filled, "orphans before GCE was heard")
    _refuse(any(host.absent for host in hosts) and not snapshot.filled, "an absence before GCE was heard")
    tokens = [token.id for host in hosts for token in host.tokens] + [token.id for token in orphans]
    _refuse(len(set(tokens)) != len(tokens), "one token at two hosts")
    for kind, child in snapshot.children.items():
        _refuse(child.key != child_key(snapshot.group, kind), f"the {kind} is another group's")
    _refuse((snapshot.mig is None) != (snapshot.mig_read_at is None), "a MIG that nobody read")
    deleting = snapshot.group.metadata.deletion_timestamp is not None
    _refuse(deleting and not snapshot.group.metadata.finalizers, "deleting without a finalizer is gone")
    _refuse(snapshot.token_slots < 0, "less than no room for tokens")


def make_ref(kind: Kind = Kind.POLICY) -> ResourceRef:
    """The GCE resource of the group's child."""
    return child_ref(GROUP, kind)


def make_resource(kind: Kind = Kind.POLICY, *, description: str | None = None, **fields: Any) -> ResourceView:
    """A GCE resource that bears the mark of the child that `make_child_snapshot` looks at."""
    ref = make_ref(kind)
    key = child_key(GROUP, kind)
    mark = ownership_mark(key, f"uid-{kind}") if description is None else description
    if kind is Kind.POLICY:
        fields = {"status": "READY", **fields}
    if kind is Kind.MIG:
        fields = {"mig": STABLE_MIG, **fields}
    return ResourceView(ref, "4711", mark, **fields)


def make_child_snapshot(
    kind: Kind = Kind.POLICY,
    *,
    status: ChildStatus | None = None,
    finalizers: Iterable[str] = (FINALIZER,),
    deleting: bool = False,
    owned: bool = True,
    **fields: Any,
) -> ChildSnapshot:
    """A look at a child of the group that read its resource and found none."""
    key = child_key(GROUP, kind)
    owner = OwnerReference(api_version=API_VERSION, kind=Kind.GROUP.value, name="slice", uid=UID, controller=True)
    metadata = ObjectMeta(
        name=key.name,
        namespace=key.namespace,
        uid=f"uid-{kind}",
        resource_version="12",
        generation=1,
        finalizers=tuple(finalizers),
        deletion_timestamp=ago(minutes=1) if deleting else None,
        owner_references=(owner,) if owned else (),
    )
    fields = {
        "body": {"name": key.name},
        "rejection": None,
        "read": True,
        "resource": None,
        "operation": None,
        "operation_since": None,
        "request_unsent": False,
        "blocked_by": "",
        "fresh_request_id": "fresh-id",
        "reference_may_have_made_it": owned,
        **fields,
    }
    snapshot = ChildSnapshot(key, metadata, status or WorkloadPolicyStatus(), make_ref(kind), **fields)
    check_child_world(snapshot)
    return snapshot


def check_child_world(snapshot: ChildSnapshot) -> None:
    """Refuse a look at a child that contradicts itself. Raises ImpossibleWorldError."""
    status = snapshot.status
    _refuse(snapshot.operation is not None and not status.operation_name, "an operation that nobody knows of")
    _refuse(
        snapshot.operation is not None and snapshot.operation.name != status.operation_name, "another one's operation"
    )
    running = snapshot.operation is not None and not snapshot.operation.done
    _refuse(running and snapshot.read, "a resource is not read while its operation runs")
    _refuse(snapshot.request_unsent and not status.request_id, "an unsent request without an id")
    _refuse(bool(snapshot.blocked_by) and not snapshot.metadata.deleting, "only a deletion is blocked")
    _refuse(snapshot.metadata.deleting and not snapshot.metadata.finalizers, "deleting without a finalizer is gone")


def make_template_view(**fields: Any) -> TemplateView:
    """A brought template as it should be."""
    good = TemplateView(
        machine_type="tpu7x-standard-4t",
        provisioning_model="STANDARD",
        on_host_maintenance="TERMINATE",
        termination_action="",
        has_scheduling=True,
    )
    return replace(good, **fields)
