"""Label and field selectors: parsed once per request, asked once per object.

The grammar is apimachinery's (labels/selector.go, fields/selector.go). Field selectors name the fields that the real
server can select by, and others are refused as there.
"""

import re
from collections.abc import Callable, Mapping

from simulator.kube import errors
from simulator.kube.edit import dig
from simulator.seams import Json

Predicate = Callable[[Json], bool]
_SET = re.compile(r"^(?P<key>\S+)\s+(?P<op>in|notin)\s+\((?P<values>[^()]*)\)$")
_EQUALITY = re.compile(r"^(?P<key>[^\s=!]+)\s*(?P<op>==|=|!=)\s*(?P<value>[^\s=!]*)$")
_EXISTS = re.compile(r"^(?P<no>!?)\s*(?P<key>[^\s=!]+)$")
_COMMA_OUTSIDE = re.compile(r",(?![^()]*\))")
#: What can be selected by beyond metadata.name and metadata.namespace.
_FIELDS: Mapping[str, frozenset[str]] = {
    "events": frozenset(
        {
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        }
    ),
    "namespaces": frozenset({"status.phase"}),
    "nodes": frozenset({"spec.unschedulable"}),
    "pods": frozenset(
        {
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "status.phase",
            "status.podIP",
        }
    ),
    "secrets": frozenset({"type"}),
}


def everything(_body: Json) -> bool:
    """The selector that selects all."""
    return True


def parse(resource: str, labels: str, fields: str) -> Predicate:
    """The predicate of both selectors. Raises ApiError 400 for one that cannot be read or is not supported."""
    tests = [*_label_tests(labels), *_field_tests(resource, fields)]
    if not tests:
        return everything
    return lambda body: all(test(body) for test in tests)


def _labels_of(body: Json) -> Mapping[str, str]:
    return body["metadata"].get("labels") or {}


def _label_tests(text: str) -> list[Predicate]:
    if not text.strip():
        return []
    return [_label_test(part.strip(), text) for part in _COMMA_OUTSIDE.split(text)]


def _label_test(part: str, whole: str) -> Predicate:
    if found := _SET.match(part):
        key, values = found["key"], {value.strip() for value in found["values"].split(",")}
        if found["op"] == "in":
            return lambda body: _labels_of(body).get(key) in values
        return lambda body: _labels_of(body).get(key) not in values
    if found := _EQUALITY.match(part):
        key, value = found["key"], found["value"]
        if found["op"] == "!=":
            return lambda body: _labels_of(body).get(key) != value
        return lambda body: _labels_of(body).get(key) == value
    if found := _EXISTS.match(part):
        key, wanted = found["key"], not found["no"]
        return lambda body: (key in _labels_of(body)) is wanted
    raise errors.bad_request(f'unable to parse requirement: found unexpected "{part}" in label selector "{whole}"')


def _field_tests(resource: str, text: str) -> list[Predicate]:
    tests: list[Predicate] = []
    for part in filter(None, text.split(",")):
        found = _EQUALITY.match(part.strip())
        if not found:
            raise errors.bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
        if found["key"] not in _FIELDS.get(resource, ()) and found["key"] not in {
            "metadata.name",
            "metadata.namespace",
        }:
            raise errors.bad_request(f"field label not supported: {found['key']}")
        tests.append(_field_test(found["key"], found["value"], equal=found["op"] != "!="))
    return tests


def _field_test(key: str, value: str, *, equal: bool) -> Predicate:
    path = key.split(".")
    if key == "source":
        path = ["source", "component"]

    def holds(body: Json) -> bool:
        actual = dig(body, path)
        if isinstance(actual, bool):
            actual = str(actual).lower()
        # An absent boolean reads as false, an absent text as empty.
        default = "false" if key == "spec.unschedulable" else ""
        return (str(actual if actual is not None else default) == value) is equal

    return holds
