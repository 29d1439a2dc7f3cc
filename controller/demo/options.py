"""What a demo can be asked for, and the group that it applies for that. Pure."""

import re
from bisect import bisect_left
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from controller.api.constants import API_VERSION
from controller.api.instance_config import ProvisioningModel
from controller.api.managed_instance_group import TargetSizePolicyMode
from controller.api.topology import host_topology, legal_host_counts, topology_for_hosts

MACHINE: Final = "tpu7x-standard-4t"
PROJECT: Final = "my-gcp-project"
ZONE: Final = "us-central1-c"
NAMESPACE: Final = "default"
GROUP_NAME: Final = "demo-slice"
#: Given to the VMs unless another is asked for: they report their boot through Cloud Logging with it.
SERVICE_ACCOUNT: Final = f"tpu-nodes@{PROJECT}.iam.gserviceaccount.com"
#: How "none" is asked for.
NO_ACCOUNT: Final = "none"
_EMAIL: Final = re.compile(r"[a-z0-9.-]+@[a-z0-9-]+(\.[a-z0-9-]+)+")
#: A managed instance group holds no more VMs than this without paging (facts: GCE 6.1).
MOST_INDIVIDUAL: Final = 1000


class Scenario(StrEnum):
    """What happens to the group after it was applied."""

    #: A slice comes up, loses a host to a host error, gets it back from Compute Engine, and is deleted.
    LIFE = "life"
    #: Spot hosts are preempted and made anew by their managed instance group.
    PREEMPT = "preempt"
    #: The zone has no capacity; later it has.
    STOCKOUT = "stockout"


class PubSub(StrEnum):
    """Which Pub/Sub carries the events."""

    EMBEDDED = "embedded"
    #: Google's own emulator.
    EMULATOR = "emulator"


class BadOptionError(Exception):
    """An option's value cannot be; the message says what can."""


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """Where VMs join: its version as `1.34`, and its address and port."""

    version: str
    address: str
    port: int


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """A demo, as asked for. Raises BadOptionError for a number of nodes that no topology has, and for a wrong email."""

    scenario: Scenario = Scenario.LIFE
    nodes: int = 2
    json: bool = False
    keep: bool = False
    pubsub: PubSub = PubSub.EMBEDDED
    #: embedded, real, or the path of an administrator's kubeconfig.
    control_plane: str | Path = "embedded"
    #: Whether the VMs run the real script, kubeadm and kubelet.
    real_join: bool = False
    #: "" for none.
    node_service_account: str = SERVICE_ACCOUNT
    seed: int = 1
    #: The project of everything.
    project: str = PROJECT
    #: A Terraform plan, and which of its clusters: the event path is made as planned.
    plan: Path | None = None
    cluster: str = ""

    def __post_init__(self) -> None:
        account = self.node_service_account
        if account and not _EMAIL.fullmatch(account):
            raise BadOptionError(
                f"--node-service-account {account}: is not the email of a service account; "
                f"take one like {SERVICE_ACCOUNT}, or {NO_ACCOUNT}"
            )
        if self.mode is TargetSizePolicyMode.INDIVIDUAL:
            if not 1 <= self.nodes <= MOST_INDIVIDUAL:
                raise BadOptionError(f"--nodes {self.nodes}: a group of single hosts has 1 to {MOST_INDIVIDUAL}")
        elif topology_for_hosts(self.nodes) is None:
            near = " or ".join(map(str, nearest(self.nodes)))
            raise BadOptionError(f"--nodes {self.nodes}: no topology of {MACHINE} has {self.nodes} hosts; take {near}")

    @property
    def mode(self) -> TargetSizePolicyMode:
        """One slice of all hosts, or hosts that are slices of their own."""
        single = self.scenario is Scenario.PREEMPT or self.nodes == 1
        return TargetSizePolicyMode.INDIVIDUAL if single else TargetSizePolicyMode.BULK

    @property
    def topology(self) -> str:
        """The slice's shape."""
        found = (
            host_topology(MACHINE) if self.mode is TargetSizePolicyMode.INDIVIDUAL else topology_for_hosts(self.nodes)
        )
        assert found is not None
        return found

    @property
    def model(self) -> ProvisioningModel:
        """Spot VMs are preempted; on-demand slices are what Compute Engine restarts (facts: GCE 6.2)."""
        return ProvisioningModel.SPOT if self.scenario is Scenario.PREEMPT else ProvisioningModel.STANDARD

    def manifest(self, joins: ControlPlane) -> dict[str, Any]:
        """The TPUNodeGroup to apply. `joins`: the control plane that its VMs join."""
        return {
            "apiVersion": API_VERSION,
            "kind": "TPUNodeGroup",
            "metadata": {"name": GROUP_NAME, "namespace": NAMESPACE},
            "spec": {
                "project": self.project,
                "nodeLocation": ZONE,
                "nodeCount": self.nodes,
                "acceleratorConnectionMode": "STATIC",
                "topology": self.topology,
                "targetSizePolicyMode": self.mode.value,
                "instanceConfig": {"machineType": MACHINE, "provisioningModel": self.model.value},
                "bootstrapKubernetes": {
                    "version": joins.version,
                    "controlPlaneIP": joins.address,
                    "controlPlanePort": joins.port,
                },
            },
        }


def nearest(nodes: int) -> tuple[int, ...]:
    """The legal numbers of hosts next to this one: below and above, where there are such."""
    legal = legal_host_counts()
    place = bisect_left(legal, nodes)
    return legal[max(place - 1, 0) : place + 1]
