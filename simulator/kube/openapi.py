"""`/openapi/v3`: as much as kubectl reads of it, to let the server validate (`fieldValidation`) and to explain.

Strategic merge is not announced in it: kubectl then merges built-in kinds by the tables that it was built with.
"""

from simulator.kube.builtin_schemas import REF, component, components, model_of
from simulator.kube.resources import Registry, Resource
from simulator.seams import Json

#: `/openapi/v2` with nothing in it: kubectl falls back to it for kinds that v3 lacks, and then skips its validation.
EMPTY_V2: Json = {"swagger": "2.0", "info": {"title": "", "version": ""}, "paths": {}, "definitions": {}}
#: The same as gnostic's openapi_v2.Document, the only form that kubectl reads: field 1 is `swagger`, 2 `info`.
EMPTY_V2_PROTOBUF = b"\x0a\x032.0\x12\x00"
_METADATA_MODEL = "V1ObjectMeta"
_PARAMETERS = [
    {"name": name, "in": "query", "schema": {"type": kind, "uniqueItems": True}}
    for name, kind in (
        ("dryRun", "string"),
        ("fieldManager", "string"),
        ("fieldValidation", "string"),
        ("force", "boolean"),
    )
]


def index(registry: Registry) -> Json:
    """The documents that there are, one per group and version."""
    places = sorted({_place(resource) for resource in registry})
    hash_of_all = registry.generation
    return {"paths": {place: {"serverRelativeURL": f"/openapi/v3/{place}?hash={hash_of_all}"} for place in places}}


def document(registry: Registry, place: str) -> Json | None:
    """The document of `api/v1` or `apis/<group>/<version>`; None if nothing is served there."""
    resources = [resource for resource in registry if _place(resource) == place]
    if not resources:
        return None
    schemas: Json = {}
    paths: Json = {}
    for resource in resources:
        schemas.update(_schemas(resource))
        paths.update(_paths(resource))
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "unversioned"},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def _place(resource: Resource) -> str:
    return f"apis/{resource.api_version}" if resource.group else f"api/{resource.version}"


def _gvk(resource: Resource) -> Json:
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}


def _name(resource: Resource) -> str:
    if not resource.custom:
        return component(model_of(resource))
    return ".".join([*reversed(resource.group.split(".")), resource.version, resource.kind])


def _schemas(resource: Resource) -> Json:
    if not resource.custom:
        model = model_of(resource)
        known = components(model)
        name = component(model)
        return {**known, name: {**known[name], "x-kubernetes-group-version-kind": [_gvk(resource)]}}
    own = {
        "apiVersion": {"type": "string", "description": "The version of the API that the object is in."},
        "kind": {"type": "string", "description": "The kind of the object."},
        "metadata": {"allOf": [{"$ref": REF + component(_METADATA_MODEL)}], "description": "Standard object metadata."},
    }
    schema = {
        **resource.openapi,
        "properties": {**resource.openapi.get("properties", {}), **own},
        "x-kubernetes-group-version-kind": [_gvk(resource)],
    }
    return {**components(_METADATA_MODEL), _name(resource): schema}


def _paths(resource: Resource) -> Json:
    scope = "/namespaces/{namespace}" if resource.namespaced else ""
    content = {"application/json": {"schema": {"$ref": REF + _name(resource)}}}
    operation: Json = {
        "responses": {"200": {"description": "OK", "content": content}},
        "x-kubernetes-group-version-kind": _gvk(resource),
    }
    collection = f"/{_place(resource)}{scope}/{resource.plural}"
    if "patch" not in resource.verbs:
        return {collection: {"post": {**operation, "parameters": _PARAMETERS}}}
    patch_content: Json = {
        "application/apply-patch+yaml": {},
        "application/json-patch+json": {},
        "application/merge-patch+json": {},
    }
    patch = {**operation, "parameters": _PARAMETERS, "requestBody": {"content": patch_content}}
    return {
        collection: {"get": operation, "post": {**operation, "parameters": _PARAMETERS}},
        f"{collection}/{{name}}": {"get": operation, "patch": patch},
    }
