"""Terraform on a copy of terraform/, offline: the provider of the tests in place of Google's, and nobody's state."""

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from tests.needs import need

Json = dict[str, Any]

ROOT: Final = Path(__file__).parents[2]
BUILD: Final = Path(__file__).with_name("build.sh")
TERRAFORM: Final = ROOT / "terraform"
MODULES: Final = tuple(sorted(path.name for path in (TERRAFORM / "modules").iterdir()))
EXAMPLES: Final = tuple(sorted(path.name for path in (TERRAFORM / "examples").iterdir()))
#: What the examples are planned with.
GIVEN: Final = {
    "complete": {"project": "my-gcp-project"},
    "shared-project": {
        "project": "my-gcp-project",
        "clusters": '{ blue = { issuer = "https://blue.example" }, green = { issuer = "https://green.example" } }',
    },
}
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Tools:
    """Where the commands are."""

    terraform: str
    cache: Path

    @classmethod
    def made(cls) -> "Tools":
        """Build what is not there yet. Skips the calling test, or fails it in CI, where a command is missing."""
        terraform = need("terraform")
        need("go")
        built = subprocess.run(  # noqa: S603 - ours
            [str(BUILD)], check=True, capture_output=True, text=True
        )
        return cls(terraform, Path(built.stdout.strip()))


@dataclass(frozen=True)
class Workspace:
    """A copy of terraform/ in which commands run."""

    tools: Tools
    path: Path

    @classmethod
    def copied(cls, tools: Tools, path: Path) -> "Workspace":
        """A fresh copy."""
        shutil.copytree(TERRAFORM, path, ignore=shutil.ignore_patterns(".terraform*"))
        return cls(tools, path)

    @cached_property
    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TF_")}
        return kept | {"TF_CLI_CONFIG_FILE": str(self.tools.cache / "terraformrc"), "TF_IN_AUTOMATION": "1"}

    def run(self, folder: str, *arguments: str) -> str:
        """`terraform ARGUMENTS` in a folder of the copy; what it said, without colours. It must succeed."""
        code, said = self._run(folder, *arguments)
        assert code == 0, f"{' '.join(arguments)} in {folder} ended with {code}: {said}"
        return said

    def attempt(self, folder: str, *arguments: str) -> str:
        """The same, and it may fail."""
        return self._run(folder, *arguments)[1]

    def _run(self, folder: str, *arguments: str) -> tuple[int, str]:
        command = [self.tools.terraform, *arguments]
        done = subprocess.run(  # noqa: S603 - terraform with our own arguments
            command, cwd=self.path / folder, env=self._environment, capture_output=True, text=True, check=False
        )
        return done.returncode, _COLOUR.sub("", done.stdout + done.stderr)

    def prepare(self, folder: str) -> None:
        """`terraform init`, once."""
        if not (self.path / folder / ".terraform").exists():
            self.run(folder, "init", "-input=false", "-backend=false")

    def apply(self, folder: str, variables: dict[str, str]) -> None:
        """`terraform apply`, with a state in the copy."""
        self.prepare(folder)
        self.run(folder, "apply", "-input=false", "-auto-approve", *_given(variables))

    def plan(self, folder: str, variables: dict[str, str], *options: str) -> Json:
        """A plan, as `terraform show -json` prints it."""
        self.prepare(folder)
        self.run(folder, "plan", "-input=false", "-out=planned", *_given(variables), *options)
        plan: Json = json.loads(self.run(folder, "show", "-json", "planned"))
        return plan


def _given(variables: dict[str, str]) -> list[str]:
    return [f"-var={name}={value}" for name, value in variables.items()]


def planned(plan: Json) -> dict[str, Json]:
    """Address -> planned values, of all modules."""
    found: dict[str, Json] = {}
    modules = [plan["planned_values"]["root_module"]]
    while modules:
        module = modules.pop()
        found |= {each["address"]: each["values"] for each in module.get("resources", [])}
        modules += module.get("child_modules", [])
    return found
