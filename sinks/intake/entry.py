"""One LogEntry, as Pub/Sub delivers it, into a typed event. Pure and total: no input makes it raise.

Whoever can publish to the topic can write what is read here. So every field is checked for its type before use, text
of the entry is bounded, and nothing is believed further than "look at this again".
"""

import hashlib
import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from sinks.intake.events import Decoded, Event, EventKind, Failure, Ignored, Phase, Resource, Unreadable, moment
from sinks.intake.methods import Method, method_of
from sinks.logs import LOG_BOOTSTRAP, LOG_CANARY

#: What a VM may say of its way into the cluster.
STEPS: Final = frozenset({"booted", "waiting", "joining", "joined", "failed"})

_COMPUTE: Final = "compute.googleapis.com"
_AUDIT_LOG: Final = "type.googleapis.com/google.cloud.audit.AuditLog"
_LOG_NAME: Final = re.compile(
    r"(?:projects|folders|organizations|billingAccounts)/[^/|]{1,255}/logs/(?P<log>[^/|]{1,511})"
)
_PROJECT: Final = re.compile(r"(?:[a-z0-9.-]{1,100}:)?[a-z0-9-]{1,63}")
_NAME: Final = re.compile(r"[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?")
_ZONE: Final = re.compile(r"[a-z0-9-]{1,63}")
#: A 64-bit number as proto JSON has it: a string. "" and "0" are no id.
_INSTANCE_ID: Final = re.compile(r"[1-9][0-9]{0,19}")
#: A status code is an int32, which proto JSON may also write as a string.
_CODE: Final = re.compile(r"-?[0-9]{1,10}")
_CODES: Final = range(-(2**31), 2**31)
#: What may serve as a reason without quoting: no blanks, no control characters, bounded.
_PLAIN: Final = re.compile(r"[A-Za-z0-9_.%-]{1,120}")
_BLANKS: Final = " \t\r\n"
_MAX_MESSAGE: Final = 2048
_MAX_REASON: Final = 256
#: Names that come with nearly every entry are looked at once. Bounded: whoever forges entries may make up names.
_CACHED: Final = 1024
_LONGEST_NAME: Final = 1024

_Fields = Mapping[str, Any]


class _NoEventError(Exception):
    """Ends a decoding early with its outcome."""

    def __init__(self, outcome: Ignored | Unreadable) -> None:
        super().__init__(outcome.reason)
        self.outcome = outcome


def decode(data: bytes) -> Decoded:
    """The event that a LogEntry (JSON) stands for, or why there is none. Never raises."""
    try:
        text = data.decode("utf-8").strip(_BLANKS)
        value, end = JSON.raw_decode(text)
        return decode_value(value) if end == len(text) else Unreadable("not JSON")
    except UnicodeError:
        return Unreadable("not UTF-8")
    except ValueError:
        return Unreadable("not JSON")
    except RecursionError:
        return Unreadable("nested too deeply")


def decode_value(entry: Any) -> Decoded:
    """The same of a LogEntry that `JSON` has parsed. Never raises."""
    if not isinstance(entry, dict):
        return Unreadable("not a JSON object")
    try:
        return _read(entry)
    except _NoEventError as early:
        return early.outcome


def _no_constant(name: str) -> None:
    raise ValueError(name)


#: JSON as RFC 8259 has it: without NaN and Infinity.
JSON: Final = json.JSONDecoder(parse_constant=_no_constant)


def _read(entry: _Fields) -> Event:
    log_name = _text(entry, "logName")
    log = _log_of(log_name) if len(log_name) <= _LONGEST_NAME else None
    if log is None:
        raise _NoEventError(Unreadable("no logName"))
    at = _timestamp(entry)
    if isinstance(entry.get("protoPayload"), dict):
        return _audit(entry, log_name, at)
    if isinstance(entry.get("jsonPayload"), dict):
        if log == LOG_BOOTSTRAP:
            return _bootstrap(entry, log_name, at)
        if log == LOG_CANARY:
            return _canary(entry, log_name, at)
        raise _NoEventError(Ignored(_plain("log", log)))
    if not entry.keys() & {"protoPayload", "jsonPayload", "textPayload"}:
        raise _NoEventError(Ignored("no payload"))
    if isinstance(entry.get("textPayload"), str):
        raise _NoEventError(Ignored("text payload"))
    raise _NoEventError(Unreadable("the payload is not an object"))


