"""Bodies in and out: which form a request has, and which form of the answer its client asked for."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import yaml

from simulator.kube import protobuf, tables
from simulator.kube.errors import ApiError, bad_request, unsupported_media
from simulator.kube.history import Stored, encode
from simulator.kube.resources import Resource
from simulator.seams import Json

Form = Literal["Object", "Table", "PartialObjectMetadata"]
_YAML = frozenset({"application/yaml", "application/apply-patch+yaml"})
_INCLUDES: dict[str, tables.IncludeObject] = {"None": "None", "Metadata": "Metadata", "Object": "Object"}


def read_body(data: bytes, content_type: str) -> Any:
    """The value of a request body. Raises ApiError 400 or 415."""
    media = content_type.partition(";")[0].strip()
    if media == protobuf.MEDIA_TYPE:
        return protobuf.decode(data)
    if media and not media.endswith("json") and media not in _YAML:
        raise unsupported_media(
            f"the body of the request was in an unknown format - accepted media types include: {media}"
        )
    try:
        return json.loads(data)
    except ValueError as broken:
        if media not in _YAML:
            raise bad_request(f"the object provided is unrecognized (must be of type Status): {broken}") from broken
    try:
        return yaml.load(data, Loader=_JsonLoader)  # noqa: S506 - a SafeLoader
    except yaml.YAMLError as broken:
        raise bad_request(f"error decoding YAML: {broken}") from broken


class _JsonLoader(yaml.SafeLoader):
    """YAML with the types of JSON: what looks like a time stays text."""


_JsonLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


@dataclass(frozen=True, slots=True)
class Answer:
    """The form in which a client wants objects."""

    form: Form = "Object"
    include: tables.IncludeObject = "Metadata"


def wanted(accept: str, query: Mapping[str, str]) -> Answer:
    """The first form in an Accept header that is known here; objects as JSON if it does not say. ApiError 406."""
    if not accept or "*/*" in accept:
        return Answer()
    for part in accept.split(","):
        media, *parameters = (item.strip() for item in part.split(";"))
        named = dict(item.split("=", 1) for item in parameters if "=" in item)
        form = named.get("as", "").removesuffix("List") or "Object"
        if media not in {"application/json", "application/*"}:
            continue
        if form == "Table":
            return Answer("Table", _INCLUDES.get(query.get("includeObject", ""), "Metadata"))
        if form == "PartialObjectMetadata":
            return Answer("PartialObjectMetadata")
        if form == "Object":
            return Answer()
    message = "only the following media types are accepted: application/json"
    raise ApiError(406, "NotAcceptable", message)


def served(resource: Resource, stored: Stored) -> Json:
    """An object as one version of its resource shows it."""
    body = stored.body
    if resource.to_wire is not None:
        return resource.to_wire(body)
    return body if body["apiVersion"] == resource.api_version else {**body, "apiVersion": resource.api_version}


def one(resource: Resource, stored: Stored, answer: Answer, now: datetime) -> bytes:
    """The answer of one object."""
    if answer.form == "Object":
        body = served(resource, stored)
        return stored.encoded() if body is stored.body else encode(body)
    if answer.form == "PartialObjectMetadata":
        return encode(tables.partial(stored.body))
    metadata = {"resourceVersion": str(stored.revision)}
    return encode(tables.table(resource, [_row_of(resource, stored)], now, metadata=metadata, include=answer.include))


def many(resource: Resource, items: list[Stored], metadata: Json, answer: Answer, now: datetime) -> bytes:
    """The answer of a list. Objects are not encoded again if they were before."""
    if answer.form == "Table":
        rows = [_row_of(resource, item) for item in items]
        return encode(tables.table(resource, rows, now, metadata=metadata, include=answer.include))
    if answer.form == "PartialObjectMetadata":
        kind, api_version = "PartialObjectMetadataList", "meta.k8s.io/v1"
        parts = [encode(tables.partial(item.body)) for item in items]
    else:
        kind, api_version = resource.list_kind or f"{resource.kind}List", resource.api_version
        parts = [one(resource, item, answer, now) for item in items]
    head = encode({"kind": kind, "apiVersion": api_version, "metadata": metadata})
    return head[:-1] + b',"items":[' + b",".join(parts) + b"]}"


def _row_of(resource: Resource, stored: Stored) -> Json:
    """What a table's columns read: the columns of Events are written for their stored form."""
    return stored.body if resource.to_wire is not None else served(resource, stored)
