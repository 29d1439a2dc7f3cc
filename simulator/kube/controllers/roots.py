"""What every cluster publishes of itself: the root certificate in each namespace, and cluster-info for joiners."""

import base64

from simulator.kube.controllers.authority import Authority
from simulator.kube.controllers.queue import Queue
from simulator.kube.history import Change
from simulator.kube.store import Store

ROOT_CA = "kube-root-ca.crt"


class RootPublisher:
    """Keeps the ConfigMap kube-root-ca.crt in every live namespace."""

    def __init__(self, store: Store, authority: Authority) -> None:
        self._store = store
        self._data = {"ca.crt": authority.certificate}
        self._queue: Queue[str] = Queue(self._publish)
        self._unsubscribe = (
            store.subscribe(self._namespace_changed, "namespaces"),
            store.subscribe(self._config_changed, "configmaps"),
        )
        for namespace in store.list("namespaces"):
            self._queue.add(namespace["metadata"]["name"])

    def stop(self) -> None:
        """Publish nothing any more."""
        for unsubscribe in self._unsubscribe:
            unsubscribe()
        self._queue.stop()

    def _namespace_changed(self, change: Change) -> None:
        if change.type == "ADDED":
            self._queue.add(change.stored.name)

    def _config_changed(self, change: Change) -> None:
        if change.stored.name == ROOT_CA:
            self._queue.add(change.stored.namespace)

    def _publish(self, name: str) -> None:
        namespace = self._store.find("namespaces", None, name)
        if namespace is None or "deletionTimestamp" in namespace["metadata"]:
            return
        present = self._store.find("configmaps", name, ROOT_CA)
        if present is None:
            body = {"metadata": {"name": ROOT_CA, "namespace": name}, "data": self._data}
            self._store.create("configmaps", body)
        elif present.get("data") != self._data:
            self._store.update("configmaps", {**present, "data": self._data})


def publish_cluster_info(store: Store, authority: Authority, server: str) -> None:
    """Make kube-public/cluster-info as `kubeadm init` does: a kubeconfig without a user. `server` is an https URL."""
    encoded = base64.b64encode(authority.certificate.encode()).decode()
    kubeconfig = (
        "apiVersion: v1\n"
        "clusters:\n"
        "- cluster:\n"
        f"    certificate-authority-data: {encoded}\n"
        f"    server: {server}\n"
        '  name: ""\n'
        "contexts: null\n"
        'current-context: ""\n'
        "kind: Config\n"
        "preferences: {}\n"
        "users: null\n"
    )
    metadata = {"name": "cluster-info", "namespace": "kube-public"}
    if store.find("configmaps", "kube-public", "cluster-info") is None:
        store.create("configmaps", {"metadata": metadata, "data": {"kubeconfig": kubeconfig}})
