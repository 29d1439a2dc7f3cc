"""What happened, as lines for people: each with its moment, and what it was because of. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import IntEnum
from itertools import accumulate, groupby
from typing import Final

from controller.demo.records import Act, Life

#: More lines of one kind than this, told in one go, become one line.
MANY: Final = 4
#: A bystander hears of a Node no more than this later than the operator does.
_LATER: Final = timedelta(seconds=1)
_JOINED: Final = "joined"


class Rank(IntEnum):
    """What is told first of things at the same moment, as the times are shown: causes before effects."""

    SAID = 0
    ANNOUNCED = 1
    SEEN = 2
    ACT = 3
    EFFECT = 4
    CONDITION = 5
    END = 6


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happened. `kind` groups steps that may be told as one; `many` says how, with `{n}`."""

    at: datetime
    text: str
    because: str = ""
    kind: str = ""
    many: str = ""
    rank: Rank = Rank.SAID


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
            steps.append(Step(at, text, kind="running", many="{n} VMs are RUNNING", rank=Rank.SEEN))
            again = True
        for token in life.tokens:
            because = causes.get(token.id, "")
            text, many = f"{life.name} has its token", "{n} VMs have their tokens"
            steps.append(Step(token.at, text, because, "token", many, Rank.EFFECT))
        if life.deleted:
            text = f"{life.name} is gone (id {life.id})"
            steps.append(Step(life.deleted, text, kind="gone", many="{n} VMs are gone", rank=Rank.SEEN))
    return steps


def of_node(at: datetime, what: str, name: str) -> Step:
    """What a Node did, as the cluster showed it."""
    rank = Rank.EFFECT if what == "deleted" else Rank.SEEN
    return Step(at, f"Node {name} {what}", kind=f"node {what}", many=f"{{n}} Nodes {what}", rank=rank)


def joined_before_revoked(steps: Iterable[Step], lives: Iterable[Life], acts: Iterable[Act]) -> list[Step]:
    """The steps, with no Node joining later than its token was revoked because of it.

    Operator and bystander watch the same cluster, and the operator may have acted before the bystander hears.
    """
    owners = {token.id: life.name for life in lives for token in life.tokens}
    revoked: dict[str, list[datetime]] = {}
    for act in acts:
        owner = owners.get(act.name.removeprefix("bootstrap-token-"))
        if act.action == "RevokeToken" and act.took_effect and owner:
            revoked.setdefault(of_node(act.at, _JOINED, owner).text, []).append(act.at)

    def told(step: Step) -> Step:
        earlier = [at for at in revoked.get(step.text, ()) if at < step.at <= at + _LATER]
        return replace(step, at=min(earlier)) if earlier else step

    return [told(step) for step in steps]


def of_acts(acts: Iterable[Act]) -> list[Step]:
    """What the operator did, of the acts that tell the story."""
    steps = []
    for act in acts:
        if act.took_effect and act.action in _ACTS:
            one, many = _ACTS[act.action]
            text = one.format(resource=_short(act.resource), name=act.name)
            steps.append(Step(act.at, text, act.cause, act.action, many, Rank.ACT))
    return steps


def of_announcements(announcements: Iterable[Announcement]) -> list[Step]:
    """What Compute Engine did by itself."""
    return [
        Step(
            each.at,
            f"Compute Engine: {each.method} {each.name}",
            kind=each.method,
            many=f"Compute Engine: {each.method} of {{n}} VMs",
            rank=Rank.ANNOUNCED,
        )
        for each in announcements
    ]


def shown(at: datetime, zero: datetime) -> float:
    """The time of a step as it is told: seconds since `zero`, to the hundredth."""
    return round((at - zero).total_seconds(), 2)


def condense(steps: Sequence[Step], zero: datetime) -> list[Step]:
    """In the order of the times shown, causes first; many neighbours of one kind as one, at the time of the last.

    What user and fate do parts the story: it answers all that was before, and all that is after answers it.
    """
    by_time = sorted(steps, key=lambda step: step.at)
    parts = accumulate(step.rank is Rank.SAID for step in by_time)
    in_parts = zip(parts, by_time, strict=True)
    ordered = [step for _, step in sorted(in_parts, key=lambda it: (it[0], shown(it[1].at, zero), it[1].rank))]
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
