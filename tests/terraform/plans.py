"""The examples' plans as files, for tests and demos on machines without Terraform: `make plans` writes them."""

import json
import tempfile
from pathlib import Path
from typing import Final

from tests.terraform.workspace import EXAMPLES, GIVEN, ROOT, Json, Tools, Workspace

KEPT: Final = ROOT / "tests/data/terraform"


def text(plan: Json) -> str:
    """A plan as it is kept: what is read of it, for the rest differs from one time to the next."""
    kept = {key: plan[key] for key in ("format_version", "variables", "planned_values", "configuration")}
    return json.dumps(kept, indent=1, sort_keys=True) + "\n"


def path_of(example: str) -> Path:
    """Where the plan of an example is kept."""
    return KEPT / f"{example}.plan.json"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace.copied(Tools.made(), Path(folder) / "terraform")
        for example in EXAMPLES:
            path_of(example).write_text(text(workspace.plan(f"examples/{example}", GIVEN[example])), encoding="utf-8")
