"""Small manifests to start from: each applies as it is."""

import copy
from typing import Any

Json = dict[str, Any]

API_VERSION = "tpu.google.com/v1alpha1"


def changed(manifest: Json, changes: Json) -> Json:
    """A copy with fields set by dotted path; None removes the field."""
    result = copy.deepcopy(manifest)
    for path, value in changes.items():
        *parents, last = path.split(".")
        place = result
        for name in parents:
            place = place.setdefault(name, {})
        if value is None:
            place.pop(last, None)
        else:
            place[last] = value
    return result


def make_group(**changes: Any) -> Json:
    """A two-host tpu7x slice; `changes` are paths in its spec with `__` for the dot."""
    manifest = {
        "apiVersion": API_VERSION,
        "kind": "TPUNodeGroup",
        "metadata": {"name": "slice", "namespace": "default"},
        "spec": {
            "project": "my-gcp-project",
            "nodeLocation": "us-central1-c",
            "nodeCount": 2,
            "acceleratorConnectionMode": "STATIC",
            "topology": "2x2x2",
            "targetSizePolicyMode": "BULK",
            "instanceConfig": {"machineType": "tpu7x-standard-4t"},
            "bootstrapKubernetes": {"version": "1.31", "controlPlaneIP": "10.128.0.2"},
        },
    }
    return _in_spec(manifest, changes)


def make_brought_group(**changes: Any) -> Json:
    """The same slice from a brought template."""
    manifest = make_group(
        instanceConfig=None,
        bootstrapKubernetes=None,
        instanceTemplateURI="projects/my-gcp-project/global/instanceTemplates/golden",
    )
    return _in_spec(manifest, changes)


def make_policy(**changes: Any) -> Json:
    """A workload policy on its own."""
    spec = {"project": "my-gcp-project", "region": "us-central1", "acceleratorTopology": "2x2x2"}
    return _in_spec(_child("WorkloadPolicy", spec), changes)


def make_template(**changes: Any) -> Json:
    """An instance template on its own."""
    return _in_spec(
        _child("InstanceTemplate", {"project": "my-gcp-project", "machineType": "tpu7x-standard-4t"}), changes
    )


def make_mig(**changes: Any) -> Json:
    """A managed instance group on its own."""
    spec = {
        "project": "my-gcp-project",
        "location": "us-central1-c",
        "instanceTemplate": "projects/my-gcp-project/global/instanceTemplates/golden",
        "targetSize": 2,
        "targetSizePolicyMode": "BULK",
    }
    return _in_spec(_child("ManagedInstanceGroup", spec), changes)


def _child(kind: str, spec: Json) -> Json:
    return {
        "apiVersion": API_VERSION,
        "kind": kind,
        "metadata": {"name": "child", "namespace": "default"},
        "spec": spec,
    }


def _in_spec(manifest: Json, changes: Json) -> Json:
    return changed(manifest, {f"spec.{path.replace('__', '.')}": value for path, value in changes.items()})
