"""Kubernetes as a kubelet reaches it, on the simulated cluster: the checks of `kubeadm join`, then a kubelet's writes.

The wire is left out, the rules are not: a wrong, expired or missing token gets no Node. No token gets into a text.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from simulator.kube.controllers.nodes import LEASE_NAMESPACE, LEASES
from simulator.kube.controllers.tokens import NAME_PREFIX, NAMESPACE, read_token
from simulator.kube.edit import dig, put
from simulator.kube.join_checks import id_and_secret, proved_authority, refuse_ready
from simulator.kube.kubelet_objects import Hosts, adopted_labels, lease, node, status, without_devices
from simulator.kube.store import Store
from simulator.seams import CallLog, JoinRefusedError, JoinRequest, Json


class EmbeddedKubernetes:
    """The seam `Kubernetes` on the embedded store. Every call is over before the event loop turns."""

    def __init__(self, store: Store, calls: CallLog) -> None:
        self._store = store
        self._calls = calls
        self._hosts = Hosts()

    async def join(self, request: JoinRequest) -> None:
        """`kubeadm join`: discovery with its two proofs, authentication, the check for a Ready Node, registration."""
        try:
            self._discover(request)
            self._authenticate(request.token)
            refuse_ready(self._store.find("nodes", None, request.node_name))
        except JoinRefusedError:
            self._record(request.node_name, "create nodes", "403")
            raise
        await self.register(request)

    async def register(self, request: JoinRequest) -> None:
        """A kubelet's start: a Node of its own, or the one of its name with all that others put on it."""
        host = self._hosts.of(request)
        now = self._store.now()
        present = self._store.find("nodes", None, host.name)
        if present is None:
            body = node(request)
            self._store.create("nodes", {**body, "status": status(host, {}, ready=False, allocatable={}, at=now)})
            self._record(host.name, "create nodes", "201")
        else:
            self._adopt(host.name, present)
        await self.renew_lease(host.name, now)

    async def post_status(self, node_name: str, *, ready: bool, allocatable: Mapping[str, str], at: datetime) -> None:
        """A kubelet's full node status; a deleted Node is left deleted."""
        present, host = self._store.find("nodes", None, node_name), self._hosts.find(node_name)
        if present is None or host is None:
            self._record(node_name, "patch nodes/status", "404")
            return
        posted = status(host, present.get("status") or {}, ready=ready, allocatable=allocatable, at=at)
        self._store.update("nodes", put(present, ("status",), posted), subresource="status")
        self._record(node_name, "patch nodes/status", "200")

    async def renew_lease(self, node_name: str, at: datetime) -> None:
        """The heartbeat. A deleted Node has no lease: the kubelet finds no owner for it."""
        owner = self._store.find("nodes", None, node_name)
        if owner is None:
            self._record(node_name, "get nodes", "404")
            return
        wanted = lease(owner, at)
        present = self._store.find(LEASES, LEASE_NAMESPACE, node_name)
        if present is None:
            self._store.create(LEASES, wanted)
            self._record(node_name, "create leases", "201")
        else:
            self._store.update(LEASES, {**present, "spec": wanted["spec"]})
            self._record(node_name, "update leases", "200")

    def _discover(self, request: JoinRequest) -> None:
        info = dig(self._store.find("configmaps", "kube-public", "cluster-info"), ("data",))
        proved_authority(info or {}, request)

    def _authenticate(self, text: str) -> None:
        """The API server's bootstrap token authenticator."""
        token_id, secret = id_and_secret(text)
        found = self._store.find("secrets", NAMESPACE, NAME_PREFIX + token_id)
        token = None if found is None else read_token(found)
        if (
            token is None
            or "authentication" not in token.usages
            or not token.live(self._store.now())
            or not token.opens_with(secret)
        ):
            raise JoinRefusedError(f'the API server does not accept the token with ID "{token_id}": Unauthorized')

    def _adopt(self, name: str, present: Json) -> None:
        self._store.update("nodes", put(present, ("metadata", "labels"), adopted_labels(present)))
        self._store.modify("nodes", None, name, without_devices, subresource="status")
        self._record(name, "patch nodes/status", "200")

    def _record(self, node_name: str, method: str, code: str) -> None:
        effect: Any = "changed" if code in {"200", "201"} else "none"
        self._calls.record(caller=f"kubelet/{node_name}", api="kubernetes", method=method, code=code, effect=effect)
