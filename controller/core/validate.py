"""Why a group cannot work as it is written, found before any call: what CEL could not refuse at admission."""

from controller.api.resources import TPUNodeGroup
from controller.api.topology import check_topology
from controller.core.names import last_segment
from controller.core.observed import TemplateView

_MODELS = frozenset({"", "STANDARD", "SPOT", "RESERVATION_BOUND"})
_TERMINATION = {"RESERVATION_BOUND": "DELETE", "SPOT": "STOP"}


def group_rejection(group: TPUNodeGroup) -> str | None:
    """What to change in the spec, None if nothing is known to be wrong."""
    spec = group.spec
    if spec.instance_config is None:
        return None
    return check_topology(
        spec.instance_config.machine_type, spec.topology, spec.node_count, spec.target_size_policy_mode
    )


def template_refusal(group: TPUNodeGroup, template: TemplateView) -> str | None:
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
    wanted = _TERMINATION.get(model)
    if wanted and template.termination_action != wanted:
        return f"{where}with provisioning model {model} its instanceTerminationAction must be {wanted}"
    return check_topology(machine_type, group.spec.topology, group.spec.node_count, group.spec.target_size_policy_mode)