def _audit(entry: _Fields, log_name: str, at: str) -> Event:
    payload = entry["protoPayload"]
    method_name = _text(payload, "methodName")
    if not method_name:
        foreign = _text(payload, "@type") not in {"", _AUDIT_LOG}
        raise _NoEventError(Ignored("not an audit entry") if foreign else Unreadable("no methodName"))
    known = payload.get("serviceName") == _COMPUTE and len(method_name) <= _LONGEST_NAME
    method = method_of(method_name) if known else None
    if method is None:
        raise _NoEventError(Ignored(_plain("", method_name)))
    if method.kind is None:
        raise _NoEventError(Ignored(_plain("", method.bare)))
    labels = _labels(entry)
    name, zone = _place(_text(payload, "resourceName").split("/"), method, labels)
    failure = _failure(payload)
    operation = _object(entry, "operation")
    phase = _phase(operation)
    status = _object(payload, "status")
    return Event(
        resource=method.resource,
        kind=method.kind,
        project=_project(labels, log_name),
        zone=zone,
        name=name,
        instance_id=_instance_id(labels) if method.resource is Resource.INSTANCE else None,
        phase=phase,
        failure=failure,
        at=at,
        key=_key(entry, log_name, at, otherwise=(method.bare, phase, zone or "", name)),
        operation_id=_text(operation, "id")[:_MAX_REASON],
        reason=_text(status, "message")[:_MAX_REASON] if failure is None else "",
    )


def _bootstrap(entry: _Fields, log_name: str, at: str) -> Event:
    """A VM's own word (resource gce_instance; facts: it can give a reason, never a state)."""
    payload, labels = entry["jsonPayload"], _labels(entry)
    step, name, zone = _text(payload, "step"), _text(payload, "instance"), _text(labels, "zone")
    if step not in STEPS:
        raise _NoEventError(Unreadable("bootstrap entry without a known step"))
    if _NAME.fullmatch(name) is None:
        raise _NoEventError(Unreadable("bootstrap entry without an instance"))
    return Event(
        resource=Resource.INSTANCE,
        kind=EventKind.BOOTSTRAP,
        project=_project(labels, log_name),
        zone=zone if _ZONE.fullmatch(zone) else None,
        name=name,
        instance_id=_instance_id(labels),
        phase=Phase.ONLY,
        failure=None,
        at=at,
        key=_key(entry, log_name, at, otherwise=(step, zone, name)),
        step=step,
        reason=_text(payload, "reason")[:_MAX_REASON],
    )


def _canary(entry: _Fields, log_name: str, at: str) -> Event:
    payload = entry["jsonPayload"]
    cluster, writer = _text(payload, "cluster"), _text(payload, "instance")
    if not cluster or not writer:
        raise _NoEventError(Unreadable("canary without cluster and instance"))
    return Event(
        resource=Resource.CANARY,
        kind=EventKind.CANARY,
        project=_project(_labels(entry), log_name),
        zone=None,
        name=cluster[:_MAX_REASON],
        instance_id=None,
        phase=Phase.ONLY,
        failure=None,
        at=at,
        key=_key(entry, log_name, at, otherwise=(writer,)),
        writer=writer[:_MAX_REASON],
    )


def _text(fields: _Fields, key: str) -> str:
    """A field's text, "" where it has none. A lone surrogate is legal JSON, but could not be sent or printed later."""
    value = fields.get(key, "")
    if not isinstance(value, str):
        return ""
    return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")


