"""The custom resource TPUNodeGroup: what users write, and what they read back."""

from enum import StrEnum
from typing import ClassVar

from pydantic import Field

from controller.api import names
from controller.api.base import INT32, ApiModel, SpecModel, Time, api_field
from controller.api.conditions import Condition
from controller.api.group_rules import GROUP_RULES
from controller.api.instance_config import InstanceConfig
from controller.api.managed_instance_group import TargetSizePolicyMode
from controller.api.resource import Resource, conditions_field
from controller.api.rules import Rule, matches


class RecoveryPolicy(StrEnum):
    """What the operator does about a slice that Compute Engine does not bring back by itself."""

    #: Report it.
    MANUAL = "Manual"
    #: Delete the managed instance group and create it anew.
    RECREATE_SLICE = "RecreateSlice"


class BootstrapKubernetes(SpecModel):
    """How the VMs join the cluster."""

    version: str = api_field(
        "Minor version of the kubelets, as 1.31 (quoted in YAML).",
        value="",
        required=True,
        maxLength=8,
        rules=[matches(r"^1\.[0-9]{2}$", 'version must be a minor version of Kubernetes in quotes, as "1.31"')],
    )
    control_plane_ip: str = api_field(
        "Address of the API server as the VMs reach it.",
        value="",
        alias="controlPlaneIP",
        required=True,
        maxLength=253,
        rules=[
            matches(
                r"^(\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z][0-9A-Za-z.:-]*|::[0-9A-Fa-f:.]*)$",
                "controlPlaneIP must be an address without a port, as 10.128.0.2; the port goes to controlPlanePort",
            )
        ],
    )
    control_plane_port: int = api_field(
        "Port of the API server.", default=6443, format="int32", minimum=1, maximum=65535
    )
    control_plane_endpoint: str | None = api_field(
        "host:port of the API server, in place of controlPlaneIP and controlPlanePort; the host may be a DNS name "
        "or an IPv6 address in brackets.",
        maxLength=260,
        rules=[
            matches(
                r"^(\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z]([0-9A-Za-z.-]*[0-9A-Za-z])?):[0-9]{1,5}$",
                "controlPlaneEndpoint must be host:port, as api.example.com:6443 or [fd00::1]:6443",
            )
        ],
    )
    taint: bool = api_field(
        "Taint the nodes google.com/tpu=present:NoSchedule, so that only pods that tolerate it run there.",
        default=True,
        mutable=True,
    )


class TPUNodeGroupSpec(SpecModel):
    """A group of TPU hosts in one zone."""

    crd_rules: ClassVar[tuple[Rule, ...]] = GROUP_RULES

    project: str = api_field("Project ID.", value="", required=True, maxLength=30, rules=[names.PROJECT])
    node_location: str = api_field(
        "Zone, as us-central1-c.", value="", required=True, maxLength=63, rules=[names.zone("nodeLocation")]
    )
    node_count: int = api_field("Number of hosts.", value=0, required=True, minimum=1, **INT32)
    min_node_count: int | None = api_field(
        "Kept for compatibility; a slice is always made with nodeCount hosts.", minimum=0, **INT32
    )
    accelerator_connection_mode: str = api_field(
        "How the chips are connected.", value="STATIC", required=True, enum=["STATIC"]
    )
    topology: str = api_field(
        "Topology in chips, as 2x2x2: of the whole slice in mode BULK, of each host in mode INDIVIDUAL.",
        value="",
        required=True,
        maxLength=14,
        rules=[names.TOPOLOGY],
    )
    target_size_policy_mode: str = api_field(
        "BULK: one slice of all hosts. INDIVIDUAL: every host is a slice of its own.",
        value="",
        required=True,
        enum=[TargetSizePolicyMode.BULK.value, TargetSizePolicyMode.INDIVIDUAL.value],
    )
    instance_template_uri: str | None = api_field(
        "An existing instance template, in place of instanceConfig.", alias="instanceTemplateURI", maxLength=255
    )
    instance_config: InstanceConfig | None = api_field("How the VMs are made, in place of instanceTemplateURI.")
    bootstrap_kubernetes: BootstrapKubernetes | None = api_field(
        "How the VMs join the cluster. Without it, or with a brought template, they must join by themselves."
    )
    recovery_policy: str = api_field(
        "What happens to a slice that Compute Engine does not bring back by itself: Manual reports it, "
        "RecreateSlice deletes its managed instance group and creates it anew.",
        default=RecoveryPolicy.MANUAL.value,
        enum=[policy.value for policy in RecoveryPolicy],
        mutable=True,
    )

    @property
    def is_bulk(self) -> bool:
        """Whether the hosts are one slice."""
        return self.target_size_policy_mode == TargetSizePolicyMode.BULK

    @property
    def machine_type(self) -> str:
        """The machine type, "" where a brought template hides it."""
        return self.instance_config.machine_type if self.instance_config else ""


class NodeSummary(ApiModel):
    """Hosts by state."""

    ready: int = api_field("Hosts that are Ready Nodes with all their chips.", value=0, format="int32", minimum=0)
    reconciling: int = api_field("Hosts on their way.", value=0, format="int32", minimum=0)
    failed: int = api_field("Hosts that were lost or cannot join.", value=0, format="int32", minimum=0)


class NodeStatus(ApiModel):
    """One host that is not Ready."""

    name: str = api_field("Name of the VM and of its Node.", value="", required=True, maxLength=63)
    instance_id: str | None = api_field("Numeric id of the VM, once it exists.", alias="instanceID", maxLength=32)
    phase: str = api_field("How far it is, as Running or TokenInjected.", value="", required=True, maxLength=32)
    reason: str | None = api_field("Why it is not Ready.", maxLength=64)
    since: Time | None = api_field("Since when it is in this phase.")


class TPUNodeGroupStatus(ApiModel):
    """How far the group is."""

    conditions: tuple[Condition, ...] = conditions_field()
    node_summary: NodeSummary | None = api_field("Hosts by state.")
    nodes_ready: str | None = api_field("Ready hosts of all, as 2/2.", maxLength=32)
    accelerator: str | None = api_field("Value of the accelerator label of the nodes, as tpu7x.", maxLength=63)
    nodes: tuple[NodeStatus, ...] = api_field("Hosts that are not Ready, at most 50 of them.", value=(), maxItems=50)
    observed_generation: int = api_field(
        "Generation of the spec that was acted on.", value=0, format="int64", minimum=0
    )
    last_event_time: Time | None = api_field("When the last event about this group was published.")


class TPUNodeGroup(Resource):
    """A group of TPU hosts that join this cluster: one slice, or several hosts on their own."""

    KIND: ClassVar[str] = "TPUNodeGroup"

    spec: TPUNodeGroupSpec = Field(default_factory=TPUNodeGroupSpec)
    status: TPUNodeGroupStatus = Field(default_factory=TPUNodeGroupStatus)
