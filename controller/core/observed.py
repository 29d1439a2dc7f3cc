"""What a look saw: frozen views of GCE resources, Nodes and token Secrets. No SDK type, no secret in a repr."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

from controller.api.constants import KEY_JOIN_TOKEN
from controller.core.model import Kind


@dataclass(frozen=True, slots=True)
class ResourceRef:
    """One GCE resource that a child CR drives. `location`: a region (policy), `global` (template), a zone (MIG)."""

    kind: Kind
    project: str
    location: str
    name: str

    @property
    def path(self) -> str:
        """The partial URL, as `projects/p/zones/z/instanceGroupManagers/n`."""
        collection = {
            Kind.POLICY: f"regions/{self.location}/resourcePolicies",
            Kind.TEMPLATE: "global/instanceTemplates"
            if self.location == "global"
            else f"regions/{self.location}/instanceTemplates",
            Kind.MIG: f"zones/{self.location}/instanceGroupManagers",
        }[self.kind]
        return f"projects/{self.project}/{collection}/{self.name}"


@dataclass(frozen=True, slots=True)
class OperationError:
    """The first error of a finished operation, or of a bulk request's last progress check."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class OperationView:
    """A GCE operation. `target_id` is the id of the resource that it worked on ("" if unknown)."""

    name: str
    done: bool
    operation_type: str = ""
    target_id: str = ""
    error: OperationError | None = None


@dataclass(frozen=True, slots=True)
class MigView:
    """A managed instance group as its GET shows it (facts: GCE 6.1)."""

    target_size: int
    is_stable: bool
    #: Counts of `status.currentInstanceStatuses` that are not zero, by their names (`running`, `pending`, ...).
    counts: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    bulk_in_progress: bool = False
    bulk_error: OperationError | None = None
    #: acceleratorTopology -> state (ACTIVE, ACTIVATING, FAILED, ...).
    topologies: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    #: Its VMs are made all at once, and none of them anew (BULK).
    is_bulk: bool = False

    @property
    def running(self) -> int:
        """How many VMs the group counts as running."""
        return self.counts.get("running", 0)


@dataclass(frozen=True, slots=True)
class TemplateView:
    """What we check of a brought template (facts: reference API, checks of a brought template)."""

    machine_type: str
    provisioning_model: str
    on_host_maintenance: str
    termination_action: str
    has_scheduling: bool


@dataclass(frozen=True, slots=True)
class ResourceView:
    """One GCE resource that is there. `status` is the policy's (READY, CREATING, ...), "" for the others."""

    ref: ResourceRef
    id: str
    description: str = ""
    status: str = ""
    mig: MigView | None = None
    template: TemplateView | None = None


class Metadata(Mapping[str, str]):
    """An instance's metadata items with their fingerprint. May hold a join token: prints its keys only."""

    __slots__ = ("_items", "fingerprint")

    def __init__(self, items: Mapping[str, str], fingerprint: str) -> None:
        self._items = dict(items)
        self.fingerprint = fingerprint

    def __getitem__(self, key: str) -> str:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"Metadata(keys={sorted(self._items)}, fingerprint={self.fingerprint!r})"

    @property
    def token_id(self) -> str:
        """The public half of the join token, "" where there is none."""
        return self._items.get(KEY_JOIN_TOKEN, "").partition(".")[0]


@dataclass(frozen=True, slots=True)
class Instance:
    """One VM. Its identity is `id`; the name is reused by the MIG."""

    project: str
    zone: str
    name: str
    id: str
    #: PENDING, PROVISIONING, STAGING, RUNNING, STOPPING, TERMINATED, ... (facts: GCE 2).
    status: str
    created: datetime
    #: Last start (creation or restart); a Node's word from before it is stale.
    started: datetime | None
    metadata: Metadata


@dataclass(frozen=True, slots=True)
class ManagedInstance:
    """A row of listManagedInstances: the proof that a name with this id is ours. `id` is "" before the VM exists."""

    name: str
    id: str
    status: str
    errors: tuple[OperationError, ...] = ()


@dataclass(frozen=True, slots=True)
class Taint:
    """A Node's taint."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True)
class NodeView:
    """A Node, as far as we look at it. Only a change of this, the heartbeat aside, wakes a key."""

    name: str
    uid: str
    resource_version: str
    provider_id: str
    instance_id: str
    created: datetime
    #: All labels that begin with `cloud.google.com/` or `tpu.google.com/`.
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    unschedulable: bool
    #: Value of the annotation that marks our own cordon, "" if none.
    cordoned_by: str
    ready: bool
    tpu_allocatable: int
    #: lastHeartbeatTime of the Ready condition.
    heartbeat: datetime | None


@dataclass(frozen=True, slots=True)
class TokenView:
    """A bootstrap Secret of ours, as its metadata shows it. Never its value."""

    id: str
    namespace: str
    group: str
    instance: str
    instance_id: str
    expires: datetime
    created: datetime
