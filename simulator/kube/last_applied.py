"""How `kubectl apply --server-side` takes over what `kubectl apply` left: by the annotation that the latter keeps.

As in k8s.io/apimachinery's lastappliedmanager.go: only for the manager `kubectl`, a field that still has the value of
the annotation is no conflict, and the annotation follows what is applied.
"""

import json

from simulator.kube import fieldsets
from simulator.kube.edit import dig, put
from simulator.kube.fieldsets import Path
from simulator.kube.shapes import Shape
from simulator.seams import Json

KUBECTL = "kubectl"
_ANNOTATION = ("metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration")


def unchanged_paths(live: Json, shape: Shape) -> frozenset[Path]:
    """The fields of the annotation that still have its values."""
    text = dig(live, _ANNOTATION)
    try:
        applied = json.loads(text or "null")
    except ValueError:
        return frozenset()
    if not isinstance(applied, dict):
        return frozenset()
    changed = {path for path, _ in fieldsets.differences(live, applied, shape)}
    return frozenset(path for path in fieldsets.leaves(applied, shape) if path not in changed)


def updated(body: Json, applied: Json) -> Json:
    """The object with its annotation, if it has one, telling what was applied now."""
    if dig(body, _ANNOTATION) is None:
        return body
    return put(body, _ANNOTATION, json.dumps(applied, separators=(",", ":")) + "\n")
