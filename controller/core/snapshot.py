"""All that a look at a TPUNodeGroup saw, in one frozen value, and the questions that every decision asks of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from controller.api.conditions import Condition, get_condition
from controller.api.reasons import ConditionType
from controller.api.resources import ProvisioningModel, TPUNodeGroup
from controller.api.topology import accelerator_label, chips_per_host
from controller.core.children import wanted_kinds
from controller.core.hosts import Matched
from controller.core.join import HostState, Phase, states_of
from controller.core.model import Key, Kind
from controller.core.names import last_segment
from controller.core.node_labels import group_labels
from controller.core.observed import MigView, OperationError, TemplateView


@dataclass(frozen=True, slots=True)
class Child:
    """A child custom resource, as far as its group looks at it."""

    key: Key
    uid: str
    deleting: bool
    #: Its Ready condition; None before it has one.
    ready: Condition | None

    @property
    def is_ready(self) -> bool:
        """Whether its GCE resource is there and as it should be."""
        return self.ready is not None and self.ready.status == "True"


@dataclass(frozen=True, slots=True)
class GroupSnapshot:
    """What a look at a group saw."""

    group: TPUNodeGroup
    children: Mapping[Kind, Child] = field(default_factory=dict)
    matched: Matched = field(default_factory=lambda: Matched({}))
    #: Whether GCE's word on the VMs was heard since this process started.
    filled: bool = False
    mig: MigView | None = None
    mig_read_at: datetime | None = None
    #: How many follow-ups the present series has had.
    quiet_looks: int = 0
    #: How many tokens may still be minted for this group now.
    token_slots: int = 0
    #: The brought template; None when none is brought, or it was not read yet.
    template: TemplateView | None = None
    #: Why the group cannot work as it is written.
    rejection: str | None = None
    #: What kept the MIG from making VMs, as its own rows or its bulk check tell.
    errors: tuple[OperationError, ...] = ()
    _states: dict[datetime, tuple[HostState, ...]] = field(default_factory=dict, init=False, compare=False, repr=False)

    @property
    def mark(self) -> str:
        """The group's namespaced name: marks our cordons."""
        return f"{self.group.metadata.namespace}/{self.group.metadata.name}"

    @property
    def machine_type(self) -> str:
        """Of the spec or of the brought template; "" while that is not known."""
        brought = last_segment(self.template.machine_type) if self.template else ""
        return self.group.spec.machine_type or brought

    @property
    def chips(self) -> int:
        """google.com/tpu of each host; 0 while the machine type is not known."""
        return chips_per_host(self.machine_type) if self.machine_type else 0

    @property
    def accelerator(self) -> str:
        """The value of the accelerator label, "" while the machine type is not known."""
        return accelerator_label(self.machine_type) if self.machine_type else ""

    @property
    def labels(self) -> dict[str, str]:
        """What each Node of the group is labelled with."""
        return group_labels(
            self.group.metadata.namespace,
            self.group.metadata.name,
            accelerator=self.accelerator,
            topology=self.group.spec.topology,
            chips=self.chips,
        )

    @property
    def is_bulk(self) -> bool:
        """BULK: the hosts are one slice."""
        return self.group.spec.is_bulk

    @property
    def is_spot(self) -> bool:
        """Spot capacity: what is taken does not come back by itself."""
        config = self.group.spec.instance_config
        if config is not None:
            return config.effective_provisioning_model == ProvisioningModel.SPOT
        return self.template is not None and self.template.provisioning_model == ProvisioningModel.SPOT

    @property
    def deleting(self) -> bool:
        """Whether the user has asked for the end of it."""
        return self.group.metadata.deleting

    @property
    def was_ready(self) -> bool:
        """Whether the last status said Ready."""
        condition = get_condition(self.group.status.conditions, ConditionType.READY)
        return condition is not None and condition.status == "True"

    @property
    def children_ready(self) -> bool:
        """Whether all GCE resources are there and as they should be."""
        return all((child := self.children.get(kind)) and child.is_ready for kind in wanted_kinds(self.group))

    def states(self, now: datetime) -> tuple[HostState, ...]:
        """The phase of every known host. Plan and status of one look ask for the same moment: judged once."""
        if now not in self._states:
            bootstraps = self.group.spec.bootstrap_kubernetes is not None
            self._states[now] = states_of(self.matched.hosts, chips=self.chips, bootstraps=bootstraps, now=now)
        return self._states[now]

    @property
    def topology_applied(self) -> bool:
        """Whether the MIG says that the slice is connected. A MIG that says nothing of it does not contradict."""
        if not self.is_bulk or self.mig is None or not self.mig.topologies:
            return True
        return self.mig.topologies.get(self.group.spec.topology) == "ACTIVE"

    def stays_down(self, state: HostState) -> bool:
        """Whether nobody brings a host back: a Spot VM that was taken (facts: GCE 6.2).

        By the API's word alone. What events said of a host may be forged, and the slice is made anew for this.
        """
        instance = state.host.instance
        return state.phase is Phase.FAILED and self.is_spot and instance is not None and instance.status == "TERMINATED"

    def whole(self, states: tuple[HostState, ...]) -> bool:
        """Every host of the current incarnation is a Ready Node with its chips, and the slice is connected."""
        ready = sum(state.phase is Phase.READY for state in states)
        return ready == self.group.spec.node_count and self.children_ready and self.topology_applied
