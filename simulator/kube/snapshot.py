"""The cluster as `GET /control/world` shows it: comparable over time, and without any secret value.

What changes without anything happening (revisions, uids, times, field owners) is left out, so that the state before an
apply equals the state after its deletion. Events and Leases come and go by themselves: they are history.
"""

from collections.abc import Iterable

from simulator.kube.builtins import CRDS
from simulator.kube.edit import dig
from simulator.kube.store import Store
from simulator.seams import Json

REDACTED = "<redacted>"
BOOTSTRAP_TOKEN = "bootstrap.kubernetes.io/token"
_EVENTS = "events"
_LEASES = "leases.coordination.k8s.io"
#: What comes and goes by itself.
HISTORY = frozenset({_EVENTS, _LEASES})
_VOLATILE = frozenset(
    {"creationTimestamp", "deletionTimestamp", "generation", "managedFields", "resourceVersion", "uid"}
)
_BEATS = frozenset({"lastHeartbeatTime", "lastTransitionTime"})


class ClusterView:
    """What the control face shows of the cluster."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def objects(self) -> Json:
        """All objects that are state, by `<resource>/<namespace>/<name>` (`<resource>/<name>` of the cluster's own)."""
        shown = [item for item in self._store.registry.storage() if item.id not in HISTORY]
        return {key: body for item in shown for key, body in comparable(item.id, self._store.list(item.id)).items()}

    async def history(self) -> Json:
        """What comes and goes by itself: `events` and `leases`, as stored."""
        return {"events": self._store.list(_EVENTS), "leases": self._store.list(_LEASES)}


def comparable(resource_id: str, bodies: Iterable[Json]) -> Json:
    """Objects of one resource by a key that names each, without what changes by itself and without secret values."""
    return {_key(resource_id, body): _comparable(resource_id, body) for body in bodies}


def _key(resource_id: str, body: Json) -> str:
    metadata = body["metadata"]
    return "/".join(part for part in (resource_id, metadata.get("namespace"), metadata["name"]) if part)


def _comparable(resource_id: str, body: Json) -> Json:
    metadata = {key: value for key, value in body["metadata"].items() if key not in _VOLATILE}
    if "deletionTimestamp" in body["metadata"]:
        metadata["deleting"] = True
    body = {**body, "metadata": metadata}
    if resource_id == "secrets":
        body["data"] = _redacted(body)
    conditions = dig(body, ("status", "conditions"))
    # An established CRD is the same whenever it was installed; a Node that beats is the same Node.
    if resource_id in {"nodes", CRDS} and conditions:
        steady = [{key: value for key, value in item.items() if key not in _BEATS} for item in conditions]
        body["status"] = {**body["status"], "conditions": steady}
    return body


def _redacted(body: Json) -> Json:
    """A Secret's keys. Of a bootstrap token the id is no secret: it is the Secret's name."""
    told = {"token-id"} if body.get("type") == BOOTSTRAP_TOKEN else set()
    return {key: value if key in told else REDACTED for key, value in (body.get("data") or {}).items()}
