"""Audit log entries, shaped like the published ones (facts: audit logs 1 to 3; the samples' numbers are named below).

Metadata values and request bodies' metadata never enter an entry. Unset fields are absent, as in proto JSON.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from simulator.callers import ANONYMOUS
from simulator.seams import Json
from simulator.world.errors import ApiError, Fault
from simulator.world.metadata import Delta
from simulator.world.names import project_number

__all__ = [
    "SYSTEM_PRINCIPAL",
    "Caller",
    "Subject",
    "first_entry",
    "group_agent",
    "last_entry",
    "refused_entry",
    "system_entry",
]

SYSTEM_PRINCIPAL = "system@google.com"
_SERVICE = "compute.googleapis.com"
#: google.rpc.Code of an HTTP status, for refused calls.
_GRPC = {400: 3, 403: 7, 404: 5, 409: 6, 412: 9, 429: 8}


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls: `principal` is an e-mail or "anonymous"."""

    principal: str = ANONYMOUS
    user_agent: str = ""
    ip: str = ""


@dataclass(frozen=True, slots=True)
class Subject:
    """The resource that an entry is about."""

    project: str
    #: `gce_instance`, `gce_instance_group_manager`, `gce_instance_template`, `gce_resource_policy`.
    type: str
    labels: Mapping[str, str]
    #: Path with the project's id.
    path: str
    #: Zone, region or `global`.
    location: str
    #: `compute.instances`, ... as in authorizationInfo.
    service_type: str = field(default="compute.instances")


def group_agent(project: str) -> Caller:
    """The principal by which a MIG makes and deletes VMs (samples 02, 03)."""
    return Caller(f"{project_number(project)}@cloudservices.gserviceaccount.com", "GCE Managed Instance Group")


def first_entry(
    method: str,
    subject: Subject,
    caller: Caller,
    operation: Json,
    request: Json,
    permission: str,
    delta: Delta | None = None,
) -> Json:
    """The entry of an accepted call (samples 01, 02, 04, 08, 12, 20); `operation` is the REST operation."""
    payload = _payload(f"v1.{method}", subject, caller)
    resource = {"service": "compute", "name": subject.path, "type": subject.service_type}
    payload["authorizationInfo"] = [
        {
            "permission": permission,
            "permissionType": "ADMIN_WRITE",
            "granted": True,
            "resource": subject.path,
            "resourceAttributes": resource,
        }
    ]
    payload["request"] = {**_without_metadata(request), "@type": f"type.googleapis.com/{method}"}
    payload["response"] = {**operation, "status": "RUNNING", "@type": "type.googleapis.com/operation"}
    payload["resourceLocation"] = {"currentLocations": [subject.location]}
    if delta is not None:
        payload["metadata"] = _delta_metadata(delta)
    return _entry(subject, payload, "NOTICE", {"id": operation["name"], "producer": _SERVICE, "first": True})


def last_entry(
    method: str, subject: Subject, caller: Caller, operation_id: str, fault: Fault | None, delta: Delta | None = None
) -> Json:
    """The entry of a finished operation (samples 03, 05, 07, 09, 10, 11, 21)."""
    payload = _payload(f"v1.{method}", subject, caller)
    payload["request"] = {"@type": f"type.googleapis.com/{method}"}
    if delta is not None:
        payload["metadata"] = _delta_metadata(delta)
        if delta.added:
            payload["request"]["Metadata Keys Added"] = list(delta.added)
    severity = "NOTICE"
    if fault is not None:
        severity = "ERROR"
        payload["status"] = {"code": fault.grpc, "message": fault.code}
        if fault.details:
            payload["status"]["details"] = list(fault.details)
    return _entry(subject, payload, severity, {"id": operation_id, "producer": _SERVICE, "last": True})


def refused_entry(method: str, subject: Subject, caller: Caller, error: ApiError) -> Json:
    """The one entry of a call refused at the API: no operation at all (facts: audit logs 2, exception a)."""
    payload = _payload(f"v1.{method}", subject, caller)
    payload["request"] = {"@type": f"type.googleapis.com/{method}"}
    payload["response"] = {"@type": "type.googleapis.com/error", "error": error.body()["error"]}
    payload["status"] = {"code": _GRPC.get(error.code, 2), "message": error.message}
    return _entry(subject, payload, "ERROR", None, log="activity")


def system_entry(method: str, subject: Subject, operation_id: str, message: str, metadata: Json | None = None) -> Json:
    """An event that Compute Engine itself reports (samples 13 to 19): one entry, first and last."""
    payload: Json = {
        "@type": "type.googleapis.com/google.cloud.audit.AuditLog",
        "status": {"message": message} if message else {},
        "authenticationInfo": {"principalEmail": SYSTEM_PRINCIPAL},
        "requestMetadata": {"requestAttributes": {}, "destinationAttributes": {}},
        "serviceName": _SERVICE,
        "methodName": method,
        "resourceName": subject.path,
        "request": {"@type": f"type.googleapis.com/{method}"},
    }
    if metadata:
        payload["metadata"] = metadata
    operation = {"id": operation_id, "producer": method, "first": True, "last": True}
    return _entry(subject, payload, "INFO", operation, log="system_event")


def _payload(method: str, subject: Subject, caller: Caller) -> Json:
    by_group = caller == group_agent(subject.project)
    path = subject.path
    if by_group:
        # MIG-made names carry the project's number, the resource labels its id (samples 02, 03).
        path = path.replace(f"projects/{subject.project}/", f"projects/{project_number(subject.project)}/", 1)
    request_metadata: Json = {}
    if caller.ip:
        request_metadata["callerIp"] = caller.ip
    if caller.user_agent:
        request_metadata["callerSuppliedUserAgent"] = caller.user_agent
    return {
        "@type": "type.googleapis.com/google.cloud.audit.AuditLog",
        "authenticationInfo": {} if caller.principal == ANONYMOUS else {"principalEmail": caller.principal},
        "requestMetadata": request_metadata,
        "serviceName": _SERVICE,
        "methodName": method,
        "resourceName": path,
    }


def _entry(subject: Subject, payload: Json, severity: str, operation: Json | None, *, log: str = "activity") -> Json:
    entry: Json = {
        "protoPayload": payload,
        "resource": {"type": subject.type, "labels": {**subject.labels, "project_id": subject.project}},
        "severity": severity,
        "logName": f"projects/{subject.project}/logs/cloudaudit.googleapis.com%2F{log}",
    }
    if operation is not None:
        entry["operation"] = operation
    return entry


def _delta_metadata(delta: Delta) -> Json:
    keys: dict[str, Sequence[str]] = {
        "addedMetadataKeys": delta.added,
        "modifiedMetadataKeys": delta.modified,
        "deletedMetadataKeys": delta.deleted,
    }
    return {
        "@type": "type.googleapis.com/google.cloud.audit.GceInstanceAuditMetadata",
        "instanceMetadataDelta": {name: list(found) for name, found in keys.items() if found},
    }


def _without_metadata(request: Json) -> Json:
    """No sample of insert or instanceTemplates.insert has `metadata` in its request (facts: audit logs 1)."""
    kept = {key: value for key, value in request.items() if key != "metadata"}
    if "metadata" in kept.get("properties", {}):
        kept["properties"] = {key: value for key, value in kept["properties"].items() if key != "metadata"}
    return copy.deepcopy(kept)
