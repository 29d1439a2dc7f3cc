"""The resources of a plan, as `terraform show -json PLAN` prints it (format 1.x), each with its configuration.

A plan has two halves: `planned_values` has every instance with what is known of it, `configuration` has every resource
once, with what its arguments refer to. Here each instance has both.
https://developer.hashicorp.com/terraform/internals/json-format
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from simulator.seams import Json

__all__ = ["Module", "Plan", "PlanError", "Resource", "read_plan", "understood"]

#: `module.name`, `module.name["key"]`, `module.name[0]` and further ones, before a resource's own address.
_STEP: Final = re.compile(r'module\.(?P<name>[\w-]+)(?:\[(?P<key>"[^"]*"|\d+)\])?(?:\.|$)')
_FORMAT: Final = re.compile(r"1\.\d+")


class PlanError(ValueError):
    """The file is no plan, or says less than is needed. The message says what, and how a plan is made."""


@dataclass(frozen=True, slots=True)
class Module:
    """One instance of a module. The root has no parent."""

    address: str
    key: str | int | None
    parent: "Module | None"
    #: Of the module: resources, module_calls, outputs.
    configuration: Json
    #: How the parent calls it: expressions of its variables, and of for_each.
    call: Json


@dataclass(frozen=True, slots=True)
class Resource:
    """One instance of a resource. `values` has what is known; `expressions` what each argument refers to."""

    address: str
    type: str
    name: str
    key: str | int | None
    module: Module
    values: Mapping[str, Any]
    expressions: Json
    #: What for_each or count refers to; empty without.
    repeated: Json

    def known(self, argument: str) -> str:
        """An argument without which nothing can be made of the resource. Raises PlanError where apply will tell it."""
        value = self.values.get(argument)
        if not isinstance(value, str):
            raise PlanError(f"{self.address}: the plan does not say its {argument}, which must be known before apply")
        return value


class Plan:
    """All resources of a plan."""

    def __init__(self, document: Json) -> None:
        root = Module("", None, None, document["configuration"].get("root_module", {}), {})
        self._modules: dict[str, Module] = {"": root}
        self.resources = tuple(self._of(document["planned_values"].get("root_module", {}), root))

    def of_type(self, *types: str) -> list[Resource]:
        """All instances of these types, by address."""
        return [each for each in self.resources if each.type in types]

    def modules(self) -> list[Module]:
        """All instances of modules in which something is planned, the root first."""
        return list(self._modules.values())

    def _of(self, planned: Json, module: Module) -> Iterator[Resource]:
        configured = {each["address"]: each for each in module.configuration.get("resources", [])}
        for each in planned.get("resources", []):
            if each.get("mode") == "managed":
                written = configured.get(f"{each['type']}.{each['name']}", {})
                repeated = written.get("for_each_expression") or written.get("count_expression") or {}
                yield Resource(
                    each["address"],
                    each["type"],
                    each["name"],
                    each.get("index"),
                    module,
                    each.get("values", {}),
                    written.get("expressions", {}),
                    repeated,
                )
        for child in planned.get("child_modules", []):
            yield from self._of(child, self._module(child["address"], module))

    def _module(self, address: str, parent: Module) -> Module:
        step = list(_STEP.finditer(address))[-1]
        call = parent.configuration.get("module_calls", {}).get(step["name"], {})
        key = json.loads(step["key"]) if step["key"] else None
        module = Module(address, key, parent, call.get("module", {}), call)
        self._modules[address] = module
        return module


def read_plan(path: Path) -> Plan:
    """Read a plan from a file of JSON. Raises PlanError."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise PlanError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise PlanError(f"{path} is not JSON{_HOW}") from error
    if not isinstance(document, dict) or not {"planned_values", "configuration"} <= document.keys():
        raise PlanError(f"{path} is no plan{_HOW}")
    if not _FORMAT.fullmatch(str(document.get("format_version"))):
        raise PlanError(f"{path} has the format {document.get('format_version')}; 1.x is known here{_HOW}")
    with understood():
        return Plan(document)


@contextmanager
def understood() -> Iterator[None]:
    """Whoever reads a document that is no plan in there, though it looked like one, raises PlanError."""
    try:
        yield
    except PlanError:
        raise
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise PlanError(f"the plan is not as Terraform writes it ({type(error).__name__}: {error}){_HOW}") from error


_HOW: Final = ": make one by terraform plan -out=planned && terraform show -json planned > plan.json"
