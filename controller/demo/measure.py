"""How fast it was: from RUNNING, and from the event that told of it, to the token in the VM. Pure.

Both end at the moment at which the setMetadata that put the token there took effect, by the world's own clock.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Final

from controller.demo.records import Act, Life, Token

#: The causes that are told apart, in the report's words.
CAUSES: Final = ("insert_last", "booted", "follow_up")
_CAUSE_OF_KIND: Final = {
    "instance.inserted.last": "insert_last",
    "instance.bootstrap.booted": "booted",
    "follow_up": "follow_up",
}


@dataclass(frozen=True, slots=True)
class Injection:
    """One token in one VM, with the look that put it there (None when no audit record tells of it)."""

    life: Life
    token: Token
    running: datetime | None
    act: Act | None

    @property
    def cause(self) -> str:
        """The report's word for what woke the look, "" for any other cause."""
        return _CAUSE_OF_KIND.get(self.act.cause, "") if self.act else ""


def injections(lives: Iterable[Life], acts: Iterable[Act]) -> tuple[Injection, ...]:
    """Every token that took effect, joined with the last InjectToken on that instance id that began before it."""
    by_id: dict[str, list[Act]] = {}
    for act in sorted(acts, key=lambda each: each.at):
        if act.action == "InjectToken" and act.outcome != "begun":
            by_id.setdefault(act.instance_id, []).append(act)
    found = []
    for life in lives:
        for token in life.tokens:
            before = [act for act in by_id.get(life.id, ()) if act.at <= token.at]
            found.append(Injection(life, token, life.ran_at(token.at), before[-1] if before else None))
    return tuple(found)


def running_to_token(found: Iterable[Injection]) -> tuple[float, ...]:
    """Milliseconds from the world's RUNNING: what the user feels, the log's own delay included."""
    return tuple(_milliseconds(each.token.at - each.running) for each in found if each.running)


def event_to_token(found: Iterable[Injection], cause: str | None = None) -> tuple[float, ...]:
    """Milliseconds from the later of RUNNING and the publication of the entry that woke the look.

    For a follow-up look, its due time stands for the publication. `cause`: only those of one of CAUSES.
    """
    return tuple(
        _milliseconds(each.token.at - max(each.running, each.act.cause_at))
        for each in found
        if each.running and each.act and each.act.cause_at and cause in {None, each.cause}
    )


def summary(values: Sequence[float]) -> dict[str, float | None]:
    """`n`, `p50`, `p99` (nearest rank) and `max`; None where there is nothing to measure."""
    ordered = sorted(values)
    if not ordered:
        return {"n": 0, "p50": None, "p99": None, "max": None}
    return {
        "n": len(ordered),
        "p50": nearest_rank(ordered, 50),
        "p99": nearest_rank(ordered, 99),
        "max": round(ordered[-1], 1),
    }


def nearest_rank(ordered: Sequence[float], percent: int) -> float:
    """The smallest value that at least `percent` of the values do not exceed; `ordered` is not empty."""
    return round(ordered[ceil(percent * len(ordered) / 100) - 1], 1)


def _milliseconds(duration: timedelta) -> float:
    return duration / timedelta(milliseconds=1)
