"""What the four kinds share: the frame of an object, and the status of a child."""

from typing import Any, ClassVar

from pydantic import Field

from controller.api.base import ApiModel, Json, api_field
from controller.api.conditions import Condition
from controller.api.constants import API_VERSION
from controller.api.metadata import ObjectMeta


def conditions_field() -> Any:
    """The field `conditions` of a status: a list with one entry for each type."""
    by_type: Json = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}
    return api_field("What is known of the object, by aspect.", value=(), maxItems=32, **by_type)


class Resource(ApiModel):
    """An object of one of our kinds. Each kind has a `spec` and a `status` of its own."""

    KIND: ClassVar[str]

    metadata: ObjectMeta = Field(default_factory=ObjectMeta)
    spec: ApiModel = Field(default_factory=ApiModel)
    status: ApiModel = Field(default_factory=ApiModel)

    def to_manifest(self) -> Json:
        """The whole object as JSON, with apiVersion and kind; without a status that nobody has written."""
        parts: dict[str, ApiModel] = dict(self)
        if self.status == type(self.status)():
            del parts["status"]
        return {
            "apiVersion": API_VERSION,
            "kind": self.KIND,
            **{name: part.to_manifest() for name, part in parts.items()},
        }


class ChildStatus(ApiModel):
    """Status of a WorkloadPolicy, InstanceTemplate or ManagedInstanceGroup. Each adds the URL of its GCE resource."""

    conditions: tuple[Condition, ...] = conditions_field()
    operation_name: str | None = api_field("The GCE operation that is awaited.", maxLength=256)
    operation_type: str | None = api_field(
        "What that operation does: CREATE or DELETE.", maxLength=16, enum=["CREATE", "DELETE"]
    )
    request_id: str | None = api_field("Idempotency key of the request whose outcome is not known yet.", maxLength=64)
    resource_id: str | None = api_field(
        "Numeric id of the GCE resource: tells it from a later one of the same name.", maxLength=32
    )
    adopted: bool | None = api_field("True when the GCE resource was there before and was taken over.")
    observed_generation: int = api_field(
        "Generation of the spec that was acted on.", value=0, format="int64", minimum=0
    )
