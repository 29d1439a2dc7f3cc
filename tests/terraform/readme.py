"""The tables of inputs and outputs in the modules' READMEs, from the modules themselves: `make docs` writes them.

terraform-docs would do the same, and is one more binary to build. This reads only what `terraform fmt` gave its shape.
"""

import re
from pathlib import Path
from typing import Final

from tests.terraform.workspace import TERRAFORM

BEGIN: Final = "<!-- Written by make docs: -->"
END: Final = "<!-- until here. -->"
_BLOCK: Final = re.compile(r'^(?:variable|output) "(\w+)" \{\n(.*?)^\}', re.MULTILINE | re.DOTALL)


def attribute(body: str, name: str) -> str:
    """An attribute of a block as it is written, on one line; "" where it is not there."""
    found = re.search(rf"^  {name} +=", body, re.MULTILINE)
    if not found:
        return ""
    lines = body[found.end() :].split("\n")
    taken = [lines[0]]
    # A value that goes on is indented until the line that closes it.
    while taken[0].rstrip().endswith(("(", "{", "[")) and not re.match(r"  [)}\]]", taken[-1]):
        taken.append(lines[len(taken)])
    written = re.sub(r"\s+", " ", ", ".join(line.strip() for line in taken))
    return re.sub(r"([({\[]),", r"\1", re.sub(r", ([)}\]])", r" \1", written))


def tables(folder: Path) -> str:
    """Both tables of a module or example."""
    rows = []
    for name, body in _BLOCK.findall((folder / "variables.tf").read_text("utf-8")):
        default = attribute(body, "default")
        shown = f"`{default}`" if default else "required"
        rows.append(f"| `{name}` | `{_cell(attribute(body, 'type'))}` | {_cell(shown)} | {_said(body)} |\n")
    outputs = [
        f"| `{name}` | {_said(body)} |\n" for name, body in _BLOCK.findall((folder / "outputs.tf").read_text("utf-8"))
    ]
    return (
        "| input | type | default | what it is for |\n|---|---|---|---|\n"
        + "".join(rows)
        + "\n| output | what it is |\n|---|---|\n"
        + "".join(outputs)
    )


def _said(body: str) -> str:
    return _cell(attribute(body, "description").removeprefix('"').removesuffix('"').replace('\\"', '"'))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def written(page: str, folder: Path) -> str:
    """The page with its tables made anew. Raises ValueError where it has no place for them."""
    head, begin, rest = page.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{folder}/README.md has not the two lines that its tables stand between")
    return f"{head}{begin}\n\n{tables(folder)}\n{end}{tail}"


def pages() -> list[Path]:
    """Every README with tables."""
    return sorted(path for path in TERRAFORM.glob("*/*/README.md"))


if __name__ == "__main__":
    for path in pages():
        path.write_text(written(path.read_text("utf-8"), path.parent), encoding="utf-8")
