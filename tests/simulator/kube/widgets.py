"""The custom resource of the contract tests: a status, defaults, a keyed list, a rule, printer columns."""

from typing import Any

Json = dict[str, Any]
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAME = "widgets.contract.example.com"
_CONDITION = {"type": "object", "properties": {"type": {"type": "string"}, "status": {"type": "string"}}}
_SPEC = {
    "type": "object",
    "x-kubernetes-validations": [{"rule": "self.size <= 10", "message": "too big"}],
    "properties": {
        "size": {"type": "integer", "minimum": 0, "default": 1, "description": "How big it is."},
        "colour": {"type": "string", "maxLength": 20},
        "tags": {"type": "object", "additionalProperties": {"type": "string"}},
    },
}
_STATUS = {
    "type": "object",
    "properties": {
        "phase": {"type": "string"},
        "conditions": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
            "items": {**_CONDITION, "required": ["type"]},
        },
    },
}
DEFINITION: Json = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": NAME},
    "spec": {
        "group": "contract.example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": _SPEC, "status": _STATUS}}},
                "subresources": {"status": {}},
                "additionalPrinterColumns": [
                    {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
                    {
                        "name": "Ready",
                        "type": "string",
                        "jsonPath": '.status.conditions[?(@.type=="Ready")].status',
                        "priority": 1,
                    },
                    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
                ],
            }
        ],
    },
}


def widgets(namespace: str, name: str = "", below: str = "") -> str:
    """A path."""
    parts = [f"/apis/contract.example.com/v1/namespaces/{namespace}/widgets", name, below]
    return "/".join(part for part in parts if part)


def widget(name: str = "one", **more: Any) -> Json:
    metadata = {"name": name, **more.pop("metadata", {})}
    return {"apiVersion": "contract.example.com/v1", "kind": "Widget", "metadata": metadata, **more}
