"""Refusals of a Kubernetes API server, in the words that users of kubectl know.

The texts follow `field.Error.ErrorBody` of k8s.io/apimachinery v0.34 and `openapi/errors` of k8s.io/kube-openapi.
"""

import json
from dataclasses import dataclass
from typing import Any, Final


class SchemaError(Exception):
    """The CustomResourceDefinition itself is wrong: says where, and what an API server would say of it."""


#: Reasons (`details.causes[].reason` of a Status) after which an API server does not run CEL rules at all.
BLOCKING: Final = frozenset(
    {
        "FieldValueNotSupported",
        "FieldValueRequired",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid",
    }
)


@dataclass(frozen=True, slots=True)
class FieldError:
    """One cause of a 422: `details.causes[]` has {field: path, message, reason}."""

    path: str
    message: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


def show(value: Any) -> str:
    """A value as an API server prints it in a refusal."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def invalid(path: str, value: Any, detail: str) -> FieldError:
    """`path: Invalid value: <value>: <detail>`."""
    return FieldError(path, f"Invalid value: {show(value)}: {detail}", "FieldValueInvalid")


def wrong_type(path: str, value: Any, wanted: str) -> FieldError:
    """`path: Invalid value: "string": path in body must be of type integer: "string"`."""
    found = type_name(value)
    detail = f'{path} in body must be of type {wanted}: "{found}"'
    return FieldError(path, f'Invalid value: "{found}": {detail}', "FieldValueTypeInvalid")


def required(path: str) -> FieldError:
    """`path: Required value`."""
    return FieldError(path, "Required value", "FieldValueRequired")


def not_supported(path: str, value: Any, supported: list[Any]) -> FieldError:
    """`path: Unsupported value: <value>: supported values: "A", "B"`."""
    values = ", ".join(json.dumps(v if isinstance(v, str) else show(v)) for v in supported)
    return FieldError(path, f"Unsupported value: {show(value)}: supported values: {values}", "FieldValueNotSupported")


def too_long(path: str, limit: int) -> FieldError:
    """`path: Too long: may not be more than 63 bytes`."""
    unit = "byte" if limit == 1 else "bytes"
    return FieldError(path, f"Too long: may not be more than {limit} {unit}", "FieldValueTooLong")


def too_many(path: str, count: int, limit: int) -> FieldError:
    """`path: Too many: 3: must have at most 1 item`."""
    unit = "item" if limit == 1 else "items"
    return FieldError(path, f"Too many: {count}: must have at most {limit} {unit}", "FieldValueTooMany")


def duplicate(path: str, value: Any) -> FieldError:
    """`path: Duplicate value: <value>`."""
    return FieldError(path, f"Duplicate value: {show(value)}", "FieldValueDuplicate")


def rules_not_checked() -> FieldError:
    """What an API server adds when earlier errors kept it from running the CEL rules."""
    detail = (
        "some validation rules were not checked because the object was invalid; "
        "correct the existing errors to complete validation"
    )
    return FieldError("<nil>", f"Invalid value: null: {detail}", "FieldValueInvalid")


def type_name(value: Any) -> str:
    """The OpenAPI type of a JSON value (bool before int: Python counts True among the integers)."""
    names = ((bool, "boolean"), (str, "string"), (int, "integer"), (float, "number"), (list, "array"), (dict, "object"))
    return next((name for kind, name in names if isinstance(value, kind)), "null")
