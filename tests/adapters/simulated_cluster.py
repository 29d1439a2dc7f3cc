"""The simulator's Kubernetes API with our CRDs and its controllers, on loopback, for one test."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from controller.adapters.clock import SystemClock
from controller.core.model import Key
from simulator.calls import CallCounts
from simulator.faults import Faults
from simulator.kube.builtins import builtin_registry
from simulator.kube.controllers.authority import Authority
from simulator.kube.controllers.manager import start_controllers
from simulator.kube.server import kubernetes_app
from simulator.kube.serving import kubeconfig, serving
from simulator.kube.store import Store

GROUPS = "tpunodegroups.tpu.google.com"
_CRDS = Path(__file__).parents[2] / "deploy" / "crds"
_TOKEN = "the-operators-bearer"


@dataclass(frozen=True)
class SimulatedCluster:
    """The objects behind the API, what was called, and how a client gets there."""

    store: Store
    calls: CallCounts
    faults: Faults
    authority: Authority
    kubeconfig: str

    def called(self, method: str) -> int:
        """How often a method (`patch nodes`) took effect or not."""
        return sum(row["count"] for row in self.calls.rows() if row["method"] == method)


@asynccontextmanager
async def simulated_cluster(folder: Path) -> AsyncIterator[SimulatedCluster]:
    """The cluster; its kubeconfig is written into `folder`."""
    clock = SystemClock()
    store = Store(builtin_registry(), clock.now)
    calls, faults = CallCounts(), Faults(lambda _name: False)
    authority = Authority.create(clock.now())
    app = kubernetes_app(store, users={_TOKEN: "operator"}, calls=calls, faults=faults)
    async with serving(app) as url:
        controllers = start_controllers(store, authority, url)
        for path in sorted(_CRDS.glob("*.google.com.yaml")):
            store.create("customresourcedefinitions.apiextensions.k8s.io", yaml.safe_load(path.read_text("utf-8")))
        config = folder / "kubeconfig"
        config.write_text(yaml.safe_dump(kubeconfig(url, _TOKEN, "operator")), encoding="utf-8")
        try:
            yield SimulatedCluster(store, calls, faults, authority, str(config))
        finally:
            await controllers.stop()


def a_group(key: Key, **metadata: Any) -> dict[str, Any]:
    """A TPUNodeGroup that its CRD admits: the v6e single host of the README, shortened."""
    return {
        "apiVersion": "tpu.google.com/v1alpha1",
        "kind": "TPUNodeGroup",
        "metadata": {"name": key.name, "namespace": key.namespace, **metadata},
        "spec": {
            "project": "my-gcp-project",
            "nodeLocation": "us-east5-b",
            "nodeCount": 1,
            "acceleratorConnectionMode": "STATIC",
            "topology": "2x4",
            "targetSizePolicyMode": "INDIVIDUAL",
            "instanceConfig": {"machineType": "ct6e-standard-8t", "provisioningModel": "SPOT"},
            "bootstrapKubernetes": {"version": "1.31", "controlPlaneIP": "10.128.0.2"},
        },
    }


def a_node(name: str, now: datetime | None = None) -> dict[str, Any]:
    """A Node as a kubelet registers it."""
    at = (now or SystemClock().now()).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"tpu.google.com/instance-id": "11"}},
        "spec": {"providerID": f"gce://p/z/{name}"},
        "status": {"conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": at}]},
    }
