"""The findings for people: one line each, what to do below it, and a count at the end."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from controller.doctor.findings import Finding, Status

_STYLES: Final = {Status.OK: "green", Status.WARNING: "yellow", Status.FAILED: "bold red", Status.SKIPPED: "dim"}


def show(findings: Sequence[Finding], console: Console) -> None:
    """Print them. A mend is never cut: it is a command to copy, and wraps where the terminal ends."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in findings:
        verdict = finding.verdict
        style = _STYLES[verdict.status]
        said = Text(verdict.message, style="dim" if verdict.status is Status.SKIPPED else "")
        table.add_row(Text(verdict.status.value, style=style), Text(finding.title), said)
        if verdict.mend:
            table.add_row("", "", Text.assemble(("mend: ", style), verdict.mend))
    console.print(table)
    console.print()
    console.print(Text(_summary(findings)))


def _summary(findings: Sequence[Finding]) -> str:
    counts = Counter(finding.verdict.status for finding in findings)
    return ", ".join(f"{counts[status]} {status.value}" for status in Status if counts[status])
