"""Why a group or a template cannot work as it is written: what CEL could not refuse at admission."""

from controller.api.resources import InstanceTemplateSpec, ProvisioningModel, TPUNodeGroup
from controller.api.topology import check_topology
from controller.core.desired import TERMINATION_ACTIONS
from controller.core.names import last_segment
from controller.core.observed import TemplateView

#: "" is STANDARD.
_MODELS = frozenset({"", *ProvisioningModel})


def group_rejection(group: TPUNodeGroup) -> str | None:
    """What to change in the spec, None if nothing is known to be wrong."""
    spec = group.spec
    if spec.instance_config is None:
        return None
    return check_topology(
        spec.instance_config.machine_type, spec.topology, spec.node_count, spec.target_size_policy_mode
    )


def template_rejection(spec: InstanceTemplateSpec) -> str | None:
    """Why GCE cannot take this template as it stands, and what to write instead; None if nothing is known."""
    if spec.subnetwork and "/" not in spec.subnetwork and spec.subnetwork != "default":
        return (
            f"subnetwork {spec.subnetwork!r}: an instance template is global and has no region for a bare name; "
            f"write regions/<region>/subnetworks/{spec.subnetwork}"
        )
    if spec.machine_type.startswith("ct6e-") and spec.disk_type and last_segment(spec.disk_type).startswith("pd-"):
        return f"diskType {spec.disk_type!r}: {spec.machine_type} takes Hyperdisk only; write hyperdisk-balanced"
    return None


def brought_template_rejection(group: TPUNodeGroup, template: TemplateView) -> str | None:
    """What is wrong with a brought template (facts: reference API, checks of a brought template)."""
    where = f"{group.spec.instance_template_uri}: "
    machine_type = last_segment(template.machine_type)
    if not machine_type.startswith(("tpu7x-", "tpu7-", "ct6e-")):
        return f"{where}its machine type {machine_type!r} is no TPU of v6e or v7; bring a template of one"
    if not template.has_scheduling or template.on_host_maintenance != "TERMINATE":
        return f"{where}its scheduling must say onHostMaintenance TERMINATE: a TPU VM cannot migrate"
    model = template.provisioning_model
    if model not in _MODELS:
        return f"{where}its provisioning model {model} is not supported; use STANDARD, SPOT or RESERVATION_BOUND"
    wanted = TERMINATION_ACTIONS.get(model)
    if wanted and template.termination_action != wanted:
        return f"{where}with provisioning model {model} its instanceTerminationAction must be {wanted}"
    return check_topology(machine_type, group.spec.topology, group.spec.node_count, group.spec.target_size_policy_mode)
