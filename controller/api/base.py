"""What all API models share: frozen, camelCase on the wire, lenient to read.

A model must load whatever an older CRD let into etcd, so it checks types only. The rules (enums, lengths, CEL) are
carried by its fields for the CRD, which is where a manifest is refused.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from controller.api.rules import Rule

Json = dict[str, Any]


#: An API server does not hold `format: int32` against a value: the bound must be stated.
INT32: Final[Json] = {"format": "int32", "maximum": 2**31 - 1}


def _whole_seconds(at: datetime) -> datetime:
    if at.tzinfo is None:
        raise ValueError("a time needs its offset from UTC, as 2026-01-31T12:00:00Z")
    return at.astimezone(UTC).replace(microsecond=0)


#: A metav1.Time: UTC, whole seconds (what Kubernetes itself stores).
Time = Annotated[datetime, AfterValidator(_whole_seconds)]


class ApiModel(BaseModel):
    """Base of every model. Unknown fields are ignored: a newer CRD may have stored them."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True, alias_generator=to_camel)

    #: Rules over several fields, for the CRD.
    crd_rules: ClassVar[tuple[Rule, ...]] = ()
    #: True where users may not change a field unless it is marked mutable.
    crd_immutable: ClassVar[bool] = False

    def to_manifest(self) -> Json:
        """JSON for the Kubernetes API: aliases, and no field that is None."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class SpecModel(ApiModel):
    """Base of what users write: immutable in the cluster; an optional list or map that is empty counts as absent."""

    crd_immutable: ClassVar[bool] = True

    def to_manifest(self) -> Json:
        """JSON for the Kubernetes API: aliases, no field that is None, no empty list or map."""
        return without_empty(super().to_manifest())


def without_empty(value: Json) -> Json:
    """The same mapping without empty lists and maps, at any depth of maps."""
    cleaned = {key: without_empty(item) if isinstance(item, dict) else item for key, item in value.items()}
    return {key: item for key, item in cleaned.items() if item not in ({}, [])}


def api_field(
    description: str,
    *,
    value: Any = None,
    alias: str | None = None,
    required: bool = False,
    mutable: bool = False,
    rules: Sequence[Rule] = (),
    **schema: Any,
) -> Any:
    """A field with what the CRD says of it; `schema` holds OpenAPI keywords, `items` those of a list's or map's items.

    `required` is the CRD's word alone. `mutable` marks a field of a spec that may change after creation.
    `value` is what the model takes when the field is not there, required or not (an older CRD may not have had it);
    `default=` is what the API server fills in, and wins over `value`.
    """
    crd: Json = {
        "required": required,
        "mutable": mutable,
        "schema": schema,
        "rules": [rule.to_openapi() for rule in rules],
    }
    return Field(
        default=schema.get("default", value), alias=alias, description=description, json_schema_extra={"crd": crd}
    )
