"""The cluster as `GET /control/world` shows it: comparable over time, and without any secret value.

What changes without anything happening (revisions, uids, times, field owners) is left out, so that the state before an
apply equals the state after its deletion. Events and Leases come and go by themselves: they are history.
"""

from simulator.kube.builtins import CRDS
from simulator.kube.edit import dig
from simulator.kube.resources import Resource
from simulator.kube.store import Store
from simulator.seams import Json

REDACTED = "<redacted>"
BOOTSTRAP_TOKEN = "bootstrap.kubernetes.io/token"
_EVENTS = "events"
_LEASES = "leases.coordination.k8s.io"
_VOLATILE = frozenset(
    {"creationTimestamp", "deletionTimestamp", "generation", "managedFields", "resourceVersion", "uid"}
)
_BEATS = frozenset({"lastHeartbeatTime", "lastTransitionTime"})


class ClusterView:
    """What the control face shows of the cluster."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def objects(self) -> Json:
        """All objects that are state, by `<resource>/<namespace>/<name>` (`<resource>/<name>` of the cluster's own)."""
        shown = (item for item in self._store.registry.storage() if item.id not in {_EVENTS, _LEASES})
        return {key: body for resource in shown for key, body in self._of(resource).items()}

    def history(self) -> Json:
        """What comes and goes by itself: `events` and `leases`, as stored."""
        return {"events": self._store.list(_EVENTS), "leases": self._store.list(_LEASES)}

    def _of(self, resource: Resource) -> Json:
        return {_key(resource, body): _comparable(resource, body) for body in self._store.list(resource.id)}


def _key(resource: Resource, body: Json) -> str:
    metadata = body["metadata"]
    return "/".join(part for part in (resource.id, metadata.get("namespace"), metadata["name"]) if part)


def _comparable(resource: Resource, body: Json) -> Json:
    metadata = {key: value for key, value in body["metadata"].items() if key not in _VOLATILE}
    if "deletionTimestamp" in body["metadata"]:
        metadata["deleting"] = True
    body = {**body, "metadata": metadata}
    if resource.id == "secrets":
        body["data"] = _redacted(body)
    conditions = dig(body, ("status", "conditions"))
    # An established CRD is the same whenever it was installed; a Node that beats is the same Node.
    if resource.id in {"nodes", CRDS} and conditions:
        steady = [{key: value for key, value in item.items() if key not in _BEATS} for item in conditions]
        body["status"] = {**body["status"], "conditions": steady}
    return body


def _redacted(body: Json) -> Json:
    """A Secret's keys. Of a bootstrap token the id is no secret: it is the Secret's name."""
    told = {"token-id"} if body.get("type") == BOOTSTRAP_TOKEN else set()
    return {key: value if key in told else REDACTED for key, value in (body.get("data") or {}).items()}
