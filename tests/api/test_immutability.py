"""Every field of every spec stays as it was created, but for the two that may change."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.manifests import changed, make_brought_group, make_group, make_mig, make_policy, make_template
from tests.api.schemas import openapi, refusals

Json = dict[str, Any]

#: The fields of an instance configuration, each with two values.
_INSTANCE: dict[str, tuple[Any, Any]] = {
    "machineType": ("tpu7x-standard-4t", "tpu7x-ultranet-4t"),
    "provisioningModel": ("STANDARD", "SPOT"),
    "reservation": ("", "r"),
    "image": ("a", "b"),
    "bootDiskSizeGB": (100, 200),
    "diskType": ("a", "b"),
    "subnetwork": ("a", "b"),
    "serviceAccounts": ([], [{"email": "a", "scopes": []}]),
    "networkTags": (["a"], ["a", "b"]),
    "metadata": ({"a": "b"}, {"a": "c"}),
}
_GROUP: dict[str, tuple[Any, Any]] = {
    "project": ("my-gcp-project", "my-gcp-project2"),
    "nodeLocation": ("us-central1-c", "us-central1-b"),
    "nodeCount": (2, 4),
    "minNodeCount": (0, 1),
    "topology": ("2x2x2", "2x2x4"),
    "targetSizePolicyMode": ("BULK", "INDIVIDUAL"),
    "bootstrapKubernetes.version": ("1.31", "1.32"),
    "bootstrapKubernetes.controlPlaneIP": ("10.0.0.2", "10.0.0.3"),
    "bootstrapKubernetes.controlPlanePort": (6443, 443),
    "bootstrapKubernetes.controlPlaneEndpoint": ("a:1", "b:1"),
} | {f"instanceConfig.{name}": values for name, values in _INSTANCE.items()}
_TEMPLATE_URI = "projects/my-gcp-project/global/instanceTemplates/"
_POLICY: dict[str, tuple[Any, Any]] = {
    "project": ("my-gcp-project", "my-gcp-project2"),
    "region": ("us-central1", "us-east1"),
    "acceleratorTopology": ("2x2x2", "2x2x4"),
}
_TEMPLATE: dict[str, tuple[Any, Any]] = {
    "project": ("my-gcp-project", "my-gcp-project2"),
    "bootDisk.autoDelete": (True, False),
    **_INSTANCE,
}
_MIG: dict[str, tuple[Any, Any]] = {
    "project": ("my-gcp-project", "my-gcp-project2"),
    "location": ("us-central1-c", "us-central1-b"),
    "instanceTemplate": (f"{_TEMPLATE_URI}a", f"{_TEMPLATE_URI}b"),
    "targetSize": (2, 3),
    "targetSizePolicyMode": ("BULK", "INDIVIDUAL"),
    "workloadPolicy": ("regions/r/resourcePolicies/a", "regions/r/resourcePolicies/b"),
    "defaultActionOnFailure": ("DO_NOTHING", "REPAIR"),
}
_KINDS = (
    (make_group(), _GROUP),
    (make_brought_group(), {"instanceTemplateURI": (f"{_TEMPLATE_URI}a", f"{_TEMPLATE_URI}b")}),
    (make_policy(), _POLICY),
    (make_template(), _TEMPLATE),
    (make_mig(), _MIG),
)
#: Fields with one legal value, which cannot be changed to another one, and objects, which are only added or removed.
_FIXED = {"acceleratorConnectionMode", "type", "maintenancePolicy"}
_OBJECTS = {"instanceConfig", "bootstrapKubernetes", "bootDisk"}


def _fields() -> Iterator[Any]:
    for manifest, table in _KINDS:
        for path, values in table.items():
            yield pytest.param(manifest, f"spec.{path}", *values, id=f"{manifest['kind']}.{path}")


def _is_fixed(path: str) -> str:
    field = path.rpartition(".")[2]
    return f'{path}: Invalid value: "object": {field} cannot be changed: delete the object and create it anew'


@pytest.mark.parametrize(("manifest", "path", "before", "after"), list(_fields()))
def test_a_field_may_not_change(manifest: Json, path: str, before: object, after: object) -> None:
    stored, written = changed(manifest, {path: before}), changed(manifest, {path: after})
    assert _is_fixed(path) in refusals(written, stored)


def _optional_fields() -> Iterator[Any]:
    """Fields that a manifest may leave out, with a value that is not the default."""
    for manifest, table in _KINDS:
        for path, (_, value) in table.items():
            if _required(manifest, path):
                continue
            yield pytest.param(manifest, f"spec.{path}", value, id=f"{manifest['kind']}.{path}")


def _required(manifest: Json, path: str) -> bool:
    schema = openapi(manifest["kind"])["properties"]["spec"]
    *parents, last = path.split(".")
    for name in parents:
        schema = schema["properties"][name]
    return last in schema.get("required", []) or last == "instanceTemplateURI"


@pytest.mark.parametrize(("manifest", "path", "value"), list(_optional_fields()))
def test_an_optional_field_may_be_neither_added_nor_removed(manifest: Json, path: str, value: object) -> None:
    without, given = changed(manifest, {path: None}), changed(manifest, {path: value})
    assert _is_fixed(path) in refusals(given, without)
    assert _is_fixed(path) in refusals(without, given)


def changes_that_are_refused() -> Iterator[tuple[str, Json, Json]]:
    """(path, what is stored, what is written) of every change above."""
    for parameters in _fields():
        manifest, path, before, after = parameters.values
        yield path, changed(manifest, {path: before}), changed(manifest, {path: after})
    for parameters in _optional_fields():
        manifest, path, value = parameters.values
        without, given = changed(manifest, {path: None}), changed(manifest, {path: value})
        yield path, without, given
        yield path, given, without


@pytest.mark.parametrize("name", sorted(_OBJECTS))
def test_an_object_may_not_be_added_or_removed(name: str) -> None:
    without = changed(make_template() if name == "bootDisk" else make_group(), {f"spec.{name}": None})
    given = changed(make_template() if name == "bootDisk" else make_group(), {"spec.bootDisk": {}})
    given = given if name == "bootDisk" else make_group()
    assert _is_fixed(f"spec.{name}") in refusals(without, given)
    assert _is_fixed(f"spec.{name}") in refusals(given, without)


def _immutable(schema: Json, path: str = "") -> Iterator[str]:
    for rule in schema.get("x-kubernetes-validations", []):
        if "cannot be changed" in rule["message"]:
            yield f"{path}{rule['fieldPath']}".strip(".")
    for name, child in schema.get("properties", {}).items():
        yield from _immutable(child, f"{path}.{name}")


@pytest.mark.parametrize("kind", ["TPUNodeGroup", "WorkloadPolicy", "InstanceTemplate", "ManagedInstanceGroup"])
def test_every_rule_of_immutability_is_tried_above(kind: str) -> None:
    rules = set(_immutable(openapi(kind)["properties"]["spec"]))
    tried = {path for manifest, table in _KINDS if manifest["kind"] == kind for path in table}
    assert rules - _FIXED - _OBJECTS == tried
