"""Takes each relation out of the modules in turn, and prints which test failed for it: `make mutants-terraform`.

Of a module these are: every resource that no other refers to; roles, members and what else a grant is made of; every
block (expiry, dead letters, retries, lifecycle, ...); every optional argument; every validation. Of the filter: every
part. One that no test fails for is a failure: the tests would not see it go.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from tests.terraform.test_plans import REPLACED
from tests.terraform.workspace import MODULES, ROOT, TERRAFORM, Tools, Workspace

_SCHEMA: Final = json.loads((Path(__file__).parent / "provider/schema.json").read_text("utf-8"))["resource_schemas"]
_RESOURCE: Final = re.compile(
    r'^resource "(?P<type>\w+)" "(?P<name>\w+)" \{\n(?P<body>.*?)^\}\n', re.MULTILINE | re.DOTALL
)
_VARIABLE: Final = re.compile(r'^variable "(?P<name>\w+)" \{\n(?P<body>.*?)^\}\n', re.MULTILINE | re.DOTALL)
_BLOCK: Final = re.compile(r'^  (?P<name>[\w]+(?: "\w+")?) \{\n.*?^  \}\n', re.MULTILINE | re.DOTALL)
_ARGUMENT: Final = re.compile(
    r"^  (?P<name>\w+) += (?P<value>.*?(?:[^(\[{]\n|[(\[{]\n.*?^  [)\]}].*?\n))", re.MULTILINE | re.DOTALL
)
#: Words for people, and what only says in which order things are made.
_NO_RELATION: Final = {
    "description",
    "display_name",
    "title",
    "labels",
    "depends_on",
    "severity",
    "mime_type",
    "subject",
}
#: What a required argument becomes, for it cannot be left out.
_OTHERWISE: Final = {
    "role": '"roles/viewer"',
    "member": '"serviceAccount:nobody@example.com"',
    "destination": '"pubsub.googleapis.com/projects/p/topics/another"',
    "permissions": '["compute.*"]',
    "topic": '"another"',
    "subscription": '"another"',
}
#: Part of the filter -> what stands there without it.
_FILTER: Final = {
    'protoPayload.serviceName="compute.googleapis.com"': 'protoPayload.serviceName:"googleapis.com"',
    "gce_instance_group_manager": "none",
    "gce_instance_template": "none",
    "gce_resource_policy": "none",
    '("gce_instance" OR ': "(",
    "/(zones/(${zones})/": "/(zones/([^/]+)/",
    "regions/(${regions})": "regions/([^/]+)",
    '(instanceTemplates|resourcePolicies))/(${names})"': '(instanceTemplates|resourcePolicies))/(.)"',
    "(instances|instanceGroupManagers)|": "(instances)|",
    "(global|regions": "(regions",
    "|resourcePolicies))/": "))/",
    "cloudaudit.googleapis.com/system_event": "nobody",
    "cloudaudit.googleapis.com/activity": "nobody",
    "severity>=ERROR": "severity>=DEFAULT",
    'protoPayload.methodName=~"compute[.]instances[.]setMetadata$"': 'protoPayload.methodName="nobody"',
    "(instances|regionInstances)[.]": "(instances)[.]",
    "[.](insert|delete|patch)$": "[.](insert|delete)$",
    "|performMaintenance|reportHostAsFaulty)$": ")[.]",
    "[.](insert|bulkInsert|": "[.](",
    "|delete|start|": "|start|",
    "|regionInstanceGroupManagers|": "|",
    "(instanceTemplates|regionInstanceTemplates|": "(instanceTemplates|",
    "|resourcePolicies)[.]": ")[.]",
    'log_id("tpu-node-bootstrap")': 'log_id("nobody")',
    'resource.labels.zone=~"^(${zones})$"': 'resource.labels.zone=~"."',
    'jsonPayload.instance=~"^(${names})"': 'jsonPayload.instance=~"."',
    'log_id("tpu-node-group-canary")': 'log_id("nobody")',
}


@dataclass(frozen=True)
class Mutant:
    """A file of terraform/ with something taken out of it."""

    name: str
    #: Of terraform/.
    file: Path
    text: str

    @property
    def module(self) -> str:
        """The module that it is of."""
        return self.file.parts[1]


def mutants() -> Iterator[Mutant]:
    """All of them."""
    for module in MODULES:
        for path in sorted((TERRAFORM / "modules" / module).glob("*.tf")):
            file, text = path.relative_to(TERRAFORM), path.read_text("utf-8")
            for name, changed in (*_of_resources(module, text), *_of_variables(text)):
                yield Mutant(f"{module}: {name}", file, changed)
    path = TERRAFORM / "modules/event-pipeline/filter.tftpl"
    text = path.read_text("utf-8")
    for part, otherwise in _FILTER.items():
        assert part in text, f"the filter has no {part}"
        yield Mutant(f"filter: {part} -> {otherwise}", path.relative_to(TERRAFORM), text.replace(part, otherwise, 1))


def _of_resources(module: str, text: str) -> Iterator[tuple[str, str]]:
    everything = "".join(path.read_text("utf-8") for path in (TERRAFORM / "modules" / module).glob("*.tf"))
    for found in _RESOURCE.finditer(text):
        address, body = f"{found['type']}.{found['name']}", found["body"]
        if f"{address}." not in everything.replace(found[0], "") and f"{address}[" not in everything.replace(
            found[0], ""
        ):
            yield f"without {address}", text.replace(found[0], "")
        for block in _BLOCK.finditer(body):
            yield f"{address} without {block['name']}", text.replace(found[0], found[0].replace(block[0], ""))
        arguments = _SCHEMA[found["type"]]["block"]["attributes"]
        for argument in _ARGUMENT.finditer(_BLOCK.sub("", body)):
            name = argument["name"]
            if name in _NO_RELATION or name not in arguments:
                continue
            otherwise = f"  {name} = {_OTHERWISE[name]}\n" if name in _OTHERWISE else ""
            if otherwise or not arguments[name].get("required"):
                what = f"with {otherwise.strip()}" if otherwise else f"without {name}"
                yield f"{address} {what}", text.replace(found[0], found[0].replace(argument[0], otherwise))


def _of_variables(text: str) -> Iterator[tuple[str, str]]:
    for variable in _VARIABLE.finditer(text):
        for number, block in enumerate(_BLOCK.finditer(variable["body"]), 1):
            if block["name"] == "validation":
                changed = variable[0].replace(block[0], "")
                yield f"var.{variable['name']} without validation {number}", text.replace(variable[0], changed)


class Judge:
    """Runs the tests on mutants, each in a copy of its own."""

    def __init__(self, tools: Tools, folder: Path) -> None:
        self._tools = tools
        self._folder = folder
        self._ready = Workspace.copied(tools, folder / "ready")
        for module in MODULES:
            self._ready.prepare(f"modules/{module}")

    def killer(self, mutant: Mutant) -> str:
        """The first test that fails; "" when none does."""
        copy = Path(tempfile.mkdtemp(dir=self._folder))
        try:
            shutil.copytree(self._ready.path, copy / "terraform", symlinks=True)
            (copy / "terraform" / mutant.file).write_text(mutant.text, encoding="utf-8")
            if mutant.file.suffix == ".tftpl":
                return self._of_the_filter(copy)
            workspace = Workspace(self._tools, copy / "terraform")
            return self._of_the_module(workspace, mutant) or self._of_replacement(workspace, mutant)
        finally:
            shutil.rmtree(copy)

    def _of_the_module(self, workspace: Workspace, mutant: Mutant) -> str:
        tests = sorted((workspace.path / "modules" / mutant.module / "tests").iterdir())
        refused = mutant.file.name == "variables.tf"
        chosen = [f"-filter=tests/{path.name}" for path in tests if (path.name.startswith("refused")) is refused]
        said = workspace.attempt(f"modules/{mutant.module}", "test", *chosen)
        if failed := re.search(r'run "(\w+)"\.\.\. fail', said):
            return failed[1]
        return "" if "0 failed." in said else "terraform test: the configuration is invalid"

    def _of_replacement(self, workspace: Workspace, mutant: Mutant) -> str:
        """As `test_what_is_made_anew_gets_its_roles_again` does, for what a mocked provider cannot show."""
        folder = f"modules/{mutant.module}"
        if mutant.module != "event-pipeline" or mutant.file.name == "variables.tf":
            return ""
        variables = {"project": "my-project", "probe": "true", "probe_members": '["user:jo@example.com"]'}
        workspace.apply(folder, variables)
        for address, members in REPLACED.items():
            plan = workspace.plan(folder, variables, f"-replace={address}")
            changes = {each["address"]: each["change"]["actions"] for each in plan["resource_changes"]}
            if any(changes.get(member) != ["delete", "create"] for member in members):
                return "test_what_is_made_anew_gets_its_roles_again"
        return ""

    def _of_the_filter(self, copy: Path) -> str:
        for part in ("controller", "sinks", "simulator", "deploy", "tests"):
            shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", copy)
        tests = [f"tests/simulator/logging/test_{name}.py" for name in ("filter_truth", "router")]
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--no-header", *tests]
        done = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)  # noqa: S603 - our tests
        failed = re.search(r"^(?:FAILED|ERROR) \S+?::(.*?)(?: - .*)?$", done.stdout, re.MULTILINE)
        assert failed or done.returncode == 0, done.stdout + done.stderr
        return failed[1] if failed else ""


@cache
def workers() -> int:
    """As many as there are processors."""
    return os.cpu_count() or 1


def main(wanted: str) -> int:
    """Judge all mutants whose name has this in it; 1 when one survives."""
    chosen = [each for each in mutants() if wanted in each.name]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(workers()) as pool:
        judge = Judge(Tools.made(), Path(folder))
        survivors = []
        for mutant, killer in zip(chosen, pool.map(judge.killer, chosen), strict=True):
            print(f"{mutant.name}\n    {killer or 'SURVIVES: no test fails'}", flush=True)  # noqa: T201 - the report
            if not killer:
                survivors.append(mutant.name)
    print(f"{len(chosen)} mutants, {len(survivors)} survive", *survivors, sep="\n  ")  # noqa: T201
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main(" ".join(sys.argv[1:])))
