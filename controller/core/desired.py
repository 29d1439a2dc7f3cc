"""A child's spec as the REST body of its GCE resource (facts: reference API, "CR -> GCE object"; GCE 6.3)."""

from collections.abc import Mapping
from dataclasses import dataclass

from controller.api.base import Json
from controller.api.resources import (
    InstanceTemplate,
    InstanceTemplateSpec,
    ManagedInstanceGroup,
    ManagedInstanceGroupSpec,
    ProvisioningModel,
    Resource,
    WorkloadPolicy,
    WorkloadPolicySpec,
)
from controller.core.model import Kind
from controller.core.names import base_instance_name
from controller.core.observed import ResourceRef


@dataclass(frozen=True, slots=True)
class BootImages:
    """The images of templates that name none: a boot disk needs a source (facts: GCE 6.3)."""

    tpu7x: str
    v6e: str


#: A MIG above this size must be created with paged results (facts: GCE 6.1).
_PAGELESS_MAX = 1000
#: What Compute Engine does to a VM that it takes, by provisioning model (facts: reference API).
TERMINATION_ACTIONS: Mapping[str, str] = {ProvisioningModel.RESERVATION_BOUND: "DELETE", ProvisioningModel.SPOT: "STOP"}


def body_of(resource: Resource, description: str, images: BootImages) -> Json:
    """The REST body for any of the three kinds of child."""
    name = resource.metadata.name
    match resource:
        case WorkloadPolicy():
            return policy_body(name, resource.spec, description)
        case InstanceTemplate():
            return template_body(name, resource.spec, description, images)
        case ManagedInstanceGroup():
            return mig_body(name, resource.spec, description)
    raise TypeError(f"{resource.KIND} has no GCE resource of its own")


def ref_of(resource: Resource) -> ResourceRef:
    """The GCE resource that a child drives."""
    name = resource.metadata.name
    match resource:
        case WorkloadPolicy():
            return ResourceRef(Kind.POLICY, resource.spec.project, resource.spec.region, name)
        case InstanceTemplate():
            return ResourceRef(Kind.TEMPLATE, resource.spec.project, "global", name)
        case ManagedInstanceGroup():
            return ResourceRef(Kind.MIG, resource.spec.project, resource.spec.location, name)
    raise TypeError(f"{resource.KIND} has no GCE resource of its own")


def policy_body(name: str, spec: WorkloadPolicySpec, description: str) -> Json:
    """The body of resourcePolicies.insert."""
    return {
        "name": name,
        "description": description,
        "workloadPolicy": {"type": spec.type, "acceleratorTopology": spec.accelerator_topology},
    }


def mig_body(name: str, spec: ManagedInstanceGroupSpec, description: str) -> Json:
    """The body of instanceGroupManagers.insert."""
    body: Json = {
        "name": name,
        "description": description,
        "baseInstanceName": base_instance_name(name),
        "instanceTemplate": spec.instance_template,
        "targetSize": spec.target_size,
        "targetSizePolicy": {"mode": spec.target_size_policy_mode},
        "instanceLifecyclePolicy": {"defaultActionOnFailure": spec.default_action_on_failure},
    }
    if spec.workload_policy:
        body["resourcePolicies"] = {"workloadPolicy": spec.workload_policy}
    if spec.target_size > _PAGELESS_MAX:
        body["listManagedInstancesResults"] = "PAGINATED"
    return body


def template_body(name: str, spec: InstanceTemplateSpec, description: str, images: BootImages) -> Json:
    """The body of instanceTemplates.insert."""
    properties: Json = {
        "machineType": spec.machine_type,
        "metadata": {"items": [{"key": key, "value": spec.metadata[key]} for key in sorted(spec.metadata)]},
        "scheduling": _scheduling(spec),
        "networkInterfaces": [_network_interface(spec)],
        "disks": [_boot_disk(spec, images)],
    }
    if spec.reservation:
        properties["reservationAffinity"] = {
            "consumeReservationType": "SPECIFIC_RESERVATION",
            "key": "compute.googleapis.com/reservation-name",
            "values": [spec.reservation],
        }
    if spec.network_tags:
        properties["tags"] = {"items": list(spec.network_tags)}
    if spec.service_accounts:
        properties["serviceAccounts"] = [{"email": a.email, "scopes": list(a.scopes)} for a in spec.service_accounts]
    if spec.machine_type.endswith("-8t"):
        # Facts: GCE 6.3, TPU 1.1: ct6e-standard-8t needs one thread a core.
        properties["advancedMachineFeatures"] = {"threadsPerCore": 1}
    return {"name": name, "description": description, "properties": properties}


def _scheduling(spec: InstanceTemplateSpec) -> Json:
    model = spec.effective_provisioning_model
    scheduling: Json = {"onHostMaintenance": spec.maintenance_policy, "provisioningModel": model}
    if model in TERMINATION_ACTIONS:
        scheduling["instanceTerminationAction"] = TERMINATION_ACTIONS[model]
    return scheduling


def _network_interface(spec: InstanceTemplateSpec) -> Json:
    if not spec.subnetwork or spec.subnetwork == "default":
        return {"network": "global/networks/default"}
    return {"subnetwork": spec.subnetwork}


def _boot_disk(spec: InstanceTemplateSpec, images: BootImages) -> Json:
    default = images.v6e if spec.machine_type.startswith("ct6e-") else images.tpu7x
    initialize: Json = {"sourceImage": spec.image or default}
    if spec.boot_disk_size_gb:
        initialize["diskSizeGb"] = str(spec.boot_disk_size_gb)
    if spec.disk_type:
        initialize["diskType"] = spec.disk_type
    auto_delete = spec.boot_disk.auto_delete if spec.boot_disk else True
    return {"autoDelete": auto_delete, "boot": True, "initializeParams": initialize}
