"""The CRDs' schemas, compiled once for all tests of this folder."""

from functools import cache
from typing import Any

from controller.api.crd import crd_manifests
from simulator.kube.schema import StructuralSchema

Json = dict[str, Any]


@cache
def openapi(kind: str) -> Json:
    """The openAPIV3Schema of a kind."""
    manifest = next(m for m in crd_manifests() if m["spec"]["names"]["kind"] == kind)
    schema: Json = manifest["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


@cache
def schema_of(kind: str) -> StructuralSchema:
    """The compiled schema of a kind."""
    return StructuralSchema(openapi(kind))


def refusals(manifest: Json, stored: Json | None = None) -> list[str]:
    """What an API server says of a write, after pruning and defaulting; [] when it takes it."""
    schema = schema_of(manifest["kind"])
    old = schema.prune_and_default(stored) if stored is not None else None
    return [str(error) for error in schema.validate(schema.prune_and_default(manifest), old)]
