"""What `kubectl get` shows of the built-in kinds: the columns of k8s.io/kubernetes/pkg/printers, by function.

Each function takes an object and the time of asking, and tolerates missing fields: what is printed is never an error.
"""

from datetime import datetime
from typing import Any

from simulator.kube.edit import dig
from simulator.kube.resources import Column
from simulator.seams import Json

NONE = "<none>"
UNKNOWN = "<unknown>"
NAME_HELP = (
    "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a "
    "client to request the generation of an appropriate name automatically."
)


def age(since: str | None, now: datetime) -> str:
    """The time since a timestamp as kubectl writes it: `5s`, `3m20s`, `7h5m`, `2d3h`."""
    if not since:
        return UNKNOWN
    return human_duration((now - datetime.fromisoformat(since)).total_seconds())


#: Up to how many seconds, the larger unit, and the smaller one that is told with it (apimachinery's HumanDuration).
_STEPS = (
    (120, 1, "s", 0, ""),
    (600, 60, "m", 1, "s"),
    (3 * 3600, 60, "m", 0, ""),
    (8 * 3600, 3600, "h", 60, "m"),
    (48 * 3600, 3600, "h", 0, ""),
    (192 * 3600, 86400, "d", 3600, "h"),
    (2 * 365 * 86400, 86400, "d", 0, ""),
    (8 * 365 * 86400, 365 * 86400, "y", 86400, "d"),
)


def human_duration(seconds: float) -> str:
    """Seconds in the rounding of kubectl's AGE."""
    if seconds < -1:
        return "<invalid>"
    whole = max(int(seconds), 0)
    for limit, large, large_name, small, small_name in _STEPS:
        if whole < limit:
            rest = whole % large // small if small else 0
            return f"{whole // large}{large_name}" + (f"{rest}{small_name}" if rest else "")
    return f"{whole // (365 * 86400)}y"


def _created_age(body: Json, now: datetime) -> str:
    return age(body["metadata"].get("creationTimestamp"), now)


def _size(key: str) -> Any:
    return lambda body, _now: len(body.get(key) or ())


NAME = Column("Name", "string", ".metadata.name", format="name", description=NAME_HELP)
AGE = Column("Age", "string", _created_age, description="Time since the object was created.")
CREATED_AT = Column("Created At", "date", lambda body, _now: body["metadata"].get("creationTimestamp"))
DATA = Column("Data", "string", lambda body, _now: len({**(body.get("data") or {}), **(body.get("binaryData") or {})}))

NAMESPACES = (NAME, Column("Status", "string", ".status.phase"), AGE)
CONFIG_MAPS = (NAME, DATA, AGE)
SECRETS = (NAME, Column("Type", "string", ".type"), DATA, AGE)
SERVICE_ACCOUNTS = (NAME, Column("Secrets", "string", _size("secrets")), AGE)
LEASES = (NAME, Column("Holder", "string", ".spec.holderIdentity"), AGE)
CREATED = (NAME, CREATED_AT)
BINDINGS = (
    NAME,
    Column("Role", "string", lambda body, _now: f"{body['roleRef']['kind']}/{body['roleRef']['name']}"),
    AGE,
)


def _node_status(body: Json, _now: datetime) -> str:
    ready = [item["status"] for item in dig(body, ("status", "conditions")) or () if item["type"] == "Ready"]
    said = ["Unknown" if not ready else {"True": "Ready", "False": "NotReady"}.get(ready[0], "NotReady")]
    if dig(body, ("spec", "unschedulable")):
        said.append("SchedulingDisabled")
    return ",".join(said)


def _node_roles(body: Json, _now: datetime) -> str:
    prefix = "node-role.kubernetes.io/"
    labels = body["metadata"].get("labels") or {}
    roles = sorted(key.removeprefix(prefix) for key in labels if key.startswith(prefix))
    return ",".join(roles) or NONE


def _node_address(kind: str) -> Any:
    def address(body: Json, _now: datetime) -> str:
        found = [item["address"] for item in dig(body, ("status", "addresses")) or () if item["type"] == kind]
        return found[0] if found else NONE

    return address


def _node_info(key: str) -> Any:
    return lambda body, _now: dig(body, ("status", "nodeInfo", key)) or UNKNOWN


