"""The custom resource ManagedInstanceGroup: one zonal managed instance group of Compute Engine."""

from enum import StrEnum
from typing import ClassVar

from pydantic import Field

from controller.api import names
from controller.api.base import INT32, SpecModel, api_field
from controller.api.resource import ChildStatus, Resource
from controller.api.rules import matches


class TargetSizePolicyMode(StrEnum):
    """Whether the VMs come all or none."""

    #: One slice: all VMs at once, or none.
    BULK = "BULK"
    #: Each VM on its own.
    INDIVIDUAL = "INDIVIDUAL"


class ActionOnFailure(StrEnum):
    """What Compute Engine does about a VM that failed or was taken."""

    DO_NOTHING = "DO_NOTHING"
    REPAIR = "REPAIR"


class ManagedInstanceGroupSpec(SpecModel):
    """The group."""

    project: str = api_field("Project ID.", value="", required=True, maxLength=30, rules=[names.PROJECT])
    location: str = api_field(
        "Zone, as us-central1-c.", value="", required=True, maxLength=63, rules=[names.zone("location")]
    )
    instance_template: str = api_field(
        "URL of the instance template.",
        value="",
        required=True,
        maxLength=1024,
        rules=[
            matches(
                "(^|/)(global|(regions|locations)/[^/]+)/instanceTemplates/[^/]+$",
                "instanceTemplate must be the URL of a template, as projects/PROJECT/global/instanceTemplates/NAME",
            )
        ],
    )
    target_size: int = api_field("Number of VMs.", value=0, required=True, minimum=0, **INT32)
    target_size_policy_mode: str = api_field(
        "BULK: all VMs at once or none. INDIVIDUAL: each on its own.",
        value="",
        required=True,
        enum=[TargetSizePolicyMode.BULK.value, TargetSizePolicyMode.INDIVIDUAL.value],
    )
    workload_policy: str | None = api_field(
        "URL of the workload policy, for a slice of several hosts.",
        maxLength=1024,
        rules=[
            matches(
                "(^|/)resourcePolicies/[^/]+$",
                "workloadPolicy must be the URL of a policy, as projects/PROJECT/regions/REGION/resourcePolicies/NAME",
            )
        ],
    )
    default_action_on_failure: str = api_field(
        "What Compute Engine does about a VM that failed.",
        default=ActionOnFailure.DO_NOTHING.value,
        enum=[ActionOnFailure.DO_NOTHING.value, ActionOnFailure.REPAIR.value],
    )


class ManagedInstanceGroupStatus(ChildStatus):
    """How far it is."""

    url: str | None = api_field("URL of the managed instance group, once it exists.", maxLength=1024)


class ManagedInstanceGroup(Resource):
    """One managed instance group in Compute Engine: the VMs of a group."""

    KIND: ClassVar[str] = "ManagedInstanceGroup"

    spec: ManagedInstanceGroupSpec = Field(default_factory=ManagedInstanceGroupSpec)
    status: ManagedInstanceGroupStatus = Field(default_factory=ManagedInstanceGroupStatus)
