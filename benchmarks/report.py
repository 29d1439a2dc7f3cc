"""What was measured, against what is promised: a table for people."""

from dataclasses import dataclass
from typing import Any, Final

from rich.console import Console
from rich.table import Table

Json = dict[str, Any]
_PEERS: Final = ("operator", "raw", "threads")


@dataclass(frozen=True, slots=True)
class Target:
    """A promise: the value must be at least, or at most, the bound."""

    name: str
    value: float
    bound: float
    at_least: bool

    @property
    def met(self) -> bool:
        """Whether it is kept."""
        return self.value >= self.bound if self.at_least else self.value <= self.bound

    def to_json(self) -> Json:
        """As it stands in the report."""
        return {
            "name": self.name,
            "value": self.value,
            "at_least" if self.at_least else "at_most": self.bound,
            "met": self.met,
        }


def targets(report: Json) -> list[Target]:
    """Every promise that this run can judge."""
    paced, full = report["paced"], report["full_speed"]
    judged = [
        Target("decode and route, entries a second", report["decode_and_route"]["per_second"], 5000, at_least=True),
        Target(f"publish to look at {paced['rate']:g}/s, p50 in ms", paced["operator"]["p50_ms"], 10, at_least=False),
        Target(f"publish to look at {paced['rate']:g}/s, p99 in ms", paced["operator"]["p99_ms"], 50, at_least=False),
        Target("full speed, share of the raw client's rate", full["operator_to_raw"], 0.5, at_least=True),
    ]
    if report["memory"] is not None:
        slope = report["memory"]["mb_per_100000"]
        judged.append(Target("memory, MB more for each 100,000 events", slope, 1, at_least=False))
    return judged


def show(report: Json, console: Console) -> None:
    """The tables."""
    machine = report["machine"]
    console.print(f"{machine['cpus']} CPUs, Python {machine['python']}, {machine['system']}", highlight=False)
    peers = Table("Pub/Sub (embedded server)", "operator", "raw async client", "threaded client")
    paced = report["paced"]
    _row(peers, f"{paced['rate']:g}/s: p50, p99 in ms", paced, "{p50_ms:.1f}, {p99_ms:.1f}")
    _row(peers, f"{paced['rate']:g}/s: CPU s for {paced['messages']:,}", paced, "{cpu_seconds:.2f}")
    for name, title in (("full_speed", "full speed"), ("backlog", "a backlog")):
        _row(peers, f"{title}: messages a second", report[name], "{per_second:,.0f}")
        _row(peers, f"{title}: CPU s for {report[name]['messages']:,}", report[name], "{cpu_seconds:.2f}")
    console.print(peers)
    promises = Table("promise", "measured", "bound", "")
    for target in targets(report):
        bound = f"{'at least' if target.at_least else 'at most'} {target.bound:,g}"
        promises.add_row(target.name, f"{target.value:,g}", bound, "met" if target.met else "MISSED")
    console.print(promises)


def _row(table: Table, title: str, measured: Json, form: str) -> None:
    table.add_row(title, *(form.format(**measured[peer]) for peer in _PEERS))
