"""What a bystander can know of a run, as values: the lives of VMs, and the acts of the operator. Pure.

Both come from `GET /control/world`, under `history` (docs/simulator.md).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

#: A part of what the world or the cluster tells: read, never written.
Told = Mapping[str, Any]

_ACTED: Final = frozenset({"accepted", "done"})


@dataclass(frozen=True, slots=True)
class Token:
    """A join token's public half, and when the setMetadata that put it into the VM took effect."""

    id: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Life:
    """The life of one VM incarnation, as the world saw it."""

    id: str
    name: str
    created: datetime
    running: tuple[datetime, ...]
    tokens: tuple[Token, ...]
    deleted: datetime | None = None

    def ran_at(self, at: datetime) -> datetime | None:
        """The last time it became RUNNING, not later than `at`."""
        return max((began for began in self.running if began <= at), default=None)


@dataclass(frozen=True, slots=True)
class Act:
    """One audit record: what the operator did, and what made it look."""

    action: str
    resource: str
    at: datetime
    outcome: str
    cause: str
    #: When the entry that woke the look reached Pub/Sub, or when the timer was due.
    cause_at: datetime | None

    @property
    def name(self) -> str:
        """The last segment of the resource; of a VM its name (it is written `name@id`)."""
        return self.resource.rpartition("/")[2].partition("@")[0]

    @property
    def instance_id(self) -> str:
        """Of a VM its id, which tells the incarnations of one name apart; else ""."""
        return self.resource.rpartition("@")[2] if "@" in self.resource else ""

    @property
    def took_effect(self) -> bool:
        """False for what failed or was left out."""
        return self.outcome in _ACTED


def lives_of(instances: Mapping[str, Told]) -> tuple[Life, ...]:
    """`history.instances`, by id, in the order of creation."""
    lives = [
        Life(
            id=instance_id,
            name=body["name"],
            created=time_of(body["createdAt"]),
            running=tuple(map(time_of, body["runningAt"])),
            tokens=tuple(Token(each["tokenId"], time_of(each["effectAt"])) for each in body["tokens"]),
            deleted=time_of(body["deletedAt"]) if body["deletedAt"] else None,
        )
        for instance_id, body in instances.items()
    ]
    return tuple(sorted(lives, key=lambda life: (life.created, life.name)))


def time_of(text: str) -> datetime:
    """An RFC 3339 time in UTC; digits beyond microseconds are dropped (facts: audit logs 1)."""
    whole, point, fraction = text.removesuffix("Z").partition(".")
    return datetime.fromisoformat(f"{whole}{point}{fraction[:6]}+00:00")
