"""The findings for people: one line each, what to do below it, and a count at the end."""

import os
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from controller.doctor.findings import Finding, Status

_STYLES: Final = {Status.OK: "green", Status.WARNING: "yellow", Status.FAILED: "bold red", Status.SKIPPED: "dim"}

#: Wider than any message.
_UNFOLDED: Final = 10_000


def stdout_console() -> Console:
    """Folds at the terminal's width, or at COLUMNS. In a pipe a message stays one line: names in it are to be found."""
    folded = sys.stdout.isatty() or os.environ.get("COLUMNS")
    return Console(highlight=False, width=None if folded else _UNFOLDED)


def show(findings: Sequence[Finding], console: Console) -> None:
    """Print them. A mend is one line, however long: it is to be copied, so only the terminal itself may wrap it."""
    widest = max(len(finding.title) for finding in findings)
    for finding in findings:
        verdict = finding.verdict
        style = _STYLES[verdict.status]
        row = Table.grid(padding=(0, 2))
        row.add_column(width=max(map(len, Status)))
        row.add_column(width=widest)
        row.add_column(overflow="fold")
        said = Text(verdict.message, style="dim" if verdict.status is Status.SKIPPED else "")
        row.add_row(Text(verdict.status.value, style=style), Text(finding.title), said)
        console.print(row)
        if verdict.mend:
            console.print(Text.assemble(("  mend: ", style), verdict.mend), soft_wrap=True)
    console.print()
    console.print(Text(_summary(findings)))


def _summary(findings: Sequence[Finding]) -> str:
    counts = Counter(finding.verdict.status for finding in findings)
    return ", ".join(f"{counts[status]} {status.value}" for status in Status if counts[status])
