"""The part of Kubernetes' object metadata that the operator reads."""

from collections.abc import Mapping

from pydantic import Field

from controller.api.base import ApiModel, Json, Time


class OwnerReference(ApiModel):
    """One owner of an object."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False
    block_owner_deletion: bool = False


class ObjectMeta(ApiModel):
    """Name, identity, and life of an object."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    finalizers: tuple[str, ...] = ()
    labels: Mapping[str, str] = Field(default_factory=dict)
    annotations: Mapping[str, str] = Field(default_factory=dict)
    owner_references: tuple[OwnerReference, ...] = ()

    def to_manifest(self) -> Json:
        """JSON for the Kubernetes API, without what has its default: a new object has no uid yet."""
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True)

    @property
    def deleting(self) -> bool:
        """True once a deletion was asked for."""
        return self.deletion_timestamp is not None

    @property
    def controller_owner(self) -> OwnerReference | None:
        """The owner that manages this object, None for one that was applied on its own."""
        return next((owner for owner in self.owner_references if owner.controller), None)
