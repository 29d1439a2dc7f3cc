"""What a body must be before it is stored: the object that the path names, in its type's schema, with sound metadata.

Nothing is stored here. Refusals are worded as a kube-apiserver words them; unknown fields are dropped, and told
according to `fieldValidation`.
"""

import re
from collections.abc import Iterable
from typing import Any

from simulator.kube import errors
from simulator.kube.builtin_schemas import misshapen, unknown_builtin_fields
from simulator.kube.calls import Call, Target
from simulator.kube.errors import Cause
from simulator.kube.names import METADATA_FIELDS, metadata_errors, metadata_misshapen
from simulator.kube.resources import Resource
from simulator.seams import Json


def identified(target: Target, body: Any) -> Json:
    """The body with the identity that the path gives it. Raises ApiError 400 where the two disagree."""
    resource = target.resource
    if not isinstance(body, dict):
        raise errors.bad_request("the body is not an object")
    metadata = body.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise errors.bad_request("metadata is not an object")
    api_version, kind = body.get("apiVersion"), body.get("kind")
    if api_version not in {None, "", resource.api_version}:
        why = f"the API version in the data ({api_version}) does not match the expected API version"
        raise errors.bad_request(f"{why} ({resource.api_version})")
    if kind not in {None, "", resource.kind}:
        raise errors.bad_request(f"the kind in the data ({kind}) does not match the expected kind ({resource.kind})")
    if target.name is not None and metadata.get("name") not in {None, "", target.name}:
        why = f"the name of the object ({metadata['name']}) does not match the name on the URL ({target.name})"
        raise errors.bad_request(why)
    placed = {**metadata, "name": target.name} if target.name is not None else dict(metadata)
    if target.namespace is not None:
        if placed.get("namespace") not in {None, "", target.namespace}:
            why = "the namespace of the provided object does not match the namespace sent on the request"
            raise errors.bad_request(why)
        placed["namespace"] = target.namespace
    whole: Json = {**body, "apiVersion": resource.api_version, "kind": resource.kind, "metadata": placed}
    _refuse_misshapen(resource, whole)
    return whole


def _refuse_misshapen(resource: Resource, body: Json) -> None:
    """What Go could not decode: 400."""
    wrong = metadata_misshapen(body["metadata"])
    if wrong is None and not resource.custom:
        wrong = misshapen(resource, body)
    if wrong is not None:
        kind, version = resource.kind, resource.version
        raise errors.bad_request(f'{kind} in version "{version}" cannot be handled as a {kind}: {wrong}')


def unknown_fields(resource: Resource, body: Json) -> list[str]:
    """The paths of fields that the type does not have."""
    found = [f"metadata.{key}" for key in body["metadata"] if key not in METADATA_FIELDS]
    if resource.schema is not None:
        return [*found, *resource.schema.unknown_fields(body)]
    return [*found, *unknown_builtin_fields(resource, body)] if not resource.custom else found


def tell_unknown(call: Call, body: Json, *, patch: str | None = None) -> list[str]:
    """The warnings about unknown fields; ApiError 400 (422 of a patch) if the client asked to be strict."""
    wish = call.query.get("fieldValidation", "Warn")
    if wish == "Ignore":
        return []
    resource = call.target.resource
    said = [f'unknown field "{path}"' for path in unknown_fields(resource, body)]
    if not said or wish != "Strict":
        return said
    strict = f"strict decoding error: {', '.join(said)}"
    if patch is None:
        kind, version = resource.kind, resource.version
        raise errors.bad_request(f'{kind} in version "{version}" cannot be handled as a {kind}: {strict}')
    cause = Cause("patch", "FieldValueInvalid", f"Invalid value: {patch}: {strict}")
    raise errors.invalid(resource.group, resource.kind, call.target.name or "", [cause])


def pruned(resource: Resource, body: Json) -> Json:
    """The body without unknown fields and with its defaults."""
    metadata = {key: value for key, value in body["metadata"].items() if key in METADATA_FIELDS}
    body = {**body, "metadata": metadata}
    if resource.on_write is not None:
        body = resource.on_write(body)
    return body if resource.schema is None else resource.schema.prune_and_default(body)


def check(resource: Resource, new: Json, old: Json | None) -> None:
    """Refuse (ApiError 422) an object that breaks its schema, its rules or those of metadata."""
    causes = list(metadata_errors(resource, new))
    if resource.schema is not None:
        causes += [Cause(item.path, item.reason, item.message) for item in resource.schema.validate(new, old)]
    if resource.check is not None:
        causes += resource.check(new, old)
    refuse(resource, new, causes)


def refuse(resource: Resource, body: Json, causes: Iterable[Cause]) -> None:
    """Raise ApiError 422 if there are causes."""
    found = list(causes)
    if found:
        name = body["metadata"].get("name") or body["metadata"].get("generateName", "")
        raise errors.invalid(resource.group, resource.kind, name, found)


def manager_of(call: Call) -> str:
    """The field manager: as the client names it, else the first part of its User-Agent."""
    named = call.query.get("fieldManager")
    return named or re.split(r"[/\s]", call.headers.get("User-Agent", "") or "unknown", maxsplit=1)[0]
