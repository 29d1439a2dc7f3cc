"""The custom role's permissions: one data file, which Terraform grants and the simulator's Compute API asks for."""

import json
from pathlib import Path
from typing import Final

from simulator.compute.routes import _ROUTES

PERMISSIONS: Final = Path(__file__).parents[2] / "terraform/modules/controller-identity/permissions.json"


def test_the_role_holds_what_each_of_the_operators_calls_asks_for_and_nothing_else() -> None:
    """Each permission stands with the methods that ask for it (facts: GCE 6.3)."""
    granted: dict[str, list[str]] = json.loads(PERMISSIONS.read_text(encoding="utf-8"))
    methods = {method for called in granted.values() for method in called}
    asked = {
        (name, route.method) for route in _ROUTES.values() if route.method in methods for name in route.permissions
    }
    assert {(name, method) for name, called in granted.items() for method in called} == asked


def test_the_role_has_no_wildcard_and_can_neither_list_projects_nor_change_policies() -> None:
    granted = json.loads(PERMISSIONS.read_text(encoding="utf-8"))
    assert list(granted) == sorted(granted)
    assert {name.split(".")[0] for name in granted} == {"compute"}
    assert [name for name in granted if "*" in name or "IamPolicy" in name] == []
