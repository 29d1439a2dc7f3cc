"""All Nodes of the cluster as projections, kept by an own list and watch.

Ten thousand Node bodies are half a gigabyte; their projections are a few megabytes. A heartbeat changes the stored view
and wakes nobody: only a change of what we decide on does.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from controller.adapters.kube_client import Call, KubeClient, path_of
from controller.adapters.kube_watch import BACKOFF, ListWatch
from controller.api.base import Json
from controller.api.constants import ANNOTATION_CORDON, LABEL_INSTANCE_ID, TPU_RESOURCE
from controller.core.observed import NodeView, Taint

_LABEL_PREFIXES: Final = ("cloud.google.com/", "tpu.google.com/")

OnChange = Callable[[NodeView | None, NodeView | None], None]


def _ignore_heartbeat(_node: NodeView) -> None:
    """No hook."""


class NodeWatch:
    """The Node store. `run()` it as a task; read `nodes` (name -> view) at any time.

    `on_change(old, new)`: a Node came (old None), changed or went (new None), heartbeat and resourceVersion aside.
    `on_heartbeat(node)`: nothing but its heartbeat moved. `on_synced()`: a list is complete (again after each gap).
    All run in the loop's task and must be quick.
    """

    def __init__(
        self,
        client: KubeClient,
        on_change: OnChange,
        on_synced: Callable[[], None],
        *,
        on_heartbeat: Callable[[NodeView], None] = _ignore_heartbeat,
        inactivity: float = 90.0,
        backoff: tuple[float, ...] = BACKOFF,
    ) -> None:
        self._on_change = on_change
        self._on_synced = on_synced
        self._on_heartbeat = on_heartbeat
        self._nodes: dict[str, NodeView] = {}
        self._listed: set[str] = set()
        self.nodes: Mapping[str, NodeView] = MappingProxyType(self._nodes)
        listing = Call("list", "nodes", path_of("/api/v1", "nodes"))
        self._watch = ListWatch(client, listing, self, inactivity=inactivity, backoff=backoff)

    async def run(self) -> None:
        """Follow all Nodes until cancelled."""
        await self._watch.run()

    @property
    def problem(self) -> str:
        """What keeps the store from following, for people; "" while it follows."""
        return self._watch.problem

    def list_begins(self) -> None:
        """See `Sink`."""
        self._listed.clear()

    def listed(self, obj: Json) -> None:
        """See `Sink`."""
        self._listed.add(obj["metadata"]["name"])
        self.changed(obj)

    def list_ends(self) -> None:
        """See `Sink`."""
        for name in self._nodes.keys() - self._listed:
            self._on_change(self._nodes.pop(name), None)
        self._on_synced()

    def changed(self, obj: Json) -> None:
        """See `Sink`."""
        new = node_view(obj)
        old = self._nodes.get(new.name)
        self._nodes[new.name] = new
        if old is None or _timeless(old) != _timeless(new):
            self._on_change(old, new)
        elif old.heartbeat != new.heartbeat:
            self._on_heartbeat(new)

    def gone(self, obj: Json) -> None:
        """See `Sink`."""
        old = self._nodes.pop(obj["metadata"]["name"], None)
        if old is not None:
            self._on_change(old, None)


def _timeless(node: NodeView) -> NodeView:
    return replace(node, heartbeat=None, resource_version="")


def node_view(obj: Mapping[str, Any]) -> NodeView:
    """The projection of a Node object (v1)."""
    metadata, spec, status = obj["metadata"], obj.get("spec") or {}, obj.get("status") or {}
    labels = metadata.get("labels") or {}
    condition: Mapping[str, Any] = next((c for c in status.get("conditions") or () if c["type"] == "Ready"), {})
    taints = tuple(Taint(t["key"], t.get("value") or "", t["effect"]) for t in spec.get("taints") or ())
    return NodeView(
        name=metadata["name"],
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        provider_id=spec.get("providerID") or "",
        instance_id=labels.get(LABEL_INSTANCE_ID) or "",
        created=datetime.fromisoformat(metadata["creationTimestamp"]),
        labels=MappingProxyType({k: v for k, v in labels.items() if k.startswith(_LABEL_PREFIXES)}),
        taints=taints,
        unschedulable=bool(spec.get("unschedulable")),
        cordoned_by=(metadata.get("annotations") or {}).get(ANNOTATION_CORDON) or "",
        ready=condition.get("status") == "True",
        tpu_allocatable=_quantity((status.get("allocatable") or {}).get(TPU_RESOURCE)),
        heartbeat=_time(condition.get("lastHeartbeatTime")),
    )


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _quantity(value: str | int | None) -> int:
    """An extended resource is a whole number; the API server keeps it as text."""
    return int(value) if value is not None and str(value).isdigit() else 0
