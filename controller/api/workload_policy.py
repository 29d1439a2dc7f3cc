"""The custom resource WorkloadPolicy: one regional resource policy of Compute Engine."""

from typing import ClassVar

from pydantic import Field

from controller.api import names
from controller.api.base import SpecModel, api_field
from controller.api.resource import ChildStatus, Resource


class WorkloadPolicySpec(SpecModel):
    """A slice's interconnect topology."""

    project: str = api_field("Project ID.", value="", required=True, maxLength=30, rules=[names.PROJECT])
    region: str = api_field("Region, as us-central1.", value="", required=True, maxLength=63, rules=[names.REGION])
    accelerator_topology: str = api_field(
        "Topology of the slice in chips, as 2x2x2.", value="", required=True, maxLength=14, rules=[names.TOPOLOGY]
    )
    type: str = api_field("Type of the workload.", default="HIGH_THROUGHPUT", enum=["HIGH_THROUGHPUT"])


class WorkloadPolicyStatus(ChildStatus):
    """How far it is."""

    uri: str | None = api_field("URL of the resource policy, once it exists.", maxLength=1024)


class WorkloadPolicy(Resource):
    """One workload policy in Compute Engine: the interconnect topology of a slice."""

    KIND: ClassVar[str] = "WorkloadPolicy"

    spec: WorkloadPolicySpec = Field(default_factory=WorkloadPolicySpec)
    status: WorkloadPolicyStatus = Field(default_factory=WorkloadPolicyStatus)
