"""Models read whatever an API server may hold, and write what their CRD takes."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from controller.api.base import ApiModel
from controller.api.resources import (
    RESOURCES,
    InstanceConfig,
    InstanceTemplateSpec,
    ObjectMeta,
    OwnerReference,
    TPUNodeGroup,
    TPUNodeGroupSpec,
    WorkloadPolicy,
    WorkloadPolicySpec,
    parse,
)
from tests.api.good_crs import GOOD_CRS
from tests.api.manifests import changed, make_group
from tests.api.schemas import openapi, refusals, schema_of

Json = dict[str, Any]

_TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8)
_STRINGS = {"date-time": st.just("2026-01-31T12:00:00Z") | st.just("2026-01-31T13:00:00.5+01:00")}


def _instances(schema: Json) -> st.SearchStrategy[Any]:
    """Values of the right types, whether or not they keep the CRD's other rules: an older CRD may have had none."""
    kind = schema["type"]
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if kind == "object" and "additionalProperties" in schema:
        return st.dictionaries(_TEXT, _instances(schema["additionalProperties"]), min_size=1, max_size=2)
    if kind == "object":
        fields = {name: _instances(child) for name, child in schema.get("properties", {}).items()}
        needed = set(schema.get("required", []))
        return st.fixed_dictionaries(
            {name: fields[name] for name in fields if name in needed},
            optional={name: fields[name] for name in fields if name not in needed},
        )
    if kind == "array":
        return st.lists(_instances(schema["items"]), min_size=1, max_size=2)
    if kind == "string":
        return _STRINGS.get(schema.get("format", ""), _TEXT)
    return {"integer": st.integers(0, 2**31 - 1), "boolean": st.booleans()}[kind]


@pytest.mark.parametrize("part", ["spec", "status"])
@pytest.mark.parametrize("kind", sorted(RESOURCES))
@settings(max_examples=40, deadline=None, print_blob=True)
@given(data=st.data())
def test_what_is_written_is_read_back_the_same(kind: str, part: str, data: st.DataObject) -> None:
    value = data.draw(_instances(openapi(kind)["properties"][part]))
    model = parse({"apiVersion": "tpu.google.com/v1alpha1", "kind": kind, "metadata": {"name": "x"}, part: value})
    assert parse(model.to_manifest()) == model
    assert _subset(_plain_times(value), _plain_times(getattr(model, part).to_manifest()))


