"""The CustomResourceDefinitions, generated from the models. `write_crds` is the one way to (re)write `deploy/crds/`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from controller.api.base import ApiModel, Json
from controller.api.constants import GROUP, VERSION
from controller.api.resources import InstanceTemplate, ManagedInstanceGroup, Resource, TPUNodeGroup, WorkloadPolicy
from controller.api.rules import Rule, name_rule
from controller.api.structural import object_schema

_HEADER: Final = "# Generated from controller/api. `tpu-node-group crds` prints it; change the models, not this file.\n"
_CONDITION: Final = '.status.conditions[?(@.type=="Ready")].'


@dataclass(frozen=True, slots=True)
class _Definition:
    """What a CRD has beside the model."""

    model: type[Resource]
    plural: str
    short_name: str
    name: Rule
    columns: tuple[Json, ...]


def _column(name: str, path: str, *, type_: str = "string", description: str = "", priority: int = 0) -> Json:
    column: Json = {"name": name, "type": type_, "jsonPath": path}
    if description:
        column["description"] = description
    return column | ({"priority": priority} if priority else {})


_READY: Final = _column("Ready", f"{_CONDITION}status", description="Whether all is as the spec asks.")
_REASON: Final = _column("Reason", f"{_CONDITION}reason", description="Why it is, or is not.")
_AGE: Final = _column("Age", ".metadata.creationTimestamp", type_="date")

_GROUP_NAME: Final = name_rule(
    "^[a-z]([-a-z0-9]{0,43}[a-z0-9])?$",
    "metadata.name must be at most 45 lower-case letters, digits or '-', begin with a letter and not end with '-': "
    "names in Compute Engine are made from it",
)
_CHILD_NAME: Final = name_rule(
    "^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$",
    "metadata.name must be at most 63 lower-case letters, digits or '-', begin with a letter and not end with '-': "
    "it is the name in Compute Engine too",
)

_DEFINITIONS: Final = (
    _Definition(
        TPUNodeGroup,
        "tpunodegroups",
        "tng",
        _GROUP_NAME,
        (
            _READY,
            _column("Nodes", ".status.nodesReady", description="Ready hosts of all."),
            _column("Accelerator", ".status.accelerator"),
            _column("Topology", ".spec.topology"),
            _REASON,
            _AGE,
        ),
    ),
    _Definition(
        WorkloadPolicy,
        "workloadpolicies",
        "twp",
        _CHILD_NAME,
        (_READY, _REASON, _column("Topology", ".spec.acceleratorTopology"), _column("Region", ".spec.region"), _AGE),
    ),
    _Definition(
        InstanceTemplate,
        "instancetemplates",
        "tit",
        _CHILD_NAME,
        (_READY, _REASON, _column("Machine", ".spec.machineType"), _AGE),
    ),
    _Definition(
        ManagedInstanceGroup,
        "managedinstancegroups",
        "tmig",
        _CHILD_NAME,
        (
            _READY,
            _REASON,
            _column("Size", ".spec.targetSize", type_="integer"),
            _column("Mode", ".spec.targetSizePolicyMode"),
            _column("Zone", ".spec.location"),
            _AGE,
        ),
    ),
)


def crd_manifests() -> list[Json]:
    """The four CRDs as apiextensions.k8s.io/v1 manifests, the TPUNodeGroup's first."""
    return [_manifest(definition) for definition in _DEFINITIONS]


def crds_yaml() -> str:
    """All of them as one YAML stream, ready for `kubectl apply -f -`."""
    return "".join(f"---\n{_dump(manifest)}" for manifest in crd_manifests())


def crd_files() -> dict[str, str]:
    """File name -> content of `deploy/crds/`: one file for each CRD, and the kustomization that lists them."""
    files = {f"{manifest['metadata']['name']}.yaml": _HEADER + _dump(manifest) for manifest in crd_manifests()}
    kustomization = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": sorted(files),
    }
    return files | {"kustomization.yaml": _HEADER + _dump(kustomization)}


def write_crds(folder: Path) -> None:
    """Write `crd_files()` into a folder, made if it is not there; other files in it stay."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in crd_files().items():
        (folder / name).write_text(content, encoding="utf-8")


def _manifest(definition: _Definition) -> Json:
    kind = definition.model.KIND
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{definition.plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": kind,
                "listKind": f"{kind}List",
                "plural": definition.plural,
                "singular": kind.lower(),
                "shortNames": [definition.short_name],
                "categories": ["tpu"],
            },
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": list(definition.columns),
                    "schema": {"openAPIV3Schema": _root_schema(definition)},
                }
            ],
        },
    }


def _root_schema(definition: _Definition) -> Json:
    return {
        "type": "object",
        "description": definition.model.__doc__,
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string", "description": "Version of this schema of the object."},
            "kind": {"type": "string", "description": "Kind of the object."},
            "metadata": {"type": "object"},
            "spec": _part(definition.model, "spec", "What is wanted."),
            "status": _part(definition.model, "status", "What is. Written by the operator."),
        },
        "x-kubernetes-validations": [definition.name.to_openapi()],
    }


def _part(model: type[Resource], name: str, description: str) -> Json:
    part: Any = model.model_fields[name].annotation
    if not issubclass(part, ApiModel):
        raise TypeError(f"{model.KIND}.{name} is no model")
    return {"description": description, **object_schema(part)}


class _Dumper(yaml.SafeDumper):
    """Plain YAML: no anchors for values that occur twice."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the base class's signature
        return True


def _dump(manifest: Json) -> str:
    return yaml.dump(manifest, Dumper=_Dumper, sort_keys=False, width=120, allow_unicode=True)
