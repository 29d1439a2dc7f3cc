"""Kubernetes as a kubelet reaches it, on a real API server: the seam `Kubernetes` over the wire.

Each Node writes with a certificate of its own, so that Node authorization and NodeRestriction judge it. What does not
get through is lost until the next beat, as in a kubelet; what is forbidden is an error of the simulator.
"""

from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import aiohttp

from controller.api.constants import LABEL_INSTANCE_ID
from simulator.controlplane.client import Client, RefusedError, client
from simulator.controlplane.credentials import bootstrap, certified
from simulator.kube.controllers.nodes import LEASE_NAMESPACE
from simulator.kube.kubelet_objects import Hosts, adopted_labels, lease, node, status, without_devices
from simulator.seams import JoinRequest, Json, Now

_MERGE = "application/merge-patch+json"
_LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{LEASE_NAMESPACE}/leases"
#: The object went, or changed, meanwhile.
_MOVED = frozenset({404, 409})


@dataclass(frozen=True, slots=True)
class _Credential:
    """A Node's connection, and whose it is: the VM's id, "" of a VM that joined by itself."""

    instance_id: str
    client: Client
    stack: AsyncExitStack


class RealKubelets:
    """The kubelets of one cluster. `admin` asks for the certificates of VMs that join without a token."""

    def __init__(self, admin: Client, url: str, authority: str, now: Now) -> None:
        self._admin = admin
        self._url = url
        self._authority = authority
        self._now = now
        self._hosts = Hosts()
        self._credentials: dict[str, _Credential] = {}

    async def close(self) -> None:
        """End all connections."""
        for name in list(self._credentials):
            await self._forget(name)

    async def join(self, request: JoinRequest) -> None:
        """`kubeadm join` with the token, then the kubelet's registration with the certificate."""
        tls = await bootstrap(request)
        await self._remember(request, f"https://{request.endpoint}", tls)
        await self.register(request)

    async def register(self, request: JoinRequest) -> None:
        """A kubelet's start: a Node of its own, or the one of its name with all that others put on it."""
        credential = self._credentials.get(request.node_name)
        if credential is None or credential.instance_id != _instance(request):
            tls = await certified(self._admin, request.node_name, self._authority)
            await self._remember(request, self._url, tls)
        with _best_effort():
            await self._register(self._credentials[request.node_name].client, request)
        await self.renew_lease(request.node_name, self._now())

    async def post_status(self, node_name: str, *, ready: bool, allocatable: Mapping[str, str], at: datetime) -> None:
        """A kubelet's full node status; a deleted Node is left deleted."""
        host, credential = self._hosts.find(node_name), self._credentials.get(node_name)
        if host is None or credential is None:
            return
        with _best_effort():
            present = await credential.client.find(_path(node_name))
            if present is not None:
                before = present.get("status") or {}
                posted = status(host, before, ready=ready, allocatable=allocatable, at=at)
                await credential.client.call("PATCH", f"{_path(node_name)}/status", {"status": posted}, _MERGE)

    async def renew_lease(self, node_name: str, at: datetime) -> None:
        """The heartbeat. A deleted Node has no lease: the kubelet finds no owner for it."""
        credential = self._credentials.get(node_name)
        if credential is None:
            return
        with _best_effort():
            await _renew(credential.client, node_name, at)

    async def _register(self, kubelet: Client, request: JoinRequest) -> None:
        host = self._hosts.of(request)
        body = node(request)
        first = status(host, {}, ready=False, allocatable={}, at=self._now())
        try:
            await kubelet.call("POST", "/api/v1/nodes", {**body, "status": first})
        except RefusedError as error:
            if error.code != 409:
                raise
            present = await kubelet.call("GET", _path(host.name))
            await _adopt(kubelet, present)

    async def _remember(self, request: JoinRequest, url: str, tls: Any) -> None:
        await self._forget(request.node_name)
        stack = AsyncExitStack()
        connection = await stack.enter_async_context(client(url, tls))
        self._credentials[request.node_name] = _Credential(_instance(request), connection, stack)

    async def _forget(self, name: str) -> None:
        if known := self._credentials.pop(name, None):
            await known.stack.aclose()


@contextmanager
def _best_effort() -> Iterator[None]:
    """Let what another beat may mend be; raise the rest."""
    try:
        yield
    except RefusedError as error:
        if error.code not in _MOVED and error.code < 500:
            raise
    except (aiohttp.ClientError, TimeoutError, OSError):
        return


async def _adopt(kubelet: Client, present: Json) -> None:
    path = _path(present["metadata"]["name"])
    await kubelet.call("PATCH", path, {"metadata": {"labels": adopted_labels(present)}}, _MERGE)
    zeroed = without_devices(present).get("status") or {}
    resources = {part: zeroed[part] for part in ("allocatable", "capacity") if part in zeroed}
    await kubelet.call("PATCH", f"{path}/status", {"status": resources}, _MERGE)


async def _renew(kubelet: Client, node_name: str, at: datetime) -> None:
    owner = await kubelet.find(_path(node_name))
    if owner is None:
        return
    wanted = lease(owner, at)
    present = await kubelet.find(f"{_LEASES}/{node_name}")
    if present is None:
        await kubelet.call("POST", _LEASES, wanted)
    else:
        await kubelet.call("PUT", f"{_LEASES}/{node_name}", {**present, "spec": wanted["spec"]})


def _instance(request: JoinRequest) -> str:
    return request.labels.get(LABEL_INSTANCE_ID, "")


def _path(node_name: str) -> str:
    return f"/api/v1/nodes/{node_name}"
