"""The directory that a metadata server shows of one VM: pure, no I/O (facts: TPU 5)."""

import hashlib
import json
from collections.abc import Mapping

from simulator.metadata.machines import Machine

Leaf = str | int | list[str]
Tree = dict[str, "Leaf | Tree"]


def tree_of(machine: Machine) -> Tree:
    """The whole directory, keyed as paths are (`service-accounts`). Access tokens are no part of it."""
    return {
        "instance": {
            "id": int(machine.id),
            "name": machine.name,
            "zone": f"projects/{machine.project_number}/zones/{machine.zone}",
            "machine-type": f"projects/{machine.project_number}/machineTypes/{machine.machine_type}",
            "attributes": dict(machine.attributes),
            "service-accounts": _accounts(machine),
        },
        "project": {"project-id": machine.project, "numeric-project-id": int(machine.project_number)},
    }


def _accounts(machine: Machine) -> Tree:
    account = machine.service_account
    if account is None:
        return {}
    shown: Tree = {"aliases": ["default"], "email": account.email, "scopes": list(account.scopes)}
    return {"default": shown, account.email: shown}


def find(tree: Tree, path: str) -> Leaf | Tree | None:
    """What is at this path (`instance/attributes/`), None if nothing is."""
    found: Leaf | Tree = tree
    for part in path.split("/"):
        if part == "":
            continue
        if not isinstance(found, dict) or part not in found:
            return None
        found = found[part]
    return found


def text_of(found: Leaf | Tree) -> str:
    """The plain form: a value, or the names in a directory (those of directories end with a slash)."""
    if isinstance(found, dict):
        return "".join(f"{name}/\n" if isinstance(value, dict) else f"{name}\n" for name, value in found.items())
    if isinstance(found, list):
        return "".join(f"{line}\n" for line in found)
    return str(found)


def json_of(path: str, found: Leaf | Tree) -> str:
    """The JSON form. Names become camelCase, those of attributes stay."""
    parts = [part for part in path.split("/") if part]
    return json.dumps(found if parts[:2] == ["instance", "attributes"] else _camel(found))


def _camel(found: Leaf | Tree) -> Leaf | Tree:
    if not isinstance(found, Mapping):
        return found
    return {
        _camel_name(name): value if name in {"attributes", "service-accounts"} else _camel(value)
        for name, value in found.items()
    }


def _camel_name(name: str) -> str:
    first, *rest = name.split("-")
    return first + "".join(part.capitalize() for part in rest)


def etag_of(found: Leaf | Tree) -> str:
    """16 hex digits that differ when the content differs."""
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()[:16]
