"""LogEntry as REST JSON into the client library's message: by hand for the few fields that are written here.

json_format.ParseDict takes several times as long.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from google.cloud.logging_v2.types import LogEntry

_MESSAGE: Final = LogEntry.pb()
_SEVERITIES: Final = _MESSAGE.DESCRIPTOR.fields_by_name["severity"].enum_type.values_by_name


def to_message(entry: Mapping[str, Any]) -> Any:
    """The protobuf LogEntry of a REST one.

    Read are logName, resource, jsonPayload, insertId, timestamp, severity, labels and operation. Raises ValueError,
    TypeError or KeyError where the entry is not well formed.
    """
    resource = entry["resource"]
    message = _MESSAGE(
        log_name=entry["logName"],
        resource={"type": resource["type"], "labels": resource.get("labels", {})},
        insert_id=entry.get("insertId", ""),
        severity=_SEVERITIES[entry.get("severity", "DEFAULT")].number,
        labels=entry.get("labels", {}),
    )
    message.json_payload.update(entry["jsonPayload"])
    if "timestamp" in entry:
        message.timestamp.FromDatetime(datetime.fromisoformat(entry["timestamp"]))
    if "operation" in entry:
        operation = entry["operation"]
        message.operation.id = operation["id"]
        message.operation.producer = operation.get("producer", "")
        message.operation.first = operation.get("first", False)
        message.operation.last = operation.get("last", False)
    return message
