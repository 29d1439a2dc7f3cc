"""From a model to the structural schema of a CRD: types from annotations, the rest from what the fields carry."""

from collections.abc import Mapping
from datetime import datetime
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from controller.api.base import ApiModel, Json
from controller.api.rules import immutable

_SCALARS: Mapping[type, Json] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    datetime: {"type": "string", "format": "date-time"},
}


def object_schema(model: type[ApiModel]) -> Json:
    """The schema of a model: fields in their order, then what is required, then the rules."""
    properties: Json = {}
    required: list[str] = []
    rules = [rule.to_openapi() for rule in model.crd_rules]
    for name, info in model.model_fields.items():
        wire = info.alias or name
        crd = _crd(info)
        properties[wire] = _field_schema(info, crd)
        if crd["required"]:
            required.append(wire)
        if model.crd_immutable and not crd["mutable"]:
            rule = immutable(wire, required=crd["required"], nested=_nested(info.annotation) is not None)
            rules.append(rule.to_openapi())
    schema: Json = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    if rules:
        schema["x-kubernetes-validations"] = rules
    return schema


def _crd(info: FieldInfo) -> Json:
    extra = info.json_schema_extra
    if not isinstance(extra, dict) or "crd" not in extra:
        raise TypeError(f"the field with alias {info.alias!r} was not made by api_field")
    return extra["crd"]  # type: ignore[return-value]


def _field_schema(info: FieldInfo, crd: Json) -> Json:
    schema: Json = {"description": info.description, **_type_schema(info.annotation)}
    for keyword, value in crd["schema"].items():
        if keyword == "items":
            schema["additionalProperties" if "additionalProperties" in schema else "items"] |= value
        else:
            schema[keyword] = value
    if crd["rules"]:
        schema["x-kubernetes-validations"] = [*schema.get("x-kubernetes-validations", []), *crd["rules"]]
    return schema


def _type_schema(annotation: Any) -> Json:
    annotation = _without_none(annotation)
    if annotation in _SCALARS:
        return dict(_SCALARS[annotation])
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is tuple:
        return {"type": "array", "items": _type_schema(arguments[0])}
    if origin is Mapping:
        return {"type": "object", "additionalProperties": _type_schema(arguments[1])}
    if origin is Literal:
        return {"type": "string"}
    return object_schema(annotation)


def _nested(annotation: Any) -> type[ApiModel] | None:
    inner = _without_none(annotation)
    return inner if isinstance(inner, type) and issubclass(inner, ApiModel) else None


def _without_none(annotation: Any) -> Any:
    """The type itself, without Optional and without Annotated (pydantic keeps an Annotated inside a union)."""
    if get_origin(annotation) in {Union, UnionType}:
        annotation = next(part for part in get_args(annotation) if part is not NoneType)
    return getattr(annotation, "__origin__", annotation) if hasattr(annotation, "__metadata__") else annotation
