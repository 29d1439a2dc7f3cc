"""`GET /control/world` read as values: who lived, who acted, what Compute Engine announced, what is there. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from controller.api.constants import LOG_ACTIONS
from controller.demo.measure import Injection, injections
from controller.demo.records import Act, Life, lives_of, time_of
from controller.demo.steps import Announcement

Json = Mapping[str, Any]

_SYSTEM_EVENTS: Final = "cloudaudit.googleapis.com%2Fsystem_event"


@dataclass(frozen=True)
class History:
    """Everything that a bystander can read from one look at the world."""

    lives: tuple[Life, ...]
    acts: tuple[Act, ...]
    announcements: tuple[Announcement, ...]

    @cached_property
    def injections(self) -> tuple[Injection, ...]:
        """Every token that took effect, with the look that put it there."""
        return injections(self.lives, self.acts)


def history_of(world: Json) -> History:
    """The history part of the world."""
    history = world["history"]
    entries = history["logs"]
    return History(
        lives=lives_of(history["instances"]),
        acts=tuple(sorted(_acts(entries), key=lambda act: act.at)),
        announcements=tuple(_announcements(entries)),
    )


def _acts(entries: list[Json]) -> Iterator[Act]:
    for entry in entries:
        if entry["logName"].endswith(f"/{LOG_ACTIONS}"):
            said = entry["jsonPayload"]
            cause = said.get("cause", {})
            yield Act(
                action=said["action"],
                resource=said["resource"],
                at=time_of(entry["timestamp"]),
                outcome=said["outcome"],
                cause=cause.get("kind", ""),
                cause_at=time_of(cause["at"]) if cause.get("at") else None,
                detail=cause.get("detail", ""),
            )


def _announcements(entries: list[Json]) -> Iterator[Announcement]:
    for entry in entries:
        if entry["logName"].endswith(_SYSTEM_EVENTS):
            said = entry["protoPayload"]
            method, name = said["methodName"].removeprefix("compute.instances."), said["resourceName"]
            message = said.get("status", {}).get("message", "")
            yield Announcement(time_of(entry["timestamp"]), method, name.rpartition("/")[2], message)
