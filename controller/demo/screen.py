"""The demo on a terminal: lines as things happen, a table at the end. Says nothing when the report is JSON."""

from collections.abc import Sequence
from datetime import UTC, datetime

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from controller.api.reasons import NORMAL
from controller.demo.measure import CAUSES, event_to_token, running_to_token, summary
from controller.demo.report import Report
from controller.demo.steps import Step, shown

_CAUSE_WORDS = {
    "insert_last": "event to token: instances.insert done",
    "booted": "event to token: VM says booted",
    "follow_up": "due look to token: no event",
}
#: Words that begin a line: what befalls the machines, trouble, progress, good news, the user.
_STYLES = (
    ("Compute Engine:", "bold red"),
    *((f"Ready=False, {reason}:", "yellow") for reason in NORMAL),
    ("Ready=False", "bold red"),
    ("Ready=True", "bold green"),
    ("you ", "bold"),
)


class Screen:
    """Prints steps with their time since the apply."""

    def __init__(self, console: Console) -> None:
        self._console = console
        #: Times are told since this.
        self.zero: datetime = datetime.min.replace(tzinfo=UTC)

    @property
    def silent(self) -> bool:
        """True when nothing of all this is shown."""
        return self._console.quiet

    def note(self, text: str) -> None:
        """A line without a time: before the apply, or from the demo itself."""
        self._console.print(Text(text, style="dim"), soft_wrap=True)

    def start(self, zero: datetime) -> None:
        """From here on times are told since `zero`."""
        self.zero = zero

    def tell(self, steps: Sequence[Step]) -> None:
        """Print steps in the order given."""
        for step in steps:
            style = next((style for words, style in _STYLES if step.text.startswith(words)), "")
            line = Text(f"{shown(step.at, self.zero):7.2f} s  ", style="cyan").append(step.text, style=style)
            if step.because:
                line.append(f"  <- {step.because}", style="dim")
            self._console.print(line, soft_wrap=True)

    def end(self, report: Report) -> None:
        """The table at the end, and what went wrong."""
        self._console.print()
        if report.injections:
            self._table(_times(report))
        if report.gce_calls:
            self._table(_calls(report))
        if not report.kept:
            left = ", ".join(report.left_behind) or "nothing"
            self._console.print(Text(f"Left behind: {left}"), soft_wrap=True)
        for failure in report.failures:
            self._console.print(Text(f"FAILED: {failure}", style="bold red"), soft_wrap=True)
        if report.ok:
            self._console.print(Text(f"All well: Ready {report.ready_seconds:.1f} s after the apply.", style="green"))

    def _table(self, table: Table) -> None:
        """Print a table; where it is not for a terminal, without the blanks that fill its lines."""
        if self._console.is_terminal or self.silent:
            self._console.print(table)
            return
        with self._console.capture() as captured:
            self._console.print(table)
        lines = [line.rstrip() for line in captured.get().splitlines()]
        self._console.print(Text("\n".join(lines)), soft_wrap=True)


def _times(report: Report) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title="Milliseconds", title_justify="left", title_style="bold")
    table.add_column("from ... to")
    for column in ("n", "p50", "p99", "max"):
        table.add_column(column, justify="right")
    rows = [
        ("VM RUNNING to token in the VM", running_to_token(report.injections)),
        *((_CAUSE_WORDS[cause], event_to_token(report.injections, cause)) for cause in CAUSES),
        ("token in the VM to Node joined", tuple(report.token_to_join)),
    ]
    for title, values in rows:
        if values:
            of = summary(values)
            table.add_row(title, str(of["n"]), *(f"{of[column]:.0f}" for column in ("p50", "p99", "max")))
    return table


def _calls(report: Report) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title="Compute Engine calls", title_justify="left", title_style="bold")
    table.add_column("method")
    table.add_column("calls", justify="right")
    for method, count in report.gce_calls.items():
        table.add_row(method, str(count))
    return table
