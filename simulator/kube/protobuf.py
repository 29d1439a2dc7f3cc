"""The few protobuf messages that kubectl's typed commands send (`create namespace`, `create secret`, ...), read into
JSON objects.

Kubernetes wraps an object as the bytes "k8s" and zero + runtime.Unknown{typeMeta, raw}. Field numbers are those of the
generated.proto files in k8s.io/api and k8s.io/apimachinery. Only reading: answers are JSON, which typed clients accept.
"""

import base64
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from simulator.clock import kube_time
from simulator.kube.errors import bad_request, unsupported_media
from simulator.seams import Json

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"
#: A field's wire value (an integer, or bytes) as JSON.
Reader = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message: its JSON name, how to read it, and whether it repeats or is a map."""

    name: str
    read: Reader
    repeated: bool = False
    mapped: bool = False


Message = Mapping[int, Field]


def decode(data: bytes) -> Json:
    """The object in an envelope. Raises ApiError 400 if it cannot be read, 415 for a kind that is not known here."""
    if not data.startswith(_MAGIC):
        raise bad_request("the body is no Kubernetes protobuf: its prefix is missing")
    try:
        envelope = _message(_UNKNOWN)(data[len(_MAGIC) :])
        api_version, kind = envelope["typeMeta"]["apiVersion"], envelope["typeMeta"]["kind"]
        message = _KINDS.get((api_version, kind)) or _ANY_GROUP.get(kind)
        if message is None:
            raise unsupported_media(f"{kind} ({api_version}) is not understood as protobuf here; send it as JSON")
        return {"apiVersion": api_version, "kind": kind, **_message(message)(envelope["raw"])}
    except (KeyError, IndexError, ValueError) as broken:
        raise bad_request(f"the protobuf body cannot be read: {broken!r}") from broken


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a message: number, and an integer or bytes."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = _varint(data, at)
            yield number, value
        elif wire == 2:
            length, at = _varint(data, at)
            if at + length > len(data):
                raise ValueError("a field is longer than the message")
            yield number, data[at : at + length]
            at += length
        elif wire in {1, 5}:
            width = 8 if wire == 1 else 4
            yield number, data[at : at + width]
            at += width
        else:
            raise ValueError(f"wire type {wire}")


def _message(fields: Message) -> Reader:
    def read(data: bytes) -> Json:
        result: Json = {}
        for number, raw in _fields(data):
            field = fields.get(number)
            if field is None:
                continue
            value = field.read(raw)
            if field.mapped:
                result.setdefault(field.name, {})[value["key"]] = value.get("value", "")
            elif field.repeated:
                result.setdefault(field.name, []).append(value)
            elif value not in ("", None):
                result[field.name] = value
        return result

    return read


def _text(data: bytes) -> str:
    return data.decode()


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def _time(data: bytes) -> str | None:
    seconds = _message({1: Field("seconds", _signed)})(data).get("seconds")
    # The zero time of Go: a client that never set it sends it all the same.
    if not seconds or seconds < 0:
        return None
    return kube_time(datetime.fromtimestamp(seconds, UTC))


def _map_of(value: Reader) -> Reader:
    return _message({1: Field("key", _text), 2: Field("value", value)})


_OWNER: Message = {
    1: Field("kind", _text),
    3: Field("name", _text),
    4: Field("uid", _text),
    5: Field("apiVersion", _text),
    6: Field("controller", bool),
    7: Field("blockOwnerDeletion", bool),
}
_METADATA: Message = {
    1: Field("name", _text),
    2: Field("generateName", _text),
    3: Field("namespace", _text),
    5: Field("uid", _text),
    6: Field("resourceVersion", _text),
    8: Field("creationTimestamp", _time),
    11: Field("labels", _map_of(_text), mapped=True),
    12: Field("annotations", _map_of(_text), mapped=True),
    13: Field("ownerReferences", _message(_OWNER), repeated=True),
    14: Field("finalizers", _text, repeated=True),
}
_OBJECT = Field("metadata", _message(_METADATA))
_PRECONDITIONS: Message = {1: Field("uid", _text), 2: Field("resourceVersion", _text)}
_UNKNOWN: Message = {
    1: Field("typeMeta", _message({1: Field("apiVersion", _text), 2: Field("kind", _text)})),
    2: Field("raw", bytes),
}
_NAMESPACE: Message = {1: _OBJECT}
_SECRET: Message = {
    1: _OBJECT,
    2: Field("data", _map_of(_base64), mapped=True),
    3: Field("type", _text),
    4: Field("stringData", _map_of(_text), mapped=True),
    5: Field("immutable", bool),
}
_CONFIG_MAP: Message = {
    1: _OBJECT,
    2: Field("data", _map_of(_text), mapped=True),
    3: Field("binaryData", _map_of(_base64), mapped=True),
    4: Field("immutable", bool),
}
_SERVICE_ACCOUNT: Message = {1: _OBJECT}
_RESOURCE_ATTRIBUTES: Message = {
    number: Field(name, _text)
    for number, name in enumerate(("namespace", "verb", "group", "version", "resource", "subresource", "name"), start=1)
}
_ACCESS_SPEC: Message = {
    1: Field("resourceAttributes", _message(_RESOURCE_ATTRIBUTES)),
    2: Field("nonResourceAttributes", _message({1: Field("path", _text), 2: Field("verb", _text)})),
}
_ACCESS_REVIEW: Message = {1: _OBJECT, 2: Field("spec", _message(_ACCESS_SPEC))}
_DELETE_OPTIONS: Message = {
    1: Field("gracePeriodSeconds", _signed),
    2: Field("preconditions", _message(_PRECONDITIONS)),
    3: Field("orphanDependents", bool),
    4: Field("propagationPolicy", _text),
    5: Field("dryRun", _text, repeated=True),
}
_KINDS: Mapping[tuple[str, str], Message] = {
    ("v1", "Namespace"): _NAMESPACE,
    ("v1", "Secret"): _SECRET,
    ("v1", "ConfigMap"): _CONFIG_MAP,
    ("v1", "ServiceAccount"): _SERVICE_ACCOUNT,
    ("authorization.k8s.io/v1", "SelfSubjectAccessReview"): _ACCESS_REVIEW,
}
#: Delete options name the group that they are sent to.
_ANY_GROUP: Mapping[str, Message] = {"DeleteOptions": _DELETE_OPTIONS}
