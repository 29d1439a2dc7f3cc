"""`GET /control/world` read as values: who lived, who acted, what Compute Engine announced, what is there. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from controller.api.constants import LOG_ACTIONS
from controller.demo.measure import Injection, injections
from controller.demo.records import Act, Life, Told, lives_of, time_of
from controller.demo.steps import Announcement

_SYSTEM_EVENTS: Final = "cloudaudit.googleapis.com%2Fsystem_event"


@dataclass(frozen=True)
class History:
    """Everything that a bystander can read from one look at the world."""

    lives: tuple[Life, ...]
    acts: tuple[Act, ...]
    announcements: tuple[Announcement, ...]
    #: Errors of the simulator itself.
    failures: tuple[str, ...] = ()

    @cached_property
    def injections(self) -> tuple[Injection, ...]:
        """Every token that took effect, with the look that put it there."""
        return injections(self.lives, self.acts)


def history_of(world: Told) -> History:
    """Of `GET /control/world?logs=full`."""
    history = world["history"]
    records = history["logs"]
    return History(
        lives=lives_of(history["instances"]),
        acts=tuple(sorted(_acts(records), key=lambda act: act.at)),
        announcements=tuple(_announcements(record["entry"] for record in records)),
        failures=tuple(f"the simulator itself failed: {failure}" for failure in history["failures"]),
    )


def _acts(records: list[Told]) -> Iterator[Act]:
    published = {record["key"]: record["published"][0]["at"] for record in records if record["published"]}
    for record in records:
        entry = record["entry"]
        if entry["logName"].endswith(f"/{LOG_ACTIONS}"):
            said = entry["jsonPayload"]
            cause = said.get("cause", {})
            # The router knows when it published an entry; only of timers is the operator's own word taken.
            cause_at = published.get(cause.get("event", ""), cause.get("at"))
            yield Act(
                action=said["action"],
                resource=said["resource"],
                at=time_of(entry["timestamp"]),
                outcome=said["outcome"],
                cause=cause.get("kind", ""),
                cause_at=time_of(cause_at) if cause_at else None,
            )


def _announcements(entries: Iterable[Told]) -> Iterator[Announcement]:
    for entry in entries:
        if entry["logName"].endswith(_SYSTEM_EVENTS):
            said = entry["protoPayload"]
            method, name = said["methodName"].removeprefix("compute.instances."), said["resourceName"]
            message = said.get("status", {}).get("message", "")
            yield Announcement(time_of(entry["timestamp"]), method, name.rpartition("/")[2], message)
