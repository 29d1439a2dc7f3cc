"""Keys, scopes and wakes: what may be said to a mailbox.

An event never carries state into a decision. It says "look at this key again, in this scope, at these instances".
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Flag, StrEnum, auto
from types import MappingProxyType


class Kind(StrEnum):
    """The four kinds of custom resource; the value is the Kubernetes kind."""

    GROUP = "TPUNodeGroup"
    POLICY = "WorkloadPolicy"
    TEMPLATE = "InstanceTemplate"
    MIG = "ManagedInstanceGroup"

    @property
    def plural(self) -> str:
        """The resource name in URLs, as in `/apis/tpu.google.com/v1alpha1/namespaces/x/<plural>`."""
        return "workloadpolicies" if self is Kind.POLICY else self.value.lower() + "s"


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """One custom resource: the unit of work, of ordering and of back-off."""

    kind: Kind
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.namespace}/{self.name}"


class Scope(Flag):
    """What a look must read again from outside. The custom resource itself is always at hand."""

    NONE = 0
    #: The custom resource or a child of it changed.
    SPEC = auto()
    #: A Node of the group changed.
    NODES = auto()
    #: The instances named in the wake (or all, if none is named) must be read.
    INSTANCES = auto()
    #: The managed instance group (or the child's own GCE resource) must be read.
    MIG = auto()
    ALL = SPEC | NODES | INSTANCES | MIG


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a look happens: for audit, metrics and the reason of a loss; never for a decision on state.

    `kind` is `<resource>.<kind>` of an event (`instance.inserted`, `instance.bootstrap.booted`), or one of
    `follow_up`, `resync`, `spec`, `node`, `retry`, `start`. `at` is when the entry was published to Pub/Sub, or
    when a timer was due.
    """

    kind: str
    at: datetime
    event: str = ""
    detail: str = ""
    #: The incarnation that an event of an instance speaks of, "" if it does not say.
    instance_id: str = ""


@dataclass(frozen=True, slots=True)
class Wake:
    """Look again: in this scope, at these instances (name -> first cause that named it)."""

    scope: Scope
    cause: Cause
    instances: Mapping[str, Cause] = field(default_factory=lambda: MappingProxyType({}))
    #: Who asked for the MIG to be read: the cause of what that shows of VMs that nobody named.
    mig: Cause | None = None

    def __post_init__(self) -> None:
        if self.mig is None and Scope.MIG in self.scope:
            object.__setattr__(self, "mig", self.cause)

    def merge(self, later: "Wake") -> "Wake":
        """Both wakes in one. The first cause wins, also for each instance; an event's cause beats a timer's.

        Who asks for all instances gets all, whichever ones the other names.
        """
        instances = dict(self.instances)
        for name, cause in later.instances.items():
            if name not in instances or (instances[name].event == "" and cause.event != ""):
                instances[name] = cause
        if self.wants_all_instances or later.wants_all_instances:
            instances = {}
        cause = later.cause if self.cause.event == "" and later.cause.event != "" else self.cause
        return Wake(self.scope | later.scope, cause, MappingProxyType(instances), self.mig or later.mig)

    @property
    def oldest_event(self) -> datetime | None:
        """When the oldest of the events that it stands for was published; None where it stands for none."""
        causes = (self.cause, *self.instances.values(), *((self.mig,) if self.mig else ()))
        return min((cause.at for cause in causes if cause.event), default=None)

    @property
    def wants_all_instances(self) -> bool:
        """Whether the VMs must be read, and no names say which."""
        return Scope.INSTANCES in self.scope and not self.instances