def _object(fields: _Fields, key: str) -> _Fields:
    value = fields.get(key)
    return value if isinstance(value, dict) else {}


@lru_cache(_CACHED)
def _log_of(log_name: str) -> str | None:
    """The log's id in its name, None where that is none."""
    found = _LOG_NAME.fullmatch(log_name)
    return found["log"] if found else None


def _labels(entry: _Fields) -> _Fields:
    return _object(_object(entry, "resource"), "labels")


def _timestamp(entry: _Fields) -> str:
    at = _text(entry, "timestamp")
    try:
        moment(at)
    except ValueError as error:
        raise _NoEventError(Unreadable("no timestamp")) from error
    return at


def _key(entry: _Fields, log_name: str, at: str, *, otherwise: tuple[str, ...]) -> str:
    """What duplicates share and nothing else does. `otherwise` tells entries apart that bear no id of their own."""
    # Parts of a split entry have the part's index appended to insertId; what they share is the uid.
    own = (_text(entry["split"], "uid") if isinstance(entry.get("split"), dict) else "") or _text(entry, "insertId")
    own = own or f"~{'/'.join(otherwise)}"
    if len(own) > _MAX_REASON:
        own = hashlib.sha256(own.encode()).hexdigest()
    return f"{log_name}|{at}|{own}"


def _plain(prefix: str, name: str) -> str:
    """A reason that is a name of the entry's, if it is fit to be one."""
    shown = name if _PLAIN.fullmatch(name) else "unprintable"
    return f"{prefix} {shown}" if prefix else shown


def _project(labels: _Fields, log_name: str) -> str:
    """The project's id. The one in resourceName may be the number (facts: audit logs 0, item 4)."""
    for candidate in (_text(labels, "project_id"), log_name.split("/")[1] if log_name.startswith("projects/") else ""):
        if len(candidate) <= _LONGEST_NAME and _is_project(candidate):
            return candidate
    raise _NoEventError(Unreadable("no project"))


@lru_cache(_CACHED)
def _is_project(name: str) -> bool:
    return _PROJECT.fullmatch(name) is not None


def _place(path: list[str], method: Method, labels: _Fields) -> tuple[str, str | None]:
    """The resource's name, and its zone if it has one: `.../zones/Z/<collection>/<name>`, and what may lie below it.

    Read from the end: projects, zones and VMs may be called `instances`, `zones` or `global` too.
    """
    at = len(path) - 2
    while at >= 0 and path[at] != method.holder:
        at -= 1
    if at < 0 or _NAME.fullmatch(path[at + 1]) is None:
        if method.bulk:
            # The parent of a bulk request names no VM; each VM has an entry of its own.
            raise _NoEventError(Ignored("bulkInsert parent"))
        # A refused call may bear any name; only its absence is a fault of the entry.
        raise _NoEventError(Ignored("unusual resource name") if any(path) else Unreadable("no resourceName"))
    above, location = path[at - 2] if at > 1 else "", path[at - 1] if at else ""
    if above == "regions" or (location == "global" and above != "zones"):
        return path[at + 1], None
    zone = location if above == "zones" else _text(labels, "zone")
    return path[at + 1], zone if _ZONE.fullmatch(zone) else None


def _instance_id(labels: _Fields) -> str | None:
    value = _text(labels, "instance_id")
    return value if _INSTANCE_ID.fullmatch(value) else None


def _phase(operation: _Fields) -> Phase:
    first, last = operation.get("first") is True, operation.get("last") is True
    if first is last:
        return Phase.ONLY
    return Phase.FIRST if first else Phase.LAST


def _failure(payload: _Fields) -> Failure | None:
    status = _object(payload, "status")
    code = status.get("code")
    if isinstance(code, str) and _CODE.fullmatch(code):
        code = int(code)
    if not isinstance(code, int) or isinstance(code, bool) or code == 0 or code not in _CODES:
        return None
    return Failure(code, _text(status, "message")[:_MAX_MESSAGE])
