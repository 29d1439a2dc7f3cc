"""What Cloud Logging checks of entries that clients write, and the defaults that a request gives them.

Works on REST JSON, so that the gRPC and the REST face refuse and accept alike.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from simulator.logging.query.fields import SEVERITIES
from simulator.seams import Json, LogWriter

__all__ = ["Rejected", "write_entries"]

#: Of one entry (facts: audit logs 5, pitfalls).
_MAX_BYTES = 256 * 1024
_LOG_NAME = re.compile(r"(projects|folders|organizations|billingAccounts)/[^/]+/logs/[\w.%~-]+")
_PAYLOADS = ("textPayload", "jsonPayload", "protoPayload")


@dataclass(frozen=True, slots=True)
class Rejected:
    """Why the entries at these indexes were not written. Without partial success, nothing was."""

    reasons: dict[int, str] = field(default_factory=dict)


def write_entries(
    log: LogWriter, entries: Sequence[Json], defaults: Json, *, partial_success: bool, dry_run: bool
) -> Rejected:
    """Write what is valid, as entries.write does. `defaults` may hold logName, resource and labels of the request."""
    completed = [_with_defaults(entry, defaults) for entry in entries]
    reasons = {index: reason for index, entry in enumerate(completed) if (reason := _refusal(entry))}
    if not dry_run and (partial_success or not reasons):
        for index, entry in enumerate(completed):
            if index not in reasons:
                log.write(entry)
    return Rejected(reasons)


def _with_defaults(entry: Json, defaults: Json) -> Json:
    completed = {key: defaults[key] for key in ("logName", "resource") if defaults.get(key)} | entry
    if labels := {**defaults.get("labels", {}), **entry.get("labels", {})}:
        completed["labels"] = labels
    return completed


def _refusal(entry: Json) -> str:
    if not _LOG_NAME.fullmatch(entry.get("logName", "")):
        return f"Log name {entry.get('logName', '')!r} is not of the form projects/<project>/logs/<URL-encoded log id>"
    if not entry.get("resource", {}).get("type"):
        return "The entry has no monitored resource with a type"
    if "cloudaudit.googleapis.com" in entry["logName"]:
        # Whether a holder of entries.write can forge one is unknown (facts: GCE 6.5); the world writes these itself.
        return "Audit logs cannot be written to"
    payloads = [name for name in _PAYLOADS if name in entry]
    if len(payloads) > 1:
        return f"The entry has more than one payload: {', '.join(payloads)}"
    if str(entry.get("severity", "DEFAULT")) not in SEVERITIES:
        return f"Unknown severity {entry['severity']!r}; severities are {', '.join(SEVERITIES)}"
    size = len(json.dumps(entry))
    if size > _MAX_BYTES:
        return f"Log entry with size {size / 1024:.1f}K exceeds maximum size of 256.0K"
    return ""
