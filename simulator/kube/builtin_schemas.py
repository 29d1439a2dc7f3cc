"""The schemas of the built-in kinds, read from the models of the `kubernetes` client (generated from Kubernetes' own
OpenAPI document), one kind at a time and only when somebody asks.

Used to tell unknown fields, to refuse a map where a list belongs and the like, and to explain. Beyond that, values of
built-in kinds are not validated.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from simulator.kube.resources import Resource
from simulator.seams import Json

REF = "#/components/schemas/"
_PREFIX = "io.k8s.api."
#: Models whose name is not V1 + kind.
_MODELS = {("", "Event"): "CoreV1Event", ("events.k8s.io", "Event"): "EventsV1Event"}
#: Models that stand for any JSON, or that allow more fields than they name.
_OPEN = frozenset({"V1JSONSchemaProps", "V1FieldsV1"})


def model_of(resource: Resource) -> str:
    """The client's model of a built-in kind."""
    return _MODELS.get((resource.group, resource.kind), f"V1{resource.kind}")


def component(model: str) -> str:
    """The name of a model among the components of an OpenAPI document."""
    return _PREFIX + (model.removeprefix("V1") or model)


@lru_cache(maxsize=64)
def components(model: str) -> Json:
    """The OpenAPI schema of a model and of all that it refers to, by component name."""
    # Imported here: a simulator that nobody asks for schemas need not pay for the client's models.
    from kubernetes.aio import client  # noqa: PLC0415

    schema = getattr(client, model).model_json_schema(by_alias=True, ref_template=REF + "{model}")
    found = {**schema.pop("$defs", {}), model: schema}
    return {component(name): {"type": "object"} if name in _OPEN else _converted(item) for name, item in found.items()}


def _converted(schema: Any) -> Any:
    """A JSON schema of pydantic as OpenAPI has it: no nulls, no titles, no attribute lists in descriptions."""
    if not isinstance(schema, dict):
        return schema
    alternatives = [item for item in schema.get("anyOf", ()) if item != {"type": "null"}]
    if alternatives:
        schema = {**{key: value for key, value in schema.items() if key != "anyOf"}, **alternatives[0]}
    result: Json = {}
    for key, value in schema.items():
        if key == "description":
            result[key] = value.partition("\n\nAttributes:")[0]
        elif key == "properties":
            result[key] = {name: _converted(item) for name, item in value.items()}
        elif key == "items" or (key == "additionalProperties" and isinstance(value, dict)):
            result[key] = _converted(value)
        elif key == "$ref":
            result["allOf"] = [{"$ref": REF + component(value.removeprefix(REF))}]
        elif key in {"type", "format", "required", "enum"}:
            result[key] = value
    return result


def unknown_builtin_fields(resource: Resource, body: Json) -> Iterator[str]:
    """The paths in a built-in object that its kind does not have. Metadata is looked at elsewhere."""
    model = model_of(resource)
    known = components(model)
    rest = {key: value for key, value in body.items() if key != "metadata"}
    yield from _unknown(rest, known[component(model)], known, "")


def _unknown(value: Any, schema: Json, known: Json, path: str) -> Iterator[str]:
    for part in schema.get("allOf", ()):
        schema = known[part["$ref"].removeprefix(REF)]
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unknown(item, schema.get("items", {}), known, f"{path}[{index}]")
    if not isinstance(value, dict) or not (schema.get("properties") or schema.get("additionalProperties")):
        return
    properties, rest = schema.get("properties", {}), schema.get("additionalProperties")
    for key, item in value.items():
        here = f"{path}.{key}" if path else key
        if key in properties:
            yield from _unknown(item, properties[key], known, here)
        elif rest is None:
            yield here
        else:
            yield from _unknown(item, rest, known, here)


def misshapen(resource: Resource, body: Json) -> str | None:
    """What a decoder of the kind would say of the first value that is no map, list or plain value where it must be."""
    model = model_of(resource)
    known = components(model)
    return _misshapen(body, known[component(model)], known, "")


_SHAPES: dict[str, type] = {"object": dict, "array": list}


def _misshapen(value: Any, schema: Json, known: Json, path: str) -> str | None:
    for part in schema.get("allOf", ()):
        schema = known[part["$ref"].removeprefix(REF)]
    wanted = _SHAPES.get(schema.get("type", ""))
    if value is None or "type" not in schema:
        return None
    if not isinstance(value, wanted) if wanted else isinstance(value, (dict, list)):
        found = "object" if isinstance(value, dict) else "array" if isinstance(value, list) else "value"
        return f"json: cannot unmarshal {found} into field {path} of type {schema['type']}"
    if isinstance(value, list):
        parts = ((f"{path}[{index}]", item, schema.get("items", {})) for index, item in enumerate(value))
    elif isinstance(value, dict):
        properties, rest = schema.get("properties", {}), schema.get("additionalProperties", {})
        parts = ((f"{path}.{key}".lstrip("."), item, properties.get(key, rest)) for key, item in value.items())
    else:
        return None
    return next(filter(None, (_misshapen(item, inner, known, where) for where, item, inner in parts)), None)
