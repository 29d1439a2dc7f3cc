"""What doctor holds an installation to, read from the files that users apply."""

import json
import re
from typing import Any, Final

import yaml

from controller.api.base import Json
from controller.api.shipped import shipped

_VARIABLE: Final = re.compile(r"\\\$\\\{\w+\\\}")


def permissions() -> tuple[str, ...]:
    """The permissions of the operator's custom role."""
    return tuple(json.loads(shipped("terraform/modules/controller-identity/permissions.json")))


def grants(namespace: str) -> tuple[Json, ...]:
    """What the operator's roles grant, as attributes of a SelfSubjectAccessReview; `namespace` is the operator's."""
    manifests: list[Any] = list(yaml.safe_load_all(shipped("deploy/rbac.yaml")))
    (home,) = {each["metadata"]["namespace"] for each in manifests if each["kind"] == "ServiceAccount"}
    found: list[Json] = []
    for role in manifests:
        where = (role["metadata"].get("namespace") or "") if role["kind"] == "Role" else ""
        for rule in role.get("rules") or ():
            found += _attributes(rule, namespace if where == home else where)
    return tuple(found)


def _attributes(rule: Json, namespace: str) -> list[Json]:
    found = []
    for resource in rule["resources"]:
        plural, _, subresource = resource.partition("/")
        for verb in rule["verbs"]:
            for name in rule.get("resourceNames") or ("",):
                asked = {
                    "namespace": namespace,
                    "verb": verb,
                    "group": rule["apiGroups"][0],
                    "resource": plural,
                    "subresource": subresource,
                    "name": name,
                }
                found.append({key: value for key, value in asked.items() if value})
    return found


def is_our_filter(text: str) -> bool:
    """Whether a sink's filter is the one of this version, with whatever zones and names it is narrowed to."""
    template = re.escape(_plain(shipped("terraform/modules/event-pipeline/filter.tftpl")))
    return re.fullmatch(_VARIABLE.sub(lambda _: '[^"]+?', template), _plain(text)) is not None


def _plain(text: str) -> str:
    """Without comments, and with single spaces."""
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("--"))
    return " ".join(" ".join(lines).split())
