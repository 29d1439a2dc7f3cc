"""The four kinds in one place: the models, and how to read an object of any of them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from controller.api.conditions import Condition
from controller.api.instance_config import InstanceConfig, ProvisioningModel, ServiceAccount
from controller.api.instance_template import (
    BootDisk,
    InstanceTemplate,
    InstanceTemplateSpec,
    InstanceTemplateStatus,
)
from controller.api.managed_instance_group import (
    ActionOnFailure,
    ManagedInstanceGroup,
    ManagedInstanceGroupSpec,
    ManagedInstanceGroupStatus,
    TargetSizePolicyMode,
)
from controller.api.metadata import ObjectMeta, OwnerReference
from controller.api.node_group import (
    BootstrapKubernetes,
    NodeStatus,
    NodeSummary,
    RecoveryPolicy,
    TPUNodeGroup,
    TPUNodeGroupSpec,
    TPUNodeGroupStatus,
)
from controller.api.resource import ChildStatus, Resource
from controller.api.workload_policy import WorkloadPolicy, WorkloadPolicySpec, WorkloadPolicyStatus

__all__ = [
    "RESOURCES",
    "ActionOnFailure",
    "BootDisk",
    "BootstrapKubernetes",
    "ChildStatus",
    "Condition",
    "InstanceConfig",
    "InstanceTemplate",
    "InstanceTemplateSpec",
    "InstanceTemplateStatus",
    "ManagedInstanceGroup",
    "ManagedInstanceGroupSpec",
    "ManagedInstanceGroupStatus",
    "NodeStatus",
    "NodeSummary",
    "ObjectMeta",
    "OwnerReference",
    "ProvisioningModel",
    "RecoveryPolicy",
    "Resource",
    "ServiceAccount",
    "TPUNodeGroup",
    "TPUNodeGroupSpec",
    "TPUNodeGroupStatus",
    "TargetSizePolicyMode",
    "WorkloadPolicy",
    "WorkloadPolicySpec",
    "WorkloadPolicyStatus",
    "parse",
]

#: Kind -> model.
RESOURCES: Final[Mapping[str, type[Resource]]] = MappingProxyType(
    {model.KIND: model for model in (TPUNodeGroup, WorkloadPolicy, InstanceTemplate, ManagedInstanceGroup)}
)


def parse(obj: Mapping[str, Any]) -> Resource:
    """An object of one of our kinds, as the Kubernetes API gives it. Raises KeyError for another kind."""
    return RESOURCES[obj["kind"]].model_validate(obj)
