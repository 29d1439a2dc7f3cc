"""Audit entries that must come: of what we did, and of what a resync found done. In memory: a restart expects nothing.

Times are seconds of the monotonic clock. An entry is told by its operation or by the name of its resource; it also
settles what was awaited before it. Another entry of the same type does so too once it cannot have been on its way
before: then the path is whole for this type, whatever became of the one that was awaited.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from controller.core.deafness import Missed
from controller.core.model import Kind
from controller.core.observed import ResourceRef
from sinks.intake.events import Event, EventKind, Resource

#: What is awaited, by `resource.type`. Not policies: no public entry shows their operation or type, and whoever waits
#: for what may never come is deaf for ever (facts: audit logs 6). Not setMetadata: the filter drops its success.
_TYPES: Final[Mapping[Resource, str]] = {
    Resource.GROUP: "gce_instance_group_manager",
    Resource.TEMPLATE: "gce_instance_template",
    Resource.INSTANCE: "gce_instance",
}
_OF_KIND: Final = {Kind.MIG: Resource.GROUP, Kind.TEMPLATE: Resource.TEMPLATE}
_LOSS: Final = "loss"
_LOSSES: Final = frozenset(
    {
        EventKind.DELETED,
        EventKind.STOPPED,
        EventKind.PREEMPTED,
        EventKind.HOST_ERROR,
        EventKind.HOST_MAINTENANCE,
        EventKind.GUEST_TERMINATED,
        EventKind.REPAIR,
    }
)
#: An event may tell of a VM long before the API shows it (facts: audit logs 3, repair; 4): so long it has been told.
_TOLD: Final = 900.0
_REMEMBERED: Final = 20_000
#: The oldest ones tell all there is to tell.
_MOST: Final = 256


@dataclass(slots=True)
class _Entry:
    what: str
    name: str
    operation: str
    since: float
    ended: float | None = None


def is_audit(event: Event) -> bool:
    """Whether it is an entry of the audit log: not a VM's own word, not a canary."""
    return event.resource is not Resource.CANARY and event.kind is not EventKind.BOOTSTRAP


class Awaited:
    """What must come, by project and type."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, Resource], list[_Entry]] = {}
        #: Operations and names that entries told of lately, and when.
        self._told: OrderedDict[tuple[str, ...], float] = OrderedDict()

    def mutated(self, ref: ResourceRef, verb: str, operation: str, began: float, now: float) -> None:
        """A mutation of ours was accepted as this operation. Its entry may have come before the answer."""
        resource = _OF_KIND.get(ref.kind)
        if resource is None or not operation:
            return
        told = max(self._told.get(("", operation), -1.0), self._told.get((ref.project, resource, ref.name), -1.0))
        if told < began:
            self._await(ref.project, resource, _Entry(f"{verb} of {ref.path}", ref.name, operation, now))

    def ended(self, operation: str, now: float) -> None:
        """An operation is known to have ended: its last entry is written too."""
        for entries in self._entries.values():
            for entry in entries:
                if entry.operation == operation and entry.ended is None:
                    entry.ended = now

    def found(self, ref: ResourceRef, lost: Iterable[str], came: Iterable[str], now: float) -> int:
        """A resync found VMs of this MIG that had stopped, gone or been replaced, or that run: entries say so.

        Returns of how many of them none did.
        """
        long_ago = now - _TOLD
        untold = [name for name in lost if self._told.get((ref.project, _LOSS, name), long_ago) <= long_ago]
        untold += [n for n in came if self._told.get((ref.project, Resource.INSTANCE, n), long_ago) <= long_ago]
        if untold:
            what = f"what became of projects/{ref.project}/zones/{ref.location}/instances/{untold[0]}"
            self._await(ref.project, Resource.INSTANCE, _Entry(what, untold[0], "", now, ended=now))
        return len(untold)

    def heard(self, event: Event, now: float, grace: float) -> None:
        """An entry came. `grace`: seconds that an entry may be on its way."""
        if not is_audit(event):
            return
        self._remember(("", event.operation_id), now)
        self._remember((event.project, event.resource, event.name), now)
        if event.kind in _LOSSES:
            self._remember((event.project, _LOSS, event.name), now)
        at = (event.project, event.resource)
        entries = self._entries.get(at)
        if entries is None:
            return
        own = [each.since for each in entries if each.name == event.name or each.operation == event.operation_id != ""]
        settled = max(own, default=now - grace)
        self._keep(at, [entry for entry in entries if entry.since > settled])

    def excuse(self, since: float, now: float) -> None:
        """Nothing could be heard in between: that time does not count."""
        for entries in self._entries.values():
            for entry in entries:
                entry.since += now - max(entry.since, since)
                if entry.ended is not None:
                    entry.ended += now - max(entry.ended, since)

    def forget(self, project: str | None = None) -> None:
        """What was awaited (of this project) was lost for all we know: that the path was broken has been told."""
        for at in [at for at in self._entries if project in {None, at[0]}]:
            del self._entries[at]

    def forget_between(self, project: str, since: float, until: float) -> None:
        """What was awaited from then to then was lost in an outage that is over."""
        for at in [at for at in self._entries if at[0] == project]:
            self._keep(at, [entry for entry in self._entries[at] if not since < entry.since < until])

    def missed(self, project: str, now: float) -> tuple[Missed, ...]:
        """What has not come, the oldest of each type."""
        found = [(at[1], entries[0]) for at, entries in self._entries.items() if at[0] == project]
        return tuple(
            Missed(oldest.what, _TYPES[resource], now - oldest.since, _age(oldest.ended, now))
            for resource, oldest in found
        )

    def _await(self, project: str, resource: Resource, entry: _Entry) -> None:
        entries = self._entries.setdefault((project, resource), [])
        if len(entries) < _MOST:
            entries.append(entry)

    def _keep(self, at: tuple[str, Resource], entries: list[_Entry]) -> None:
        if entries:
            self._entries[at] = entries
        else:
            self._entries.pop(at, None)

    def _remember(self, what: tuple[str, ...], now: float) -> None:
        self._told[what] = now
        self._told.move_to_end(what)
        if len(self._told) > _REMEMBERED:
            self._told.popitem(last=False)


def _age(moment: float | None, now: float) -> float | None:
    return None if moment is None else now - moment
