"""What one group's looks remember between them: the inventory of its VMs as last read. In memory only.

Losing it costs one list of the VMs. It is filled by lists and single reads, and knows the writes that GCE has accepted
and not shown yet, so that a read in between does not undo them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from controller.api.constants import KEY_JOIN_TOKEN
from controller.core.failures import Failure
from controller.core.hosts import Hint, Inventory
from controller.core.model import Cause
from controller.core.moving import on_their_way
from controller.core.observed import (
    Instance,
    ManagedInstance,
    Metadata,
    MigView,
    OperationError,
    ResourceRef,
    TemplateView,
)

_MAX_HINTS = 4096


@dataclass(frozen=True, slots=True)
class Injection:
    """An accepted setMetadata that carried a token, until a read shows it."""

    token_id: str
    operation: str
    at: datetime


@dataclass(slots=True)
class GroupMemory:
    """A group's inventory, and counters of its follow-ups."""

    filled: bool = False
    instances: dict[str, Instance] = field(default_factory=dict)
    absent: set[str] = field(default_factory=set)
    members: dict[str, ManagedInstance] = field(default_factory=dict)
    #: VMs that the last look was to read and could not, with what was in the way. They stay as they were known.
    unread: dict[str, Failure] = field(default_factory=dict)
    #: Names in the MIG's list that have no VM yet.
    awaited: frozenset[str] = frozenset()
    errors: tuple[OperationError, ...] = ()
    #: Ids of VMs with a name of ours that our MIG does not list.
    strangers: set[str] = field(default_factory=set)
    #: When (in `sequence`) a Node of a name was seen last: an absence is believed only if it was read after that.
    sighted: dict[str, int] = field(default_factory=dict)
    sequence: int = 0
    injections: dict[str, Injection] = field(default_factory=dict)
    hints: dict[str, Hint] = field(default_factory=dict)
    #: The MIG's counts at its last read.
    counts: Mapping[str, int] = field(default_factory=dict)
    #: How far the series of follow-ups is.
    quiet_looks: int = 0
    waiting: int = 0
    #: Whether all hosts were Ready at the last look.
    hosts_ready: bool = False
    template: TemplateView | None = None
    #: Looks in a row that failed.
    failures: int = 0
    #: Of a child: when a refused request may be sent again for an event's sake.
    held_until: datetime | None = None
    next_resync: datetime | None = None
    last_event: datetime | None = None
    #: When the status was written last, and when details that were held back are due.
    told: datetime | None = None
    details_due: datetime | None = None

    def inventory(self, injectable: Mapping[str, str]) -> Inventory:
        """A frozen copy for a decision."""
        return Inventory(
            filled=self.filled,
            instances=dict(self.instances),
            absent=frozenset(self.absent),
            members=dict(self.members),
            awaited=self.awaited,
            injected={instance_id: injection.at for instance_id, injection in self.injections.items()},
            injectable=injectable,
            hints=dict(self.hints),
        )

    def sight(self, name: str, instance_id: str = "") -> None:
        """A Node of this name came or spoke: what was known of the absence of its VM is stale.

        A VM that is known by its row alone is read before such a Node is judged, unless the Node bears its id: when it
        was made is not known, so a Node that joined just before would seem to be that of an earlier VM.
        """
        self.sequence += 1
        self.sighted[name] = self.sequence
        self.absent.discard(name)
        instance = self.instances.get(name)
        if instance is not None and instance.id != instance_id and _is_known_by_its_row_alone(instance):
            del self.instances[name]

    def fill(self, instances: Iterable[Instance], known_names: Iterable[str], began: int) -> bool:
        """Take a complete list that was asked for at sequence `began`. Known names without a VM are absent.

        True if anything moved.
        """
        fresh = {instance.name: self._overlaid(instance) for instance in instances}
        moved = _shape(fresh) != _shape(self.instances)
        missing = {*known_names, *self.instances, *self.members} - fresh.keys()
        self.absent = {name for name in missing if self.sighted.get(name, 0) <= began}
        self.instances = fresh
        self.filled = True
        self._forget_the_gone()
        return moved

    def take(self, name: str, instance: Instance | None, began: int) -> bool:
        """Take one read that was begun at sequence `began`. True if the VM changed."""
        before = self.instances.get(name)
        if instance is not None:
            self.instances[name] = self._overlaid(instance)
            self.absent.discard(name)
        else:
            self.instances.pop(name, None)
            if self.sighted.get(name, 0) <= began:
                self.absent.add(name)
        after = self.instances.get(name)
        return (before and (before.id, before.status)) != (after and (after.id, after.status))

    def take_members(self, rows: Iterable[ManagedInstance]) -> None:
        """Take the MIG's own list: who is a member, and why members that should be there are not."""
        rows = tuple(rows)
        self.members = {row.name: row for row in rows if row.id}
        self.awaited = frozenset(row.name for row in rows if not row.id)
        self.strangers = {vm.id for vm in self.instances.values() if not self.is_member(vm)}
        self.errors = tuple(error for row in rows if not row.status for error in row.errors[:1])

    def is_member(self, instance: Instance) -> bool:
        """Whether our MIG lists this very VM."""
        member = self.members.get(instance.name)
        return member is not None and member.id == instance.id

    def knows(self, name: str, cause: Cause) -> bool:
        """Whether an event tells what is known: that this very VM was made, or has booted and has its token already."""
        instance = self.instances.get(name)
        if instance is None or instance.status != "RUNNING" or instance.id != cause.instance_id:
            return False
        if cause.kind == "instance.bootstrap.booted":
            return bool(instance.metadata.token_id)
        return cause.kind == "instance.inserted.last" and not cause.detail

    def is_of_an_earlier_vm(self, name: str, instance_id: str | None) -> bool:
        """Whether an event that names this id is about a VM that has been replaced, for all we know."""
        instance = self.instances.get(name)
        return instance is not None and instance_id is not None and instance.id != instance_id

    def changed(self) -> set[str]:
        """The VMs that began or ceased to run, came or went, by the MIG's own rows: these must be read.

        What is on its way needs no read: its row says so.
        """
        gone = self.instances.keys() - self.members.keys()
        running = {name: row.id for name, row in self.members.items() if row.status == "RUNNING"}
        known = {name: vm.id for name, vm in self.instances.items() if vm.status == "RUNNING"}
        return gone | {name for name in running.keys() | known.keys() if running.get(name) != known.get(name)}

    def take_new_rows(self, ref: ResourceRef, known: set[str], now: datetime) -> set[str]:
        """VMs that run, by the MIG's own rows, and of which nothing else is known: these need no read to be decided on.

        The row proves that the VM is ours, and which one it is; with no Node and no token of its name (`known`) there
        is nothing else to know. Whoever writes to it reads it first: its fingerprint is not known. Returns the names.
        """
        fresh = {
            name: row
            for name, row in self.members.items()
            if row.status == "RUNNING" and name not in known and not self._runs(name, row.id)
        }
        for name, row in fresh.items():
            nothing = Metadata({}, "")
            self.instances[name] = Instance(ref.project, ref.location, name, row.id, row.status, now, None, nothing)
            self.absent.discard(name)
        return set(fresh)

    def _runs(self, name: str, instance_id: str) -> bool:
        instance = self.instances.get(name)
        return instance is not None and instance.id == instance_id and instance.status == "RUNNING"

    def take_mig(self, mig: MigView) -> bool:
        """Take a read of the MIG. True if the VMs must be read: it counts others as running than we know of.

        The series of follow-ups begins anew when VMs set out: capacity came, or a bulk request began. That they then
        come to run one after the other is what the series waits for, and does not. It goes on while the MIG and the
        reads of its VMs keep contradicting each other.
        """
        known = sum(vm.status == "RUNNING" and vm.id not in self.strangers for vm in self.instances.values())
        moved = mig.running != known if mig.counts else not mig.is_stable
        contradicted = self.filled and moved and mig.counts == self.counts
        setting_out = _waiting(mig) < self.waiting
        self.quiet_looks = self.quiet_looks + 1 if not setting_out and (on_their_way(mig) or contradicted) else 0
        self.waiting, self.counts = _waiting(mig), mig.counts
        return moved

    def reset(self, known_names: Iterable[str]) -> None:
        """There is no MIG (any more), so there are no VMs."""
        self.absent = {*known_names, *self.instances, *self.members}
        self.instances, self.members, self.injections, self.counts, self.unread = {}, {}, {}, {}, {}
        self.awaited = frozenset()
        self.errors, self.quiet_looks, self.waiting, self.filled = (), 0, 0, True

    def hint(self, instance_id: str, hint: Hint) -> None:
        """Remember what an event said of an incarnation."""
        self.hints[instance_id] = hint
        while len(self.hints) > _MAX_HINTS:
            del self.hints[next(iter(self.hints))]

    def injected(self, instance: Instance, injection: Injection) -> None:
        """GCE has accepted a token for this incarnation."""
        self.injections[instance.id] = injection
        self._overlay_now(instance, injection.token_id)

    def scrubbed(self, instance: Instance) -> None:
        """GCE has accepted the removal of the token."""
        self.injections.pop(instance.id, None)
        self._overlay_now(instance, "")

    def injection_failed(self, instance_id: str) -> None:
        """The injection had no effect: what a read shows counts again."""
        self.injections.pop(instance_id, None)

    def unconfirmed(self, names: Iterable[str], now: datetime, age: float) -> list[tuple[Instance, Injection]]:
        """Injections into these VMs, at least `age` seconds old, that the last read did not show."""
        found = []
        for name in names:
            instance = self.instances.get(name)
            injection = self.injections.get(instance.id) if instance else None
            if instance and injection and (now - injection.at).total_seconds() >= age:
                found.append((instance, injection))
        return found

    def _overlaid(self, instance: Instance) -> Instance:
        injection = self.injections.get(instance.id)
        if injection is None:
            return instance
        if instance.metadata.token_id == injection.token_id:
            del self.injections[instance.id]
            return instance
        return replace(instance, metadata=_with_token(instance.metadata, injection.token_id))

    def _overlay_now(self, instance: Instance, token_id: str) -> None:
        current = self.instances.get(instance.name)
        if current is not None and current.id == instance.id:
            self.instances[instance.name] = replace(current, metadata=_with_token(current.metadata, token_id))

    def _forget_the_gone(self) -> None:
        ids = {instance.id for instance in self.instances.values()}
        self.injections = {key: value for key, value in self.injections.items() if key in ids}


def _is_known_by_its_row_alone(instance: Instance) -> bool:
    return instance.started is None and not instance.metadata.fingerprint


def _waiting(mig: MigView) -> int:
    """VMs that have not set out."""
    return mig.counts.get("nonExistent", 0) + mig.counts.get("pending", 0)


def _with_token(metadata: Metadata, token_id: str) -> Metadata:
    """The metadata as it will be. Its fingerprint is not known: whoever writes next must read first."""
    items = {key: value for key, value in metadata.items() if key != KEY_JOIN_TOKEN}
    if token_id:
        items[KEY_JOIN_TOKEN] = f"{token_id}.redacted"
    return Metadata(items, "")


def _shape(instances: Mapping[str, Instance]) -> dict[str, tuple[str, str]]:
    return {name: (instance.id, instance.status) for name, instance in instances.items()}
