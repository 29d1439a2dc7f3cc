"""What the demo reports at its end: the object of `--json`. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from controller.demo.measure import CAUSES, Injection, event_to_token, running_to_token, summary


@dataclass(frozen=True, slots=True)
class Report:
    """A demo's outcome. `failures`: sentences; empty when everything was as it must be."""

    scenario: str
    ready_seconds: float | None
    injections: Sequence[Injection]
    gce_calls: Mapping[str, int]
    left_behind: Sequence[str]
    failures: Sequence[str]
    #: Milliseconds from the token's effect to the Node's registration, one a VM. Shown, not part of the JSON.
    token_to_join: Sequence[float] = field(default=())
    #: Whether everything was to stay: then nothing is left behind by mistake. Not part of the JSON either.
    kept: bool = False

    @property
    def ok(self) -> bool:
        """Nothing failed, nothing stayed."""
        return self.ready_seconds is not None and not self.failures and not self.left_behind

    def to_json(self) -> dict[str, Any]:
        """The object that `--json` prints."""
        by_cause = {cause: summary(event_to_token(self.injections, cause)) for cause in CAUSES}
        return {
            "ok": self.ok,
            "scenario": self.scenario,
            "ready_seconds": self.ready_seconds,
            "running_to_token_ms": summary(running_to_token(self.injections)),
            "event_to_token_ms": {**summary(event_to_token(self.injections)), "by_cause": by_cause},
            "gce_calls": dict(self.gce_calls),
            "left_behind": list(self.left_behind),
            "failures": list(self.failures),
        }


def calls_made(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """How often each method was called in between, the most called first."""
    made = {method: count - before.get(method, 0) for method, count in after.items()}
    return dict(sorted(((method, count) for method, count in made.items() if count), key=lambda it: (-it[1], it[0])))


def compute_calls(calls: Mapping[str, Any]) -> dict[str, int]:
    """Calls to Compute Engine by method, of `GET /control/calls`: nobody but the operator makes any in a demo."""
    counts: dict[str, int] = {}
    for row in calls["calls"]:
        if row["api"] == "compute":
            counts[row["method"]] = counts.get(row["method"], 0) + row["count"]
    return counts
