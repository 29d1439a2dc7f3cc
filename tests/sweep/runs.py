"""Which runs a sweep makes: every life with every fault on every one of its events. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from simulator.logging.kinds import event_names, resource_of

Json = dict[str, Any]

#: What happens to a single event: it never comes, comes twice, after the end, after the one that follows it.
LOST: Final = ("drop", "hold")
TOLD: Final = ("duplicate", "swap")


@dataclass(frozen=True, slots=True, order=True)
class Event:
    """The `nth` event of this name that concerns a group, as planned faults name events."""

    name: str
    nth: int


@dataclass(frozen=True, slots=True)
class Run:
    """One life of one group, and what befalls it. `event` None: the fault is no single event's."""

    life: str
    fault: str = "none"
    event: Event | None = None

    def __str__(self) -> str:
        told = f" of {self.event.name} no. {self.event.nth}" if self.event else ""
        return f"{self.life}, {self.fault}{told}"


def events_of(group: str, logs: Iterable[Json]) -> list[Event]:
    """The events of a group, in the order of their writing. `logs`: `history.logs` of the world, in full."""
    seen: Counter[str] = Counter()
    events = []
    for log in logs:
        if log["admitted"] and resource_of(log["entry"]).startswith(f"{group}-"):
            name = event_names(log["entry"])[-2]
            seen[name] += 1
            events.append(Event(name, seen[name]))
    return events


def shared(lists: Sequence[Sequence[Event]]) -> list[Event]:
    """The events that all of several lives had, in the order of the first one's."""
    return [event for event in lists[0] if all(event in others for others in lists[1:])]


def one_by_one(events: Mapping[str, Sequence[Event]], faults: Iterable[str]) -> list[Run]:
    """Each of these faults on each event of each life."""
    return [Run(life, fault, event) for fault in faults for life, each in events.items() for event in each]
