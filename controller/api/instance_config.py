"""How the VMs of a group are made: shared by TPUNodeGroup.spec.instanceConfig and InstanceTemplate.spec.

Field names, defaults and enums are the reference's.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import ClassVar, Final

from controller.api.base import SpecModel, api_field
from controller.api.rules import Rule, matches

#: An empty string counts as no reservation, as in the reference.
_RESERVED: Final = "has(self.reservation) && self.reservation != ''"


class ProvisioningModel(StrEnum):
    """How Compute Engine provides the capacity."""

    STANDARD = "STANDARD"
    SPOT = "SPOT"
    RESERVATION_BOUND = "RESERVATION_BOUND"


class ServiceAccount(SpecModel):
    """The identity of a VM."""

    #: Lists are compared as a whole by their parent's rules.
    crd_immutable: ClassVar[bool] = False

    email: str = api_field(
        "E-mail of the service account; `default` is the project's default one.",
        value="",
        required=True,
        minLength=1,
        maxLength=320,
    )
    scopes: tuple[str, ...] = api_field(
        "OAuth scopes, as https://www.googleapis.com/auth/cloud-platform.",
        value=(),
        required=True,
        maxItems=64,
        items={"maxLength": 256},
    )


class InstanceConfig(SpecModel):
    """Machine, disk, network and identity of the VMs."""

    crd_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            f"!has(self.provisioningModel) || self.provisioningModel != 'RESERVATION_BOUND' || ({_RESERVED})",
            "provisioningModel RESERVATION_BOUND needs a reservation: name it in reservation, "
            "or set provisioningModel to STANDARD or SPOT",
            ".reservation",
        ),
        Rule(
            f"!({_RESERVED}) || !has(self.provisioningModel) || self.provisioningModel == 'RESERVATION_BOUND'",
            "a reservation is used by provisioningModel RESERVATION_BOUND only: set that, leave provisioningModel out, "
            "or remove reservation",
            ".provisioningModel",
        ),
        Rule(
            "!has(self.diskType) || !self.machineType.startsWith('ct6e-') || !self.diskType.matches('(^|/)pd-')",
            "ct6e machine types take no pd-* disks: set diskType to hyperdisk-balanced or hyperdisk-ml, or remove it",
            ".diskType",
        ),
    )

    machine_type: str = api_field(
        "TPU machine type, as tpu7x-standard-4t.",
        value="",
        required=True,
        maxLength=63,
        rules=[
            matches(
                "^(tpu7x-|tpu7-|ct6e-).*",
                "machineType must be a TPU machine type of v6e or v7, as ct6e-standard-4t or tpu7x-standard-4t",
            )
        ],
    )
    provisioning_model: str | None = api_field(
        "How the capacity is provided. RESERVATION_BOUND when a reservation is named, else STANDARD.",
        enum=[
            ProvisioningModel.SPOT.value,
            ProvisioningModel.RESERVATION_BOUND.value,
            ProvisioningModel.STANDARD.value,
        ],
    )
    reservation: str | None = api_field("Name of the reservation to consume.", maxLength=512)
    image: str | None = api_field(
        "Source image of the boot disk; without one the operator's default for the machine type.", maxLength=1024
    )
    boot_disk_size_gb: int | None = api_field(
        "Size of the boot disk in GB; 0 or none for the image's.",
        alias="bootDiskSizeGB",
        format="int32",
        minimum=0,
        maximum=65536,
    )
    disk_type: str | None = api_field("Type of the boot disk, as hyperdisk-balanced.", maxLength=256)
    subnetwork: str = api_field("Subnetwork: a name, a partial or a full URL.", default="default", maxLength=1024)
    service_accounts: tuple[ServiceAccount, ...] = api_field(
        "Identity of the VMs; without one the operator's default for nodes, if it has one.", value=(), maxItems=1
    )
    network_tags: tuple[str, ...] = api_field(
        "Network tags of the VMs.", value=(), maxItems=64, items={"maxLength": 63}
    )
    metadata: Mapping[str, str] = api_field(
        "Metadata of the VMs: keys of letters, digits, - and _, values up to 256 KiB.",
        value={},
        maxProperties=256,
        items={"maxLength": 262144},
        rules=[
            Rule(
                "self.all(key, key.matches('^[a-zA-Z0-9_-]{1,127}$'))",
                "metadata keys must be 1 to 127 letters, digits, '-' or '_'",
            )
        ],
    )

    @property
    def effective_provisioning_model(self) -> str:
        """The stated model, else RESERVATION_BOUND with a reservation, else STANDARD."""
        if self.provisioning_model:
            return self.provisioning_model
        return ProvisioningModel.RESERVATION_BOUND if self.reservation else ProvisioningModel.STANDARD
