"""The canary: a harmless entry that the operator writes and the sink routes back, to measure the whole path."""

from datetime import datetime
from typing import Any

from sinks.audit.record import rfc3339
from sinks.logs import LOG_CANARY


def canary_entry(project: str, cluster: str, instance: str, at: datetime) -> dict[str, Any]:
    """The LogEntry (REST JSON) of one canary: which cluster's operator, which process of it, when (aware)."""
    stamp = rfc3339(at)
    return {
        "logName": f"projects/{project}/logs/{LOG_CANARY}",
        "resource": {"type": "global", "labels": {"project_id": project}},
        "jsonPayload": {"cluster": cluster, "instance": instance},
        "insertId": f"canary-{instance}-{stamp}",
        "timestamp": stamp,
        "severity": "DEBUG",
    }
