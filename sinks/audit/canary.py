"""The canary: a harmless entry that the operator writes and the sink routes back, to measure the whole path."""

from datetime import UTC, datetime
from typing import Any, Final

#: The log that canaries are written to (the part after `projects/<project>/logs/`).
CANARY_LOG: Final = "tpu-node-group-canary"


def canary_entry(project: str, cluster: str, instance: str, at: datetime) -> dict[str, Any]:
    """The LogEntry (REST JSON) of one canary: which cluster's operator, which process of it, when (aware)."""
    stamp = at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    return {
        "logName": f"projects/{project}/logs/{CANARY_LOG}",
        "resource": {"type": "global", "labels": {"project_id": project}},
        "jsonPayload": {"cluster": cluster, "instance": instance},
        "insertId": f"canary-{instance}-{stamp}",
        "timestamp": stamp,
        "severity": "DEBUG",
    }