NODES = (
    NAME,
    Column("Status", "string", _node_status),
    Column("Roles", "string", _node_roles),
    AGE,
    Column("Version", "string", lambda body, _now: dig(body, ("status", "nodeInfo", "kubeletVersion")) or ""),
    Column("Internal-IP", "string", _node_address("InternalIP"), priority=1),
    Column("External-IP", "string", _node_address("ExternalIP"), priority=1),
    Column("OS-Image", "string", _node_info("osImage"), priority=1),
    Column("Kernel-Version", "string", _node_info("kernelVersion"), priority=1),
    Column("Container-Runtime", "string", _node_info("containerRuntimeVersion"), priority=1),
)


def _event_seen(body: Json, now: datetime) -> str:
    last = dig(body, ("series", "lastObservedTime")) or body.get("lastTimestamp") or body.get("eventTime")
    return age(last or body["metadata"].get("creationTimestamp"), now)


def _event_object(body: Json, _now: datetime) -> str:
    subject = body.get("involvedObject") or {}
    return f"{str(subject.get('kind', '')).lower()}/{subject.get('name', '')}"


def _event_source(body: Json, _now: datetime) -> str:
    source = body.get("source") or {}
    said = [source.get("component") or body.get("reportingComponent") or "", source.get("host") or ""]
    return ", ".join(item for item in said if item)


EVENTS = (
    Column("Last Seen", "string", _event_seen),
    Column("Type", "string", ".type"),
    Column("Reason", "string", ".reason"),
    Column("Object", "string", _event_object),
    Column("Subobject", "string", lambda body, _now: dig(body, ("involvedObject", "fieldPath")) or "", priority=1),
    Column("Source", "string", _event_source, priority=1),
    Column("Message", "string", lambda body, _now: str(body.get("message") or "").strip()),
    Column(
        "First Seen",
        "string",
        lambda body, now: age(body.get("firstTimestamp") or body.get("eventTime"), now),
        priority=1,
    ),
    Column("Count", "string", lambda body, _now: dig(body, ("series", "count")) or body.get("count") or 1, priority=1),
    Column("Name", "string", ".metadata.name", format="name", description=NAME_HELP, priority=1),
)


def _pod_ready(body: Json, _now: datetime) -> str:
    ready = [item for item in dig(body, ("status", "containerStatuses")) or () if item.get("ready")]
    return f"{len(ready)}/{len(dig(body, ('spec', 'containers')) or ())}"


def _pod_status(body: Json, _now: datetime) -> str:
    if "deletionTimestamp" in body["metadata"]:
        return "Terminating"
    return dig(body, ("status", "reason")) or dig(body, ("status", "phase")) or UNKNOWN


def _pod_restarts(body: Json, _now: datetime) -> str:
    return str(sum(item.get("restartCount", 0) for item in dig(body, ("status", "containerStatuses")) or ()))


PODS = (
    NAME,
    Column("Ready", "string", _pod_ready),
    Column("Status", "string", _pod_status),
    Column("Restarts", "string", _pod_restarts),
    AGE,
    Column("IP", "string", lambda body, _now: dig(body, ("status", "podIP")) or NONE, priority=1),
    Column("Node", "string", lambda body, _now: dig(body, ("spec", "nodeName")) or NONE, priority=1),
)


def _count(key: str) -> Any:
    return lambda body, _now: dig(body, ("status", key)) or 0


def _deployment_ready(body: Json, _now: datetime) -> str:
    return f"{dig(body, ('status', 'readyReplicas')) or 0}/{dig(body, ('spec', 'replicas')) or 0}"


def _node_selector(body: Json, _now: datetime) -> str:
    selector = dig(body, ("spec", "template", "spec", "nodeSelector")) or {}
    return ",".join(f"{key}={value}" for key, value in sorted(selector.items())) or NONE


DEPLOYMENTS = (
    NAME,
    Column("Ready", "string", _deployment_ready),
    Column("Up-to-date", "string", _count("updatedReplicas")),
    Column("Available", "string", _count("availableReplicas")),
    AGE,
)
DAEMON_SETS = (
    NAME,
    Column("Desired", "string", _count("desiredNumberScheduled")),
    Column("Current", "string", _count("currentNumberScheduled")),
    Column("Ready", "string", _count("numberReady")),
    Column("Up-to-date", "string", _count("updatedNumberScheduled")),
    Column("Available", "string", _count("numberAvailable")),
    Column("Node Selector", "string", _node_selector),
    AGE,
)
