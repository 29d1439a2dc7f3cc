"""Kubernetes as a kubelet reaches it, on the simulated cluster: the checks of `kubeadm join`, then a kubelet's writes.

The wire is left out, the rules are not: a wrong, expired or missing token gets no Node. No token gets into a text.
"""

import base64
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

import yaml

from simulator.kube.controllers.authority import spki_hash
from simulator.kube.controllers.nodes import LEASE_NAMESPACE, LEASES
from simulator.kube.controllers.tokens import NAME_PREFIX, NAMESPACE, SIGNATURE_PREFIX, read_token, sign, split_token
from simulator.kube.edit import dig, put
from simulator.kube.kubelet_objects import Host, default_labels, is_ready, lease, node, status
from simulator.kube.store import Store
from simulator.seams import CallLog, JoinRefusedError, JoinRequest, Json


class EmbeddedKubernetes:
    """The seam `Kubernetes` on the embedded store. Every call is over before the event loop turns."""

    def __init__(self, store: Store, calls: CallLog) -> None:
        self._store = store
        self._calls = calls
        self._hosts: dict[str, Host] = {}

    async def join(self, request: JoinRequest) -> None:
        """`kubeadm join`: discovery with its two proofs, authentication, the check for a Ready Node, registration."""
        try:
            self._discover(request)
            self._authenticate(request.token)
            self._refuse_ready(request.node_name)
        except JoinRefusedError:
            self._record(request.node_name, "create nodes", "403")
            raise
        await self.register(request)

    async def register(self, request: JoinRequest) -> None:
        """A kubelet's start: a Node of its own, or the one of its name with all that others put on it."""
        host = self._host(request)
        now = self._store.now()
        present = self._store.find("nodes", None, host.name)
        if present is None:
            body = node(request)
            self._store.create("nodes", {**body, "status": status(host, {}, ready=False, allocatable={}, at=now)})
            self._record(host.name, "create nodes", "201")
        else:
            self._adopt(host, present)
        await self.renew_lease(host.name, now)

    async def post_status(self, node_name: str, *, ready: bool, allocatable: Mapping[str, str], at: datetime) -> None:
        """A kubelet's full node status; a deleted Node is left deleted."""
        present, host = self._store.find("nodes", None, node_name), self._hosts.get(node_name)
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
        """cluster-info must be signed with the token, and its CA must be one of the pinned ones."""
        token = _split(request.token)
        info: Mapping[str, str] = dig(self._store.find("configmaps", "kube-public", "cluster-info"), ("data",)) or {}
        kubeconfig, signature = info.get("kubeconfig"), info.get(SIGNATURE_PREFIX + token[0])
        if kubeconfig is None or signature is None:
            why = f'could not find a JWS signature in the cluster-info ConfigMap for token ID "{token[0]}"'
            raise JoinRefusedError(f"couldn't validate the identity of the API Server: {why}")
        if signature != sign(kubeconfig, *token):
            raise JoinRefusedError(
                "failed to verify JWS signature of received cluster info object, can't trust this API Server"
            )
        found = _hash_of_ca(kubeconfig)
        if found not in request.ca_hashes:
            why = f'none of the public keys "{found}" are pinned'
            raise JoinRefusedError(f"cluster CA found in cluster-info ConfigMap is invalid: {why}")

    def _authenticate(self, text: str) -> None:
        """The API server's bootstrap token authenticator."""
        token_id, secret = _split(text)
        found = self._store.find("secrets", NAMESPACE, NAME_PREFIX + token_id)
        token = None if found is None else read_token(found)
        if (
            token is None
            or "authentication" not in token.usages
            or not token.live(self._store.now())
            or not token.opens_with(secret)
        ):
            raise JoinRefusedError(f'the API server does not accept the token with ID "{token_id}": Unauthorized')

    def _refuse_ready(self, name: str) -> None:
        present = self._store.find("nodes", None, name)
        if present is not None and is_ready(present):
            raise JoinRefusedError(
                f'a Node with name "{name}" and status "Ready" already exists in the cluster. You must delete the '
                "existing Node or change the name of this new joining Node"
            )

    def _host(self, request: JoinRequest) -> Host:
        """The host of this name; a name keeps its address."""
        known = self._hosts.get(request.node_name)
        number = len(self._hosts) + 2
        address = known.address if known else f"10.128.{number >> 8 & 255}.{number & 255}"
        host = self._hosts[request.node_name] = Host(request.node_name, request.kubelet_version, address)
        return host

    def _adopt(self, host: Host, present: Json) -> None:
        """Keep creation time, labels and taints of the Node that is there; only the defaults are set, and the extended
        resources zeroed until a device plugin registers (kubelet_node_status.go)."""
        labels: dict[str, Any] = {**(present["metadata"].get("labels") or {}), **default_labels(host.name)}
        self._store.update("nodes", put(present, ("metadata", "labels"), labels))

        def zero(body: Json) -> Json:
            for part in ("allocatable", "capacity"):
                resources = dig(body, ("status", part)) or {}
                zeroed = {name: "0" if "/" in name else amount for name, amount in resources.items()}
                body = put(body, ("status", part), zeroed)
            return body

        self._store.modify("nodes", None, host.name, zero, subresource="status")
        self._record(host.name, "patch nodes/status", "200")

    def _record(self, node_name: str, method: str, code: str) -> None:
        effect: Any = "changed" if code in {"200", "201"} else "none"
        self._calls.record(caller=f"kubelet/{node_name}", api="kubernetes", method=method, code=code, effect=effect)


def _split(token: str) -> tuple[str, str]:
    parts = split_token(token)
    if parts is None:
        raise JoinRefusedError("the bootstrap token is not of the form [a-z0-9]{6}.[a-z0-9]{16}")
    return parts


@lru_cache(maxsize=4)
def _hash_of_ca(kubeconfig: str) -> str:
    """The pin of the CA in cluster-info's kubeconfig: the same for all joiners, so it is read once."""
    cluster = yaml.safe_load(kubeconfig)["clusters"][0]["cluster"]
    return spki_hash(base64.b64decode(cluster["certificate-authority-data"]).decode())
