"""From a VM's metadata to what `kubeadm join` sends: what the startup script writes into its configuration. Pure."""

import re

from controller.api.constants import (
    KEY_CA_HASH,
    KEY_CONTROL_PLANE_ENDPOINT,
    KEY_CONTROL_PLANE_IP,
    KEY_JOIN_TOKEN,
    KEY_KUBE_LABELS,
    KEY_KUBERNETES_VERSION,
    KEY_TAINTS,
    LABEL_INSTANCE_ID,
)
from simulator.metadata.machines import Machine
from simulator.seams import JoinRefusedError, JoinRequest

_TOKEN = re.compile(r"[a-z0-9]{6}\.[a-z0-9]{16}")
_HASH = re.compile(r"sha256:[0-9a-f]{64}")
_TAINT = re.compile(r"([A-Za-z0-9./_-]+)(?:=([A-Za-z0-9._-]*))?:(NoSchedule|PreferNoSchedule|NoExecute)")
_LABEL = re.compile(r"([A-Za-z0-9./_-]+)=([A-Za-z0-9._-]*)")


def token_of(machine: Machine) -> str:
    """The join token, "" while there is none."""
    return machine.attributes.get(KEY_JOIN_TOKEN, "")


def join_request(machine: Machine, default_version: str) -> JoinRequest:
    """What the VM would join with. Raises JoinRefusedError naming the attribute that cannot work, before any call."""
    attributes = machine.attributes
    if not _TOKEN.fullmatch(token_of(machine)):
        raise JoinRefusedError(f"the attribute {KEY_JOIN_TOKEN} is no bootstrap token")
    endpoint = attributes.get(KEY_CONTROL_PLANE_ENDPOINT) or _default_port(attributes.get(KEY_CONTROL_PLANE_IP, ""))
    if not endpoint:
        raise JoinRefusedError(
            f"neither {KEY_CONTROL_PLANE_ENDPOINT} nor {KEY_CONTROL_PLANE_IP} says where the control plane is"
        )
    hashes = attributes.get(KEY_CA_HASH, "").split(",")
    if not all(_HASH.fullmatch(item) for item in hashes):
        raise JoinRefusedError(f"the attribute {KEY_CA_HASH} is no list of sha256:<hex>")
    taints = [_TAINT.fullmatch(item) for item in _items(attributes.get(KEY_TAINTS, ""))]
    if None in taints:
        raise JoinRefusedError(f"the attribute {KEY_TAINTS} is no list of key=value:effect")
    labels = [_LABEL.fullmatch(item) for item in _items(attributes.get(KEY_KUBE_LABELS, ""))]
    if None in labels:
        raise JoinRefusedError(f"the attribute {KEY_KUBE_LABELS} is no list of key=value")
    minor = attributes.get(KEY_KUBERNETES_VERSION)
    return JoinRequest(
        node_name=machine.name,
        token=token_of(machine),
        ca_hashes=tuple(hashes),
        provider_id=machine.provider_id,
        labels={**{match[1]: match[2] for match in labels if match}, LABEL_INSTANCE_ID: machine.id},
        taints=tuple((match[1], match[2] or "", match[3]) for match in taints if match),
        kubelet_version=f"v{minor}.0" if minor else default_version,
        endpoint=endpoint,
    )


def own_request(machine: Machine, version: str) -> JoinRequest:
    """What a VM of a brought template registers with, by a credential of its own: no token, and no label of ours."""
    return JoinRequest(
        node_name=machine.name,
        token="",
        ca_hashes=(),
        provider_id=machine.provider_id,
        labels={},
        taints=(),
        kubelet_version=version,
    )


def _default_port(address: str) -> str:
    host = f"[{address}]" if ":" in address else address
    return f"{host}:6443" if address else ""


def _items(text: str) -> list[str]:
    return text.split(",") if text else []
