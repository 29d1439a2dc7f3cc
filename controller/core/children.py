"""The child custom resources of a TPUNodeGroup: which there are, and what they say."""

from controller.api.base import Json
from controller.api.constants import (
    API_VERSION,
    KEY_CONTROL_PLANE_ENDPOINT,
    KEY_CONTROL_PLANE_IP,
    KEY_KUBE_LABELS,
    KEY_KUBERNETES_VERSION,
    KEY_STARTUP_SCRIPT,
    KEY_TAINTS,
)
from controller.api.resources import ActionOnFailure, InstanceConfig, TPUNodeGroup
from controller.api.topology import accelerator_label, chips_per_host
from controller.core.model import Key, Kind
from controller.core.names import child_name, region_of
from controller.core.node_labels import TPU_TAINT, group_labels, kube_labels
from controller.core.observed import ResourceRef
from controller.core.plan import Policy
from controller.core.tokens import Endpoint

_LOGGING_SCOPE = "https://www.googleapis.com/auth/logging.write"


def child_key(group: TPUNodeGroup, kind: Kind) -> Key:
    """The key of the child of this kind."""
    return Key(kind, group.metadata.namespace, child_name(kind, group.metadata.name, group.metadata.uid))


def child_ref(group: TPUNodeGroup, kind: Kind) -> ResourceRef:
    """The GCE resource that the child of this kind drives."""
    zone = group.spec.node_location
    location = {Kind.POLICY: region_of(zone), Kind.TEMPLATE: "global", Kind.MIG: zone}[kind]
    return ResourceRef(kind, group.spec.project, location, child_key(group, kind).name)


def wanted_kinds(group: TPUNodeGroup) -> tuple[Kind, ...]:
    """The kinds of child that a group has: a policy only for BULK, a template only if none is brought."""
    kinds = [Kind.MIG]
    if not group.spec.instance_template_uri:
        kinds.insert(0, Kind.TEMPLATE)
    if group.spec.is_bulk:
        kinds.insert(0, Kind.POLICY)
    return tuple(kinds)


def child_manifest(group: TPUNodeGroup, kind: Kind, policy: Policy) -> Json:
    """The child as it is created. Its spec is immutable, so it never needs to be compared again."""
    key = child_key(group, kind)
    spec = {Kind.POLICY: _policy_spec, Kind.TEMPLATE: _template_spec, Kind.MIG: _mig_spec}[kind](group, policy)
    owner = {
        "apiVersion": API_VERSION,
        "kind": Kind.GROUP.value,
        "name": group.metadata.name,
        "uid": group.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {
        "apiVersion": API_VERSION,
        "kind": kind.value,
        "metadata": {"name": key.name, "namespace": key.namespace, "ownerReferences": [owner]},
        "spec": spec,
    }


def endpoint_of(group: TPUNodeGroup) -> Endpoint | None:
    """Where this group's VMs find the control plane; None when they join by themselves."""
    bootstrap = group.spec.bootstrap_kubernetes
    if bootstrap is None:
        return None
    ip = bootstrap.control_plane_ip.strip("[]")
    host = f"[{ip}]" if ":" in ip else ip
    return Endpoint(ip, bootstrap.control_plane_endpoint or f"{host}:{bootstrap.control_plane_port}")


def _policy_spec(group: TPUNodeGroup, _: Policy) -> Json:
    return {
        "project": group.spec.project,
        "region": region_of(group.spec.node_location),
        "type": "HIGH_THROUGHPUT",
        "acceleratorTopology": group.spec.topology,
    }


def _mig_spec(group: TPUNodeGroup, _: Policy) -> Json:
    bulk = group.spec.is_bulk
    spec: Json = {
        "project": group.spec.project,
        "location": group.spec.node_location,
        "instanceTemplate": group.spec.instance_template_uri or child_ref(group, Kind.TEMPLATE).path,
        "targetSize": group.spec.node_count,
        "targetSizePolicyMode": group.spec.target_size_policy_mode,
        # Facts: GCE 6.2. Only REPAIR re-creates a preempted single host; BULK must not repair host by host.
        "defaultActionOnFailure": (ActionOnFailure.DO_NOTHING if bulk else ActionOnFailure.REPAIR).value,
    }
    if bulk:
        spec["workloadPolicy"] = child_ref(group, Kind.POLICY).path
    return spec


def _template_spec(group: TPUNodeGroup, policy: Policy) -> Json:
    config = group.spec.instance_config
    assert config is not None
    spec: Json = {
        "project": group.spec.project,
        "machineType": config.machine_type,
        "subnetwork": _subnetwork(config.subnetwork, group.spec.node_location),
        "maintenancePolicy": "TERMINATE",
        "bootDisk": {"autoDelete": True},
        "metadata": _metadata(group, config, policy),
    }
    optional = {
        "image": config.image,
        "provisioningModel": config.provisioning_model,
        "reservation": config.reservation,
        "bootDiskSizeGB": config.boot_disk_size_gb,
        "diskType": config.disk_type,
        "networkTags": list(config.network_tags) if config.network_tags else None,
    }
    spec |= {name: value for name, value in optional.items() if value}
    if config.service_accounts:
        spec["serviceAccounts"] = [{"email": a.email, "scopes": list(a.scopes)} for a in config.service_accounts]
    elif policy.node_service_account:
        spec["serviceAccounts"] = [{"email": policy.node_service_account, "scopes": [_LOGGING_SCOPE]}]
    return spec


def _subnetwork(name: str, zone: str) -> str:
    """A bare name is malformed in a global template, which has no region (facts: GCE 6.3)."""
    return name if "/" in name else f"regions/{region_of(zone)}/subnetworks/{name}"


def _metadata(group: TPUNodeGroup, config: InstanceConfig, policy: Policy) -> dict[str, str]:
    """The user's keys and the static ones of ours: no VM needs a write of its own for these."""
    labels = group_labels(
        group.metadata.namespace,
        group.metadata.name,
        accelerator=accelerator_label(config.machine_type),
        topology=group.spec.topology,
        chips=chips_per_host(config.machine_type),
    )
    metadata = {**config.metadata, KEY_KUBE_LABELS: kube_labels(labels)}
    bootstrap, endpoint = group.spec.bootstrap_kubernetes, endpoint_of(group)
    if bootstrap is not None and endpoint is not None:
        metadata |= {
            KEY_STARTUP_SCRIPT: policy.startup_script,
            KEY_KUBERNETES_VERSION: bootstrap.version,
            KEY_CONTROL_PLANE_IP: endpoint.ip,
            KEY_CONTROL_PLANE_ENDPOINT: endpoint.endpoint,
            KEY_TAINTS: f"{TPU_TAINT.key}={TPU_TAINT.value}:{TPU_TAINT.effect}" if bootstrap.taint else "",
        }
    return metadata
