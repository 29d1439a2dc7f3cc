"""From an event to the keys that must look again. An index of live resources, kept from the custom resources.

An event of nobody here costs a dictionary look-up and nothing else.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from controller.api.reasons import Reason
from controller.core.model import Cause, Key, Kind, Scope, Wake
from controller.core.names import base_instance_name, base_name_of
from controller.core.observed import ResourceRef
from sinks.intake.events import Event, EventKind, Phase, Resource

_RESOURCE_KINDS = {Resource.GROUP: Kind.MIG, Resource.TEMPLATE: Kind.TEMPLATE, Resource.POLICY: Kind.POLICY}

#: What kind of trouble an event names. It explains a loss that the API confirms; it never makes one.
_HINTS: Mapping[EventKind, tuple[Reason, str]] = {
    EventKind.PREEMPTED: (Reason.PREEMPTED, "Compute Engine preempted the VM"),
    EventKind.HOST_ERROR: (Reason.HOST_ERROR, "the machine under the VM failed"),
    EventKind.HOST_MAINTENANCE: (Reason.HOST_MAINTENANCE, "the VM was stopped for maintenance of its host"),
    EventKind.GUEST_TERMINATED: (Reason.GUEST_TERMINATED, "the VM was shut down from inside"),
}

#: Steps of the bootstrap log after which something may be there to see. The others are steps of the same wait.
_BOOTSTRAP_LOOKS = frozenset({"booted", "failed"})


@dataclass(frozen=True, slots=True)
class Hint:
    """A reason for the trouble of one incarnation of a VM. Untrusted: the API must show the trouble first."""

    instance_id: str
    reason: Reason
    message: str


@dataclass(frozen=True, slots=True)
class Route:
    """A key to wake, how, and what to remember of the event."""

    key: Key
    wake: Wake
    hint: Hint | None = None


@dataclass(slots=True)
class RoutingIndex:
    """Who owns which GCE names. Mutable: the runtime keeps it from the custom resources."""

    #: (project, zone, base instance name) -> the group, or the standalone MIG, that looks at such VMs.
    _instances: dict[tuple[str, str, str], Key] = field(default_factory=dict)
    #: (kind, project, name) -> the child that drives this resource.
    _resources: dict[tuple[Kind, str, str], Key] = field(default_factory=dict)

    def add_instances_of(self, mig: ResourceRef, key: Key) -> None:
        """VMs of this MIG concern this key."""
        self._instances[mig.project, mig.location, base_instance_name(mig.name)] = key

    def add_resource(self, ref: ResourceRef, key: Key) -> None:
        """The resource concerns this child."""
        self._resources[ref.kind, ref.project, ref.name] = key

    def remove(self, key: Key) -> None:
        """Forget everything that concerns this key."""
        self._instances = {at: owner for at, owner in self._instances.items() if owner != key}
        self._resources = {at: owner for at, owner in self._resources.items() if owner != key}

    def owner_of_instance(self, project: str, zone: str | None, name: str) -> Key | None:
        """The key whose MIG makes VMs of such a name. A base name has no fixed length, but its suffix has."""
        base = base_name_of(name)
        return self._instances.get((project, zone, base)) if base and zone else None

    @property
    def projects(self) -> frozenset[str]:
        """The projects in which somebody here has VMs."""
        return frozenset(at[0] for at in self._instances)

    def owner_of_base(self, base: str) -> Key | None:
        """A key that looks at VMs of this base name, wherever: names of ours bear a hash of the UID."""
        return next((key for at, key in self._instances.items() if at[2] == base), None)

    def owner_of_resource(self, kind: Kind, project: str, name: str) -> Key | None:
        """The child that drives this resource."""
        return self._resources.get((kind, project, name))


def route(event: Event, index: RoutingIndex, published: datetime) -> Route | None:
    """The key that an event concerns and the look that it asks for; None if nobody here, or nothing to see."""
    if event.failure is not None and not event.operation_id:
        # Refused before it began (facts: audit logs 2): nothing changed, and its caller was told. A look now would
        # try again at once, be refused again, and so go round at the pace of the log.
        return None
    if event.resource is Resource.INSTANCE:
        return _route_instance(event, index, published)
    kind = _RESOURCE_KINDS.get(event.resource)
    if kind is None or event.phase is Phase.FIRST:
        return None
    key = index.owner_of_resource(kind, event.project, event.name)
    return None if key is None else Route(key, Wake(Scope.MIG, _cause(event, published)))


def is_ours(event: Event, index: RoutingIndex) -> bool:
    """Whether the event is about something that a key here owns, whatever there is to see of it."""
    if event.resource is Resource.INSTANCE:
        return index.owner_of_instance(event.project, event.zone, event.name) is not None
    kind = _RESOURCE_KINDS.get(event.resource)
    return kind is not None and index.owner_of_resource(kind, event.project, event.name) is not None


def _route_instance(event: Event, index: RoutingIndex, published: datetime) -> Route | None:
    key = index.owner_of_instance(event.project, event.zone, event.name)
    if key is None or not _shows_something(event):
        return None
    cause = _cause(event, published)
    return Route(key, Wake(Scope.INSTANCES, cause, {event.name: cause}), _hint(event))


def _shows_something(event: Event) -> bool:
    """Whether the API can show a change by now that an earlier look could not have seen."""
    if event.kind is EventKind.BOOTSTRAP:
        return event.step in _BOOTSTRAP_LOOKS
    if event.kind is EventKind.METADATA:
        # A success is the echo of a write; a failure is how a fingerprint conflict inside an operation shows.
        return event.failure is not None
    beginning = event.kind in {EventKind.INSERTED, EventKind.STARTED, EventKind.RESET}
    return not (beginning and event.phase is Phase.FIRST)


def _cause(event: Event, published: datetime) -> Cause:
    kind = event.cause if event.kind is EventKind.BOOTSTRAP else f"{event.cause}.{event.phase}"
    detail = event.failure.message if event.failure else event.reason
    return Cause(kind, published, event.key, detail[:200], event.instance_id or "")


def _hint(event: Event) -> Hint | None:
    if event.instance_id is None:
        return None
    if event.kind is EventKind.BOOTSTRAP and event.step == "failed":
        return Hint(
            event.instance_id, Reason.BOOTSTRAP_FAILED, event.reason[:500] or "the startup script gave no reason"
        )
    if event.kind not in _HINTS:
        return None
    reason, words = _HINTS[event.kind]
    return Hint(event.instance_id, reason, event.reason[:500] or words)
