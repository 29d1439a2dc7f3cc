"""What happened, as lines for people: each with its moment, and what it was because of. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Final

from controller.demo.records import Act, Life

#: More lines of one kind than this, told in one go, become one line.
MANY: Final = 4


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happened. `kind` groups steps that may be told as one; `many` says how, with `{n}`."""

    at: datetime
    text: str
    because: str = ""
    kind: str = ""
    many: str = ""


@dataclass(frozen=True, slots=True)
class Announcement:
    """An event that Compute Engine wrote of itself: a host error, a preemption, a restart."""

    at: datetime
    method: str
    name: str
    message: str


_ACTS: Final = {
    "InsertResource": ("operator creates {resource}", "operator creates {n} resources"),
    "DeleteResource": ("operator deletes {resource}", "operator deletes {n} resources"),
    "MintToken": ("operator mints a join token for {name}", "operator mints join tokens for {n} VMs"),
    "DeleteStaleNode": ("operator deletes the stale Node {name}", "operator deletes {n} stale Nodes"),
    "Cordon": ("operator cordons {name}", "operator cordons {n} Nodes"),
    "Uncordon": ("operator uncordons {name}", "operator uncordons {n} Nodes"),
    "RevokeToken": ("operator revokes {name}", "operator revokes {n} tokens"),
}


def of_lives(lives: Iterable[Life], causes: dict[str, str]) -> list[Step]:
    """What became of VMs. `causes`: token id -> what made the operator look."""
    steps = []
    for life in lives:
        again = False
        for at in life.running:
            text = f"{life.name} is RUNNING{' again' if again else ''} (id {life.id})"
            steps.append(Step(at, text, kind="running", many="{n} VMs are RUNNING"))
            again = True
        for token in life.tokens:
            because = causes.get(token.id, "")
            steps.append(Step(token.at, f"{life.name} has its token", because, "token", "{n} VMs have their tokens"))
        if life.deleted:
            steps.append(
                Step(life.deleted, f"{life.name} is gone (id {life.id})", kind="gone", many="{n} VMs are gone")
            )
    return steps


def of_acts(acts: Iterable[Act]) -> list[Step]:
    """What the operator did, of the acts that tell the story."""
    steps = []
    for act in acts:
        if act.took_effect and act.action in _ACTS:
            one, many = _ACTS[act.action]
            text = one.format(resource=_short(act.resource), name=act.name)
            steps.append(Step(act.at, text, act.cause, act.action, many))
    return steps


def of_announcements(announcements: Iterable[Announcement]) -> list[Step]:
    """What Compute Engine did by itself."""
    return [
        Step(
            each.at,
            f"Compute Engine: {each.method} {each.name}",
            kind=each.method,
            many=f"Compute Engine: {each.method} of {{n}} VMs",
        )
        for each in announcements
    ]


def condense(steps: Sequence[Step]) -> list[Step]:
    """In the order of time; many neighbours of one kind as one line, at the time of the last of them."""
    ordered = sorted(steps, key=lambda step: step.at)
    told: list[Step] = []
    for _, neighbours in groupby(ordered, key=lambda step: (step.kind, step.many) if step.many else id(step)):
        group = list(neighbours)
        if len(group) <= MANY:
            told.extend(group)
        else:
            because = ", ".join(sorted({step.because for step in group if step.because}))
            told.append(Step(group[-1].at, group[-1].many.format(n=len(group)), because))
    return told


def _short(resource: str) -> str:
    """`resourcePolicies/x` of a partial URL."""
    return "/".join(resource.split("/")[-2:])
