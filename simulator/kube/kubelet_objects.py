"""The objects that a kubelet writes: its Node, that Node's status, and its lease. Pure: JSON in, JSON out.

Shapes of k8s.io/kubernetes/pkg/kubelet (kubelet_node_status.go, nodestatus/setters.go).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from simulator.clock import kube_time
from simulator.kube.controllers.nodes import LEASE_NAMESPACE
from simulator.kube.edit import dig, put
from simulator.seams import JoinRequest, Json

#: What every simulated host has beside its chips; no scheduler looks at it.
_RESOURCES = {"cpu": "224", "ephemeral-storage": "98831908Ki", "memory": "1006632960Ki", "pods": "110"}
_LEASE_SECONDS = 40
_HEALTHY = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)
_READY = ("True", "KubeletReady", "kubelet is posting ready status")
_NOT_READY = ("False", "KubeletNotReady", "container runtime network not ready: cni plugin not initialized")


@dataclass(frozen=True, slots=True)
class Host:
    """What a kubelet knows of the host that it runs on."""

    name: str
    #: Of the kubelet, as `v1.34.1`.
    version: str
    address: str


class Hosts:
    """The hosts that have joined, by name."""

    def __init__(self) -> None:
        self._known: dict[str, Host] = {}

    def of(self, request: JoinRequest) -> Host:
        """The host that joins; a name keeps its address."""
        known = self._known.get(request.node_name)
        number = len(self._known) + 2
        address = known.address if known else f"10.128.{number >> 8 & 255}.{number & 255}"
        host = self._known[request.node_name] = Host(request.node_name, request.kubelet_version, address)
        return host

    def find(self, name: str) -> Host | None:
        """The host of this name, None if none joined."""
        return self._known.get(name)


def default_labels(name: str) -> dict[str, str]:
    """The labels that a kubelet without a cloud provider gives by itself."""
    return {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
    }


def node(request: JoinRequest) -> Json:
    """A Node at its registration, without its status."""
    spec: Json = {"providerID": request.provider_id}
    if request.taints:
        spec["taints"] = [_taint(*taint) for taint in request.taints]
    return {
        "metadata": {
            "name": request.node_name,
            "labels": {**default_labels(request.node_name), **request.labels},
            "annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
        },
        "spec": spec,
    }


def _taint(key: str, value: str, effect: str) -> Json:
    return {"key": key, "value": value, "effect": effect} if value else {"key": key, "effect": effect}


def status(host: Host, before: Json, *, ready: bool, allocatable: Mapping[str, str], at: datetime) -> Json:
    """The whole status that a kubelet posts; `before` is the present one, {} if none."""
    resources = {**_RESOURCES, **allocatable}
    return {
        **before,
        "addresses": [
            {"type": "InternalIP", "address": host.address},
            {"type": "Hostname", "address": host.name},
        ],
        "allocatable": resources,
        "capacity": resources,
        "conditions": _conditions(before, ready=ready, at=at),
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": _node_info(host.version),
    }


def _conditions(before: Json, *, ready: bool, at: datetime) -> list[Json]:
    now = kube_time(at)
    old = {item["type"]: item for item in before.get("conditions") or ()}
    wanted = [(kind, "False", reason, message) for kind, reason, message in _HEALTHY]
    wanted.append(("Ready", *(_READY if ready else _NOT_READY)))
    conditions = [item for kind, item in old.items() if kind not in {name for name, *_ in wanted}]
    for kind, value, reason, message in wanted:
        same = old.get(kind, {}).get("status") == value
        conditions.append(
            {
                "type": kind,
                "status": value,
                "lastHeartbeatTime": now,
                "lastTransitionTime": old[kind]["lastTransitionTime"] if same else now,
                "reason": reason,
                "message": message,
            }
        )
    return conditions


def _node_info(version: str) -> Json:
    return {
        "architecture": "amd64",
        "bootID": "",
        "containerRuntimeVersion": "containerd://1.7.28",
        "kernelVersion": "6.8.0-1040-gcp",
        "kubeProxyVersion": "",
        "kubeletVersion": version,
        "machineID": "",
        "operatingSystem": "linux",
        "osImage": "Ubuntu 24.04.3 LTS",
        "systemUUID": "",
    }


def lease(owner: Json, at: datetime) -> Json:
    """The kubelet's lease, owned by its Node so that it goes with it."""
    metadata = owner["metadata"]
    reference = {"apiVersion": "v1", "kind": "Node", "name": metadata["name"], "uid": metadata["uid"]}
    return {
        "metadata": {"name": metadata["name"], "namespace": LEASE_NAMESPACE, "ownerReferences": [reference]},
        "spec": {
            "holderIdentity": metadata["name"],
            "leaseDurationSeconds": _LEASE_SECONDS,
            "renewTime": at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        },
    }


def adopted_labels(present: Json) -> dict[str, str]:
    """The labels of a Node that a kubelet adopts: those that are there, and its defaults (kubelet_node_status.go)."""
    metadata = present["metadata"]
    return {**(metadata.get("labels") or {}), **default_labels(metadata["name"])}


def without_devices(body: Json) -> Json:
    """An adopted Node with its extended resources zeroed, until a device plugin registers (kubelet_node_status.go)."""
    for part in ("allocatable", "capacity"):
        resources = dig(body, ("status", part)) or {}
        zeroed = {name: "0" if "/" in name else amount for name, amount in resources.items()}
        body = put(body, ("status", part), zeroed)
    return body


def is_ready(body: Json) -> bool:
    """Whether the Node's Ready condition is True."""
    conditions = dig(body, ("status", "conditions")) or ()
    return any(item["type"] == "Ready" and item["status"] == "True" for item in conditions)
