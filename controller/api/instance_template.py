"""The custom resource InstanceTemplate: one global instance template of Compute Engine."""

from typing import ClassVar

from pydantic import Field

from controller.api import names
from controller.api.base import SpecModel, api_field
from controller.api.instance_config import InstanceConfig
from controller.api.resource import ChildStatus, Resource


class BootDisk(SpecModel):
    """What happens to the boot disk."""

    auto_delete: bool = api_field("Delete the disk with its VM.", default=True)


class InstanceTemplateSpec(InstanceConfig):
    """The template. Its metadata also carries what the operator writes for its nodes: no key is reserved here."""

    project: str = api_field("Project ID.", value="", required=True, maxLength=30, rules=[names.PROJECT])
    maintenance_policy: str = api_field(
        "What happens at host maintenance; TPU VMs cannot migrate.", default="TERMINATE", enum=["TERMINATE"]
    )
    boot_disk: BootDisk | None = api_field("What happens to the boot disk; it is deleted with its VM by default.")


class InstanceTemplateStatus(ChildStatus):
    """How far it is."""

    uri: str | None = api_field("URL of the instance template, once it exists.", maxLength=1024)


class InstanceTemplate(Resource):
    """One instance template in Compute Engine: how each VM of a group is made."""

    KIND: ClassVar[str] = "InstanceTemplate"

    spec: InstanceTemplateSpec = Field(default_factory=InstanceTemplateSpec)
    status: InstanceTemplateStatus = Field(default_factory=InstanceTemplateStatus)