def _plain_times(value: Any) -> Any:
    """Times in the form in which they are written."""
    if isinstance(value, dict):
        return {key: _plain_times(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain_times(item) for item in value]
    return "2026-01-31T12:00:00Z" if value == "2026-01-31T13:00:00.5+01:00" else value


def _subset(small: Any, big: Any) -> bool:
    """Whether all that was given is there; what was not given may have got its default."""
    if isinstance(small, dict):
        return isinstance(big, dict) and all(key in big and _subset(item, big[key]) for key, item in small.items())
    if isinstance(small, list):
        return isinstance(big, list) and all(_subset(a, b) for a, b in zip(small, big, strict=True))
    return bool(small == big)


@pytest.mark.parametrize("about", GOOD_CRS)
def test_a_manifest_that_went_through_its_model_is_still_accepted(about: str) -> None:
    manifest = GOOD_CRS[about]
    written = parse(manifest).to_manifest()
    defaulted = schema_of(manifest["kind"]).prune_and_default(written)["spec"]
    assert refusals(written) == []
    assert defaulted == schema_of(manifest["kind"]).prune_and_default(manifest)["spec"]


@pytest.mark.parametrize("kind", sorted(RESOURCES))
def test_an_object_without_anything_loads(kind: str) -> None:
    model = parse({"kind": kind})
    assert model == RESOURCES[kind]()


def test_an_object_of_an_older_or_newer_crd_loads() -> None:
    odd = changed(
        make_group(),
        {
            "spec.targetSizePolicyMode": "SOMETIMES",
            "spec.later": {"a": 1},
            "spec.instanceConfig.provisioningModel": "FLEX_START",
            "spec.project": None,
            "metadata.managedFields": [{"manager": "kubectl"}],
        },
    )
    group = TPUNodeGroup.model_validate(odd)
    assert group.spec.instance_config is not None
    assert (group.spec.target_size_policy_mode, group.spec.instance_config.provisioning_model, group.spec.project) == (
        "SOMETIMES",
        "FLEX_START",
        "",
    )


def test_names_on_the_wire_are_those_of_the_reference() -> None:
    spec = TPUNodeGroupSpec.model_validate(
        make_group(
            minNodeCount=1,
            instanceTemplateURI="x",
            instanceConfig__bootDiskSizeGB=100,
            bootstrapKubernetes__controlPlaneEndpoint="a:1",
        )["spec"]
    )
    assert spec.to_manifest() == {
        "project": "my-gcp-project",
        "nodeLocation": "us-central1-c",
        "nodeCount": 2,
        "minNodeCount": 1,
        "acceleratorConnectionMode": "STATIC",
        "topology": "2x2x2",
        "targetSizePolicyMode": "BULK",
        "instanceTemplateURI": "x",
        "instanceConfig": {"machineType": "tpu7x-standard-4t", "bootDiskSizeGB": 100, "subnetwork": "default"},
        "bootstrapKubernetes": {
            "version": "1.31",
            "controlPlaneIP": "10.128.0.2",
            "controlPlanePort": 6443,
            "controlPlaneEndpoint": "a:1",
            "taint": True,
        },
        "recoveryPolicy": "Manual",
    }


def test_a_new_object_is_written_without_what_only_the_cluster_knows() -> None:
    owner = OwnerReference(
        api_version="tpu.google.com/v1alpha1", kind="TPUNodeGroup", name="g", uid="u", controller=True
    )
    policy = WorkloadPolicy(
        metadata=ObjectMeta(name="p", namespace="default", owner_references=(owner,)),
        spec=WorkloadPolicySpec(project="my-gcp-project", region="us-central1", accelerator_topology="2x2x2"),
    )
    assert policy.to_manifest() == {
        "apiVersion": "tpu.google.com/v1alpha1",
        "kind": "WorkloadPolicy",
        "metadata": {
            "name": "p",
            "namespace": "default",
            "ownerReferences": [
                {
                    "apiVersion": "tpu.google.com/v1alpha1",
                    "kind": "TPUNodeGroup",
                    "name": "g",
                    "uid": "u",
                    "controller": True,
                }
            ],
        },
        "spec": {
            "project": "my-gcp-project",
            "region": "us-central1",
            "acceleratorTopology": "2x2x2",
            "type": "HIGH_THROUGHPUT",
        },
    }


def test_models_are_made_by_their_python_names() -> None:
    spec = InstanceTemplateSpec(project="my-gcp-project", machine_type="ct6e-standard-8t", boot_disk_size_gb=50)
    assert spec.to_manifest() == {
        "project": "my-gcp-project",
        "machineType": "ct6e-standard-8t",
        "bootDiskSizeGB": 50,
        "subnetwork": "default",
        "maintenancePolicy": "TERMINATE",
    }


@pytest.mark.parametrize("model", [TPUNodeGroup(), InstanceConfig()], ids=lambda model: type(model).__name__)
def test_models_are_frozen(model: ApiModel) -> None:
    name = next(iter(type(model).model_fields))
    with pytest.raises(ValidationError, match="frozen"):
        setattr(model, name, None)


@pytest.mark.parametrize(
    ("stated", "reservation", "effective"),
    [
        (None, None, "STANDARD"),
        (None, "r", "RESERVATION_BOUND"),
        (None, "", "STANDARD"),
        ("SPOT", None, "SPOT"),
        ("RESERVATION_BOUND", "r", "RESERVATION_BOUND"),
    ],
)
def test_the_provisioning_model_follows_from_the_reservation(
    stated: str | None, reservation: str | None, effective: str
) -> None:
    config = InstanceConfig(machine_type="x", provisioning_model=stated, reservation=reservation)
    assert config.effective_provisioning_model == effective
