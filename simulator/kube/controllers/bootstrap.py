"""bootstrapsigner and tokencleaner: a live token signs kube-public/cluster-info, a dead one disappears."""

from random import Random

from simulator.kube.controllers.queue import Queue
from simulator.kube.controllers.tokens import NAMESPACE, SIGNATURE_PREFIX, read_token, sign
from simulator.kube.errors import ApiError
from simulator.kube.history import Change
from simulator.kube.store import DeleteOptions, Store

_CLUSTER_INFO = ("kube-public", "cluster-info")


class BootstrapSigner:
    """Keeps `jws-kubeconfig-<id>` in cluster-info for every live signing token, and for no other.

    All that came within one delay is signed by one write, as on a real control plane: a new Secret after 5 to 17 ms,
    50 at once within 150 ms (facts: control plane 5).
    """

    def __init__(self, store: Store, random: Random) -> None:
        self._store = store
        self._random = random
        self._queue: Queue[str] = Queue(self._sign)
        self._unsubscribe = (
            store.subscribe(self._secret_changed, "secrets"),
            store.subscribe(self._config_changed, "configmaps"),
        )
        self._poke()

    def stop(self) -> None:
        """Sign nothing any more."""
        for unsubscribe in self._unsubscribe:
            unsubscribe()
        self._queue.stop()

    def _secret_changed(self, change: Change) -> None:
        if change.stored.namespace == NAMESPACE:
            self._poke()

    def _config_changed(self, change: Change) -> None:
        if (change.stored.namespace, change.stored.name) == _CLUSTER_INFO:
            self._poke()

    def _poke(self) -> None:
        self._queue.add("cluster-info", self._random.uniform(0.005, 0.017))

    def _sign(self, _key: str) -> None:
        info = self._store.find("configmaps", *_CLUSTER_INFO)
        data = {} if info is None else info.get("data") or {}
        if info is None or "kubeconfig" not in data:
            return
        content = data["kubeconfig"]
        now = self._store.now()
        tokens = [token for secret in self._store.list("secrets", NAMESPACE) if (token := read_token(secret))]
        signatures = {
            SIGNATURE_PREFIX + token.id: sign(content, token.id, token.secret)
            for token in tokens
            if "signing" in token.usages and token.live(now)
        }
        others = {key: value for key, value in data.items() if not key.startswith(SIGNATURE_PREFIX)}
        if (signed := others | signatures) != data:
            self._store.update("configmaps", {**info, "data": signed})


class TokenCleaner:
    """Deletes each bootstrap Secret when it expires, with a precondition on its UID."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._queue: Queue[str] = Queue(self._clean)
        self._unsubscribe = store.subscribe(self._changed, "secrets")
        for secret in store.list("secrets", NAMESPACE):
            self._queue.add(secret["metadata"]["name"])

    def stop(self) -> None:
        """Delete nothing any more."""
        self._unsubscribe()
        self._queue.stop()

    def _changed(self, change: Change) -> None:
        if change.stored.namespace == NAMESPACE and change.type != "DELETED":
            self._queue.add(change.stored.name)

    def _clean(self, name: str) -> float | None:
        secret = self._store.find("secrets", NAMESPACE, name)
        token = None if secret is None else read_token(secret)
        if secret is None or token is None or token.expires is None:
            return None
        left = (token.expires - self._store.now()).total_seconds()
        if left > 0:
            return left
        try:
            self._store.delete("secrets", NAMESPACE, name, DeleteOptions(uid=secret["metadata"]["uid"]))
        except ApiError:
            return 1.0
        return None
