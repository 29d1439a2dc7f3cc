"""Every module and example, by Terraform itself, against the google provider's real schema."""

import re
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.needs import need
from tests.terraform.workspace import EXAMPLES, MODULES, ROOT, TERRAFORM, Tools, Workspace

pytestmark = pytest.mark.terraform

FOLDERS: Final = (*(f"modules/{name}" for name in MODULES), *(f"examples/{name}" for name in EXAMPLES))
#: Each rule that tflint has for Terraform itself.
_RULES: Final = 'plugin "terraform" {\n  enabled = true\n  preset  = "all"\n}\n'


def test_all_is_formatted(workspace: Workspace) -> None:
    assert workspace.run(".", "fmt", "-recursive", "-check", "-diff") == ""


@pytest.mark.parametrize("folder", FOLDERS)
def test_it_is_valid_against_the_providers_schema(folder: str, workspace: Workspace) -> None:
    workspace.prepare(folder)
    assert workspace.run(folder, "validate").strip() == "Success! The configuration is valid."


@pytest.mark.parametrize("folder", FOLDERS)
def test_its_own_tests_pass(folder: str, workspace: Workspace) -> None:
    """The files `tests/*.tftest.hcl`; every folder has some, and every validation is seen to refuse something."""
    workspace.prepare(folder)
    said = workspace.run(folder, "test")
    assert re.search(r"Success! [1-9]\d* passed, 0 failed\.", said), said
    tests = "".join(path.read_text("utf-8") for path in (TERRAFORM / folder / "tests").iterdir())
    for name, body in re.findall(
        r'^variable "(\w+)" \{\n(.*?)^\}',
        (TERRAFORM / folder / "variables.tf").read_text("utf-8"),
        re.MULTILINE | re.DOTALL,
    ):
        if "validation {" in body:
            assert f"[var.{name}]" in tests, f"no value of {name} is refused in a test"


@pytest.mark.parametrize("folder", FOLDERS)
def test_tflint_has_nothing_to_say(folder: str, tools: Tools, tmp_path: Path) -> None:
    assert _tflint(tools, tmp_path, TERRAFORM / folder) == ""


def test_tflint_would_say_something(tools: Tools, tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text('variable "unused" {\n  type = string\n}\n', encoding="utf-8")
    assert "terraform_unused_declarations" in _tflint(tools, tmp_path, tmp_path)


def _tflint(tools: Tools, scratch: Path, folder: Path) -> str:
    rules = scratch / "tflint.hcl"
    rules.write_text(_RULES, encoding="utf-8")
    command = [str(tools.cache / "tflint"), f"--config={rules}", f"--chdir={folder}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - tflint on our modules
    return done.stdout + done.stderr


def test_checkov_finds_nothing_unsafe(tools: Tools, workspace: Workspace) -> None:
    said = _checkov(tools, workspace.path)
    assert re.search(r"Passed checks: [1-9]\d*, Failed checks: 0, Skipped checks: 0", said), said
    assert "FAILED" not in said


def test_checkov_would_find_something(tools: Tools, tmp_path: Path) -> None:
    unsafe = 'role = "roles/iam.serviceAccountUser"\n  project = "p"\n  member = "serviceAccount:x"'
    (tmp_path / "main.tf").write_text(
        f'resource "google_project_iam_member" "x" {{\n  {unsafe}\n}}\n', encoding="utf-8"
    )
    assert "CKV_GCP_41" in _checkov(tools, tmp_path)


def _checkov(tools: Tools, folder: Path) -> str:
    options = ["--framework", "terraform", "--compact", "--quiet", "--skip-download"]
    command = [str(tools.cache / "checkov/bin/checkov"), "--directory", str(folder), *options]
    # With --skip-download it asks nobody for anything.
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - checkov on our modules
    return done.stdout + done.stderr


def test_the_provider_of_the_tests_is_formatted() -> None:
    command = [need("gofmt"), "-l", str(ROOT / "tests/terraform/provider")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - gofmt on our code
    assert done.stdout == ""


def test_no_lock_of_the_tests_provider_is_kept() -> None:
    kept = subprocess.run(  # noqa: S603 - git with our own arguments
        [need("git"), "ls-files", "*.terraform.lock.hcl"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert kept.stdout == ""
    assert ".terraform.lock.hcl" in (ROOT / ".gitignore").read_text("utf-8").splitlines()
