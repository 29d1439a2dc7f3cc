"""The rules for names, labels, annotations, finalizers and owners (k8s.io/apimachinery/pkg/api/validation)."""

import re
from collections.abc import Iterator
from typing import Any

from simulator.kube.errors import Cause
from simulator.kube.resources import Resource
from simulator.seams import Json

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_QUALIFIED = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = rf"({_QUALIFIED})?"
_LABEL_HELP = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    f"an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL}')"
)
_SUBDOMAIN_HELP = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_VALUE_HELP = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_KEY_HELP = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_STANDARD_FINALIZERS = frozenset({"kubernetes", "foregroundDeletion", "orphan"})
_RBAC = "rbac.authorization.k8s.io"
#: All that metadata may hold (metav1.ObjectMeta).
METADATA_FIELDS = frozenset(
    {
        "annotations",
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "finalizers",
        "generateName",
        "generation",
        "labels",
        "managedFields",
        "name",
        "namespace",
        "ownerReferences",
        "resourceVersion",
        "selfLink",
        "uid",
    }
)


def metadata_misshapen(metadata: Json) -> str | None:
    """What a decoder would say of metadata that holds values of the wrong type; None if it is sound."""
    for key in ("labels", "annotations"):
        entries = metadata.get(key) or {}
        if not isinstance(entries, dict) or not all(isinstance(value, str) for value in entries.values()):
            return f"json: cannot unmarshal into Go struct field ObjectMeta.metadata.{key} of type map[string]string"
    for key, kind in (("finalizers", str), ("ownerReferences", dict), ("managedFields", dict)):
        items = metadata.get(key) or []
        if not isinstance(items, list) or not all(isinstance(item, kind) for item in items):
            return f"json: cannot unmarshal into Go struct field ObjectMeta.metadata.{key}"
    for key in ("name", "generateName", "namespace", "resourceVersion", "uid"):
        if not isinstance(metadata.get(key) or "", str):
            return f"json: cannot unmarshal into Go struct field ObjectMeta.metadata.{key} of type string"
    return None


def metadata_errors(resource: Resource, body: Json) -> Iterator[Cause]:
    """What is wrong with an object's metadata."""
    metadata = body["metadata"]
    name = metadata.get("name") or metadata.get("generateName", "").rstrip("-")
    if not name:
        why = "Required value: name or generateName is required"
        yield Cause("metadata.name", "FieldValueRequired", why)
    else:
        yield from _name_errors(resource, name)
    yield from _label_errors(metadata.get("labels") or {})
    for key in metadata.get("annotations") or {}:
        yield from _key_errors("metadata.annotations", key.lower())
    for item in metadata.get("finalizers") or ():
        if "/" not in item and item not in _STANDARD_FINALIZERS:
            why = "name is neither a standard finalizer name nor is it fully qualified"
            yield _invalid("metadata.finalizers", item, why)
    yield from _owner_errors(metadata.get("ownerReferences") or ())


def _invalid(field: str, value: str, why: str) -> Cause:
    return Cause(field, "FieldValueInvalid", f'Invalid value: "{value}": {why}')


def _name_errors(resource: Resource, name: str) -> Iterator[Cause]:
    if resource.group == _RBAC:
        if name in {".", ".."} or "/" in name or "%" in name:
            yield _invalid("metadata.name", name, "may not contain '/' or '%'")
        return
    label = resource.id == "namespaces"
    pattern, help_text, limit = (_LABEL, _LABEL_HELP, 63) if label else (_SUBDOMAIN, _SUBDOMAIN_HELP, 253)
    if len(name) > limit:
        yield _invalid("metadata.name", name, f"must be no more than {limit} bytes")
    if not re.fullmatch(pattern, name):
        yield _invalid("metadata.name", name, help_text)


def _label_errors(labels: dict[str, Any]) -> Iterator[Cause]:
    for key, value in labels.items():
        yield from _key_errors("metadata.labels", key)
        if len(value) > 63:
            yield _invalid("metadata.labels", value, "must be no more than 63 bytes")
        if not re.fullmatch(_VALUE, value):
            yield _invalid("metadata.labels", value, _VALUE_HELP)


def _key_errors(field: str, key: str) -> Iterator[Cause]:
    prefix, slash, name = key.rpartition("/")
    if slash and not re.fullmatch(_SUBDOMAIN, prefix):
        yield _invalid(field, key, f"prefix part {_SUBDOMAIN_HELP}")
    if len(name) > 63:
        yield _invalid(field, key, "name part must be no more than 63 bytes")
    if not re.fullmatch(_QUALIFIED, name):
        yield _invalid(field, key, _KEY_HELP)


def _owner_errors(owners: Any) -> Iterator[Cause]:
    for index, owner in enumerate(owners):
        for key in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(key):
                field = f"metadata.ownerReferences[{index}].{key}"
                yield Cause(field, "FieldValueInvalid", f'Invalid value: "": {key} must not be empty')
    if sum(bool(owner.get("controller")) for owner in owners) > 1:
        why = "Only one reference can have Controller set to true."
        yield Cause("metadata.ownerReferences", "FieldValueInvalid", f"Invalid value: {why}")
