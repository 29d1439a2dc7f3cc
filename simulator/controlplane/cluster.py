"""The Kubernetes side of a simulator on a real control plane: one of its own, or one that a kubeconfig leads to."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

import yaml

from controller.api.constants import CONTROLLER_NAMESPACE
from controller.api.crd import crd_manifests
from controller.api.shipped import shipped
from simulator.cluster import Cluster, write_private
from simulator.controlplane.client import Client
from simulator.controlplane.control_plane import ControlPlaneSettings, control_plane
from simulator.controlplane.kubeconfigs import Access, connected, read
from simulator.controlplane.kubelets import RealKubelets
from simulator.controlplane.objects import apply
from simulator.controlplane.snapshot import RealClusterView
from simulator.kube.serving import kubeconfig
from simulator.seams import Json, Now

#: The operator's service account, by deploy/rbac.yaml.
_ACCOUNT: Final = "tpu-node-group-controller"
#: Longer than any test; the API server allows it.
_TOKEN_SECONDS: Final = 24 * 3600


@asynccontextmanager
async def real_cluster(where: Path | None, now: Now, folder: Path, *, crds: bool) -> AsyncIterator[Cluster]:
    """A cluster with the CRDs (an option), the operator's namespace and its service account.

    `where`: the kubeconfig of an administrator of a cluster that is there, and stays; None: a control plane that is
    started in `folder`, and ended on leaving.
    """
    manifests = prepared(crds=crds)
    async with AsyncExitStack() as stack:
        if where is None:
            where = await _own(stack, folder, manifests)
        # Reading a small file, once, before anything is served.
        access = await asyncio.to_thread(read, where)
        admin = await stack.enter_async_context(connected(access))
        for manifest in manifests:
            await apply(admin, manifest)
        kubelets = RealKubelets(admin, access.url, access.authority, now)
        stack.push_async_callback(kubelets.close)
        version = (await admin.call("GET", "/version"))["gitVersion"]
        operator = write_private(folder / f"{_ACCOUNT}.kubeconfig", await _operator(admin, access))
        yield Cluster(kubelets, RealClusterView(admin), where, operator, version)


async def _own(stack: AsyncExitStack, folder: Path, manifests: Sequence[Json]) -> Path:
    place = folder / "control-plane"
    place.mkdir()
    plane = await stack.enter_async_context(control_plane(place, ControlPlaneSettings(manifests=manifests)))
    return plane.kubeconfig


def prepared(*, crds: bool) -> list[Json]:
    """What a cluster has before the operator starts, as `kubectl apply -k deploy/` makes it."""
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": CONTROLLER_NAMESPACE}},
        *yaml.safe_load_all(shipped("deploy/rbac.yaml")),
        *(crd_manifests() if crds else ()),
    ]


async def _operator(admin: Client, access: Access) -> Json:
    """The operator's kubeconfig, with a token of its service account."""
    path = f"/api/v1/namespaces/{CONTROLLER_NAMESPACE}/serviceaccounts/{_ACCOUNT}/token"
    spec = {"expirationSeconds": _TOKEN_SECONDS}
    token = (await admin.call("POST", path, {"spec": spec}))["status"]["token"]
    return kubeconfig(access.url, token, _ACCOUNT, ca=access.authority.encode())
