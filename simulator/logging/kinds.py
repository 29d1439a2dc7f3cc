"""What a log entry is called in a planned event fault: `<resource>.<kind>`, as `events decode` names it.

A table of its own, for what this world writes: the simulator shares nothing with the operator's decoder, so that one
can be a check of the other.
"""

import re
from typing import Final

from controller.api.constants import LOG_BOOTSTRAP, LOG_CANARY
from simulator.seams import Json

__all__ = ["ANY", "OF_INSTANCE", "event_names", "known_event", "resource_of"]

#: Every entry goes by this name too.
ANY: Final = "*"

_METHOD: Final = re.compile(r"(?:(?:v1|beta|alpha)\.)?compute\.(?P<collection>[A-Za-z]+)\.(?P<method>.+)")
_RESOURCES: Final = {
    "instances": "instance",
    "instanceGroupManagers": "group",
    "instanceTemplates": "template",
    "regionInstanceTemplates": "template",
    "resourcePolicies": "policy",
}
_EVERYWHERE: Final = {"insert": "inserted", "delete": "deleted"}
#: Method -> kind, of instances alone.
OF_INSTANCE: Final = {
    "bulkInsert": "inserted",
    "deferredDelete": "deleted",
    "start": "started",
    "resume": "started",
    "stop": "stopped",
    "suspend": "stopped",
    "deferredStop": "stopped",
    "reset": "reset",
    "preempted": "preempted",
    "hostError": "host_error",
    "terminateOnHostMaintenance": "host_maintenance",
    "migrateOnHostMaintenance": "host_maintenance",
    "automaticRestart": "restarted",
    "repair.recreateInstance": "repair",
    "upcomingMaintenance": "maintenance_upcoming",
    "upcomingInfraMaintenance": "maintenance_upcoming",
    "guestTerminate": "guest_terminated",
    "setMetadata": "metadata",
}
_PHASES: Final = ("first", "last", "only")
_STEPS: Final = ("booted", "waiting", "joining", "joined", "failed")


def event_names(entry: Json) -> tuple[str, ...]:
    """All names that a planned fault may call this entry by, the plain one first; `*` alone for any other entry."""
    log = entry.get("logName", "").rpartition("/logs/")[2]
    payload = entry.get("jsonPayload") or {}
    if log == LOG_BOOTSTRAP:
        return ("instance.bootstrap", f"instance.bootstrap.{payload.get('step', '')}", ANY)
    if log == LOG_CANARY:
        return ("canary.canary", ANY)
    found = _METHOD.fullmatch((entry.get("protoPayload") or {}).get("methodName", ""))
    if found is None or found["collection"] not in _RESOURCES:
        return (ANY,)
    resource = _RESOURCES[found["collection"]]
    kind = _EVERYWHERE.get(found["method"])
    if resource == "instance":
        kind = kind or OF_INSTANCE.get(found["method"])
    elif kind is None:
        kind = "changed"
    return (f"{resource}.{kind}", f"{resource}.{kind}.{_phase(entry)}", ANY) if kind else (ANY,)


def resource_of(entry: Json) -> str:
    """The name of the resource that an entry is about, "" where it names none."""
    named = (entry.get("protoPayload") or {}).get("resourceName") or (entry.get("jsonPayload") or {}).get("instance")
    return str(named or "").rpartition("/")[2]


def known_event(name: str) -> bool:
    """Whether a fault may be planned for this name."""
    if name in {ANY, "canary.canary", "instance.bootstrap"}:
        return True
    resource, _, kind = name.partition(".")
    kind, _, rest = kind.partition(".")
    if (resource, kind) == ("instance", "bootstrap"):
        return rest in _STEPS
    kinds = {*_EVERYWHERE.values(), *(OF_INSTANCE.values() if resource == "instance" else ("changed",))}
    return resource in _RESOURCES.values() and kind in kinds and (rest in _PHASES or name.count(".") == 1)


def _phase(entry: Json) -> str:
    operation = entry.get("operation") or {}
    first, last = bool(operation.get("first")), bool(operation.get("last"))
    if first is last:
        return "only"
    return "first" if first else "last"
