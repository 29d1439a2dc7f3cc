"""The kept plans, and what they would be with something taken out: no Terraform is needed for these."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

Json = dict[str, Any]

KEPT: Final = Path(__file__).parents[1] / "data/terraform"


def kept(example: str = "complete") -> Json:
    """A plan of an example."""
    plan: Json = json.loads((KEPT / f"{example}.plan.json").read_text("utf-8"))
    return plan


def without(plan: Json, address: str) -> Json:
    """The plan if the resource of this address (of all its instances) were not in the configuration."""
    changed = copy.deepcopy(plan)
    taken = _take(changed["planned_values"]["root_module"], lambda each: each["address"].split("[")[0] == address)
    assert taken, f"the plan has no {address}"
    configuration = changed["configuration"]["root_module"]
    *modules, resource = address.split("module.")[1:] or ["", address]
    name, _, own = resource.partition(".")
    for step in [*(module.rstrip(".") for module in modules if module), name]:
        configuration = configuration["module_calls"][step]["module"]
    resources = configuration["resources"]
    configuration["resources"] = [each for each in resources if each["address"] != own]
    assert len(configuration["resources"]) == len(resources) - 1
    return changed


def edited(plan: Json, address: str, **values: Any) -> Json:
    """The plan with other planned values of one instance."""
    changed = copy.deepcopy(plan)
    found = [each for each in _resources(changed["planned_values"]["root_module"]) if each["address"] == address]
    assert len(found) == 1, f"the plan has no {address}"
    found[0]["values"] |= values
    return changed


def written(plan: Json, folder: Path) -> Path:
    """The plan as a file."""
    path = folder / "plan.json"
    path.write_text(json.dumps(plan), encoding="utf-8")
    return path


def _resources(module: Json) -> list[Json]:
    inner = [each for child in module.get("child_modules", []) for each in _resources(child)]
    return [*module.get("resources", []), *inner]


def _take(module: Json, matches: Callable[[Json], bool]) -> int:
    there = module.get("resources", [])
    module["resources"] = [each for each in there if not matches(each)]
    taken = sum(_take(child, matches) for child in module.get("child_modules", []))
    return taken + len(there) - len(module["resources"])
