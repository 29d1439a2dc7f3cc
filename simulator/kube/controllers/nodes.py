"""The node lifecycle: a Node whose kubelet fell silent becomes Unknown, and taints follow its conditions."""

from datetime import datetime, timedelta

from simulator.clock import kube_time
from simulator.kube.controllers.queue import Queue
from simulator.kube.edit import dig, put
from simulator.kube.history import Change
from simulator.kube.store import Store
from simulator.seams import Json

LEASES = "leases.coordination.k8s.io"
LEASE_NAMESPACE = "kube-node-lease"
_NOT_READY = "node.kubernetes.io/not-ready"
_UNREACHABLE = "node.kubernetes.io/unreachable"
_UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
_OURS = {_NOT_READY, _UNREACHABLE, _UNSCHEDULABLE}


def ready_condition(node: Json) -> Json:
    """The Ready condition, {} if the kubelet has not posted one."""
    conditions = dig(node, ("status", "conditions")) or []
    return next((item for item in conditions if item["type"] == "Ready"), {})


def last_heartbeat(node: Json, lease: Json | None) -> datetime:
    """The latest sign of life: lease, status, or the Node's creation."""
    signs = [
        dig(lease, ("spec", "renewTime")),
        ready_condition(node).get("lastHeartbeatTime"),
        node["metadata"]["creationTimestamp"],
    ]
    return max(datetime.fromisoformat(sign) for sign in signs if sign)


class NodeLifecycle:
    """Watches heartbeats by one timer a Node, due when the next could be missed: renewals cost nothing here."""

    def __init__(self, store: Store, grace: timedelta) -> None:
        """`grace`: node-monitor-grace-period, 50 s since Kubernetes 1.32."""
        self._store = store
        self._grace = grace
        self._queue: Queue[str] = Queue(self._look)
        self._unsubscribe = store.subscribe(self._changed, "nodes")
        for node in store.list("nodes"):
            self._queue.add(node["metadata"]["name"])

    def stop(self) -> None:
        """Judge no Node any more."""
        self._unsubscribe()
        self._queue.stop()

    def _changed(self, change: Change) -> None:
        if change.type != "DELETED":
            self._queue.add(change.stored.name)

    def _look(self, name: str) -> float | None:
        node = self._store.find("nodes", None, name)
        if node is None:
            return None
        now = self._store.now()
        lease = self._store.find(LEASES, LEASE_NAMESPACE, name)
        left = (last_heartbeat(node, lease) + self._grace - now).total_seconds()
        unknown = ready_condition(node).get("status") == "Unknown"
        if left <= 0 and not unknown:
            node = self._store.modify("nodes", None, name, lambda body: _silenced(body, now), subresource="status")
            unknown = True
        taints = dig(node, ("spec", "taints")) or []
        if (wanted := _tainted(node, taints)) != taints:
            self._store.update("nodes", put(node, ("spec", "taints"), wanted))
        # An Unknown Node speaks first: its status comes as a change.
        return None if unknown else max(left, 0.01)


def _silenced(node: Json, now: datetime) -> Json:
    at = kube_time(now)
    silent = {
        "status": "Unknown",
        "reason": "NodeStatusUnknown",
        "message": "Kubelet stopped posting node status.",
        "lastTransitionTime": at,
    }
    posted = dig(node, ("status", "conditions")) or []
    never = [{"type": "Ready", "lastHeartbeatTime": node["metadata"]["creationTimestamp"]}]
    conditions = posted if ready_condition(node) else [*posted, *never]
    return put(node, ("status", "conditions"), [{**item, **silent} for item in conditions])


def _tainted(node: Json, taints: list[Json]) -> list[Json]:
    """The taints that should be there: others' as they are, the lifecycle's by the Node's condition."""
    status = ready_condition(node).get("status")
    wanted = []
    if dig(node, ("spec", "unschedulable")):
        wanted.append((_UNSCHEDULABLE, "NoSchedule"))
    if status != "True":
        key = _UNREACHABLE if status == "Unknown" else _NOT_READY
        wanted += [(key, "NoSchedule"), (key, "NoExecute")]
    kept = [taint for taint in taints if taint["key"] not in _OURS or (taint["key"], taint["effect"]) in wanted]
    present = {(taint["key"], taint["effect"]) for taint in kept}
    return kept + [{"key": key, "effect": effect} for key, effect in wanted if (key, effect) not in present]
