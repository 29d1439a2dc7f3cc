"""The READMEs of modules and examples say what is there."""

import re
from pathlib import Path

import pytest

from tests.terraform.readme import pages, tables, written
from tests.terraform.workspace import EXAMPLES, MODULES, ROOT, TERRAFORM


def test_every_module_and_example_has_a_page_of_its_own() -> None:
    folders = [*(f"modules/{name}" for name in MODULES), *(f"examples/{name}" for name in EXAMPLES)]
    assert sorted(str(path.parent.relative_to(TERRAFORM)) for path in pages()) == sorted(folders)


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.parent.name)
def test_its_tables_are_the_modules_own(page: Path) -> None:
    """`make docs` writes them."""
    text = page.read_text("utf-8")
    assert written(text, page.parent) == text
    assert "| `project` |" in text


def test_an_input_is_shown_with_type_default_and_purpose(tmp_path: Path) -> None:
    (tmp_path / "variables.tf").write_text(
        'variable "a" {\n  description = "One \\"or\\" a|b."\n  type        = string\n}\n\n'
        'variable "b" {\n  description = "Two."\n'
        "  type = object({\n    x = number\n    y = bool\n  })\n  default = {}\n}\n",
        encoding="utf-8",
    )
    (tmp_path / "outputs.tf").write_text(
        'output "c" {\n  description = "Three."\n  value       = 1\n}\n', encoding="utf-8"
    )
    assert tables(tmp_path) == (
        "| input | type | default | what it is for |\n|---|---|---|---|\n"
        '| `a` | `string` | required | One "or" a\\|b. |\n'
        "| `b` | `object({ x = number, y = bool })` | `{}` | Two. |\n\n"
        "| output | what it is |\n|---|---|\n| `c` | Three. |\n"
    )


def test_every_alert_has_its_runbook_and_every_runbook_an_alert() -> None:
    alerts = (TERRAFORM / "modules/alerts/main.tf").read_text("utf-8")
    linked = set(re.findall(r'local\.runbooks\["([\w-]+)"\]', alerts))
    said = re.search(r"  said = \{\n(.*?)\n  \}", alerts, re.DOTALL)
    assert said is not None
    assert linked == {line.split("=")[0].strip() for line in said[1].splitlines()}
    assert linked == {path.stem for path in (ROOT / "docs/runbooks").glob("*.md")}
