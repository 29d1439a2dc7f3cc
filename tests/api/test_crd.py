"""The CRDs in deploy/ are those of the models, and are fit for an API server."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.api.crd import crd_files, crd_manifests, crds_yaml, write_crds
from tests.api.schemas import openapi

Json = dict[str, Any]

DEPLOY = Path(__file__).parent.parent.parent / "deploy" / "crds"
KINDS = ("TPUNodeGroup", "WorkloadPolicy", "InstanceTemplate", "ManagedInstanceGroup")


def test_the_files_in_deploy_are_those_of_the_models() -> None:
    written = {path.name: path.read_text(encoding="utf-8") for path in DEPLOY.iterdir()}
    assert written == crd_files()


def test_writing_makes_the_folder_and_leaves_other_files(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "crds"
    write_crds(folder)
    (folder / "other.yaml").write_text("x", encoding="utf-8")
    write_crds(folder)
    assert {path.name for path in folder.iterdir()} == {*crd_files(), "other.yaml"}


def test_the_printed_stream_has_the_same_manifests() -> None:
    assert list(yaml.safe_load_all(crds_yaml())) == crd_manifests()


def test_names_by_which_users_call_the_kinds() -> None:
    names = {
        m["spec"]["names"]["kind"]: (m["metadata"]["name"], m["spec"]["names"]["shortNames"]) for m in crd_manifests()
    }
    assert names == {
        "TPUNodeGroup": ("tpunodegroups.tpu.google.com", ["tng"]),
        "WorkloadPolicy": ("workloadpolicies.tpu.google.com", ["twp"]),
        "InstanceTemplate": ("instancetemplates.tpu.google.com", ["tit"]),
        "ManagedInstanceGroup": ("managedinstancegroups.tpu.google.com", ["tmig"]),
    }


def test_columns_of_a_node_group() -> None:
    version = crd_manifests()[0]["spec"]["versions"][0]
    assert {column["name"]: column["jsonPath"] for column in version["additionalPrinterColumns"]} == {
        "Ready": '.status.conditions[?(@.type=="Ready")].status',
        "Nodes": ".status.nodesReady",
        "Accelerator": ".status.accelerator",
        "Topology": ".spec.topology",
        "Reason": '.status.conditions[?(@.type=="Ready")].reason',
        "Age": ".metadata.creationTimestamp",
    }


@pytest.mark.parametrize("manifest", crd_manifests(), ids=lambda m: m["metadata"]["name"])
def test_status_is_a_subresource(manifest: Json) -> None:
    assert manifest["spec"]["versions"][0]["subresources"] == {"status": {}}


def _values(schema: Json, path: str) -> Iterator[tuple[str, Json]]:
    yield path, schema
    for name, child in schema.get("properties", {}).items():
        yield from _values(child, f"{path}.{name}")
    for keyword in ("items", "additionalProperties"):
        if keyword in schema:
            yield from _values(schema[keyword], f"{path}[]")


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_has_a_description(kind: str) -> None:
    bare = [
        path
        for path, schema in _values(openapi(kind), kind)
        if "description" not in schema and not path.endswith(("[]", ".metadata"))
    ]
    assert bare == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_string_list_and_map_of_a_spec_is_bounded(kind: str) -> None:
    """Else an API server estimates that a rule over it costs too much, and refuses the CRD."""
    bounds = {"string": "maxLength", "array": "maxItems"}
    loose = [
        path
        for path, schema in _values(openapi(kind)["properties"]["spec"], "spec")
        if bounds.get(schema["type"], "type") not in schema and "enum" not in schema
    ] + [
        path
        for path, schema in _values(openapi(kind)["properties"]["spec"], "spec")
        if "additionalProperties" in schema and "maxProperties" not in schema
    ]
    assert loose == []


@pytest.mark.parametrize(
    ("kind", "defaults"),
    [
        (
            "TPUNodeGroup",
            {
                "spec.instanceConfig.subnetwork": "default",
                "spec.bootstrapKubernetes.controlPlanePort": 6443,
                "spec.bootstrapKubernetes.taint": True,
                "spec.recoveryPolicy": "Manual",
            },
        ),
        ("WorkloadPolicy", {"spec.type": "HIGH_THROUGHPUT"}),
        (
            "InstanceTemplate",
            {"spec.subnetwork": "default", "spec.maintenancePolicy": "TERMINATE", "spec.bootDisk.autoDelete": True},
        ),
        ("ManagedInstanceGroup", {"spec.defaultActionOnFailure": "DO_NOTHING"}),
    ],
)
def test_defaults(kind: str, defaults: Json) -> None:
    spec = openapi(kind)["properties"]["spec"]
    assert {path: schema["default"] for path, schema in _values(spec, "spec") if "default" in schema} == defaults
