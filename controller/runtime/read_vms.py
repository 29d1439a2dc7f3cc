"""Bring a group's inventory of VMs up to what a look's scope asks for, with as few and as small calls as that takes.

One read of the MIG tells whether anything moved; its own rows tell which VMs did; those are read one by one, and by one
list when they are many.
"""

import asyncio
from collections.abc import Iterable

from controller.core.failures import Failure, Gone, Retry
from controller.core.model import Scope, Wake
from controller.core.moving import on_their_way
from controller.core.observed import ManagedInstance, ResourceRef, ResourceView
from controller.runtime.env import Env
from controller.runtime.group_memory import GroupMemory
from controller.runtime.knowledge import Seen

#: Up to so many VMs are read one by one: a list brings all metadata of all VMs, startup scripts included.
_FEW = 32
#: The MIG's own rows tell why VMs are missing; they are asked for when nothing has moved for so many follow-ups.
_QUIET_ENOUGH_TO_ASK_WHY = 3


async def read_resource(env: Env, ref: ResourceRef) -> ResourceView | None:
    """Read a GCE resource and remember it as seen now."""
    view = await env.cloud.get(ref)
    env.knowledge.seen[ref.path] = Seen(view, env.clock.now())
    return view


class VmReader:
    """Reads into a group's memory. Raises a Failure when GCE cannot be read."""

    def __init__(self, env: Env) -> None:
        self._env = env

    async def read(self, ref: ResourceRef, memory: GroupMemory, known: set[str], wake: Wake) -> None:
        """Read what the wake's scope asks for. `known`: names of the Nodes and tokens that the group has by now."""
        at_rest = self._is_at_rest(ref)
        moved = Scope.MIG in wake.scope and await self._has_moved(ref, memory)
        named = set(wake.instances) if Scope.INSTANCES in wake.scope else set()
        told = {name for name in named if memory.knows(name, wake.instances[name])}
        anew = not memory.filled or (Scope.INSTANCES in wake.scope and not named)
        doubted = _is_doubted(memory, wake)
        if moved or anew or doubted:
            memory.take_members(await self._rows(ref))
            if (moved or doubted) and memory.filled and wake.cause.kind == "resync":
                self._count_drift(ref, memory, at_rest=at_rest)
            named |= memory.changed() - memory.take_new_rows(ref, known, self._env.clock.now())
        named -= told
        memory.unread = {}
        if len(named) > _FEW:
            began = memory.sequence
            listed = await self._env.cloud.list_instances(ref.project, ref.location, f"{ref.name}-")
            memory.fill(listed, known, began)
            named = set(memory.instances)
        elif named:
            await self._some(ref, memory, named)
            named -= memory.unread.keys()
        memory.filled = True
        await self._settle_injections(ref, memory, named, wake)
        if _must_list_members(memory, named, wake):
            memory.take_members(await self._rows(ref))
        # Only the absence of a Node's VM means anything: names that forged events made up are not kept.
        memory.absent &= known

    async def _has_moved(self, ref: ResourceRef, memory: GroupMemory) -> bool:
        view = await read_resource(self._env, ref)
        if view is None or view.mig is None:
            return False
        return memory.take_mig(view.mig)

    def _is_at_rest(self, ref: ResourceRef) -> bool:
        """Whether none of the MIG's VMs was on its way when it was read last."""
        seen = self._env.knowledge.seen.get(ref.path)
        return (
            seen is not None and seen.view is not None and seen.view.mig is not None and not on_their_way(seen.view.mig)
        )

    def _count_drift(self, ref: ResourceRef, memory: GroupMemory, *, at_rest: bool) -> None:
        """What events should have told. That a VM on its way has come to run is told by none (facts: audit logs 0)."""
        changed = memory.changed()
        ran = {name for name, vm in memory.instances.items() if vm.status == "RUNNING"}
        came = changed - ran if at_rest else set[str]()
        untold = self._env.knowledge.awaited.found(
            ref, sorted(changed & ran), sorted(came), self._env.clock.monotonic()
        )
        if untold:
            self._env.metrics.drift.labels("instances").inc(untold)

    async def _rows(self, ref: ResourceRef) -> tuple[ManagedInstance, ...]:
        """The MIG's own rows; none when it is gone by now, as at the end of a deletion.

        That its rows are not found is believed only if it is not found either: VMs without a row would be strangers,
        and lose their tokens.
        """
        try:
            return await self._env.cloud.list_managed_instances(ref)
        except Gone as gone:
            if await self._env.cloud.get(ref) is None:
                return ()
            raise Retry(f"{gone.message} The group itself is there: it is asked again.", gone.code) from gone

    async def _some(self, ref: ResourceRef, memory: GroupMemory, names: Iterable[str]) -> None:
        """Read each by itself. One that cannot be read holds up no other: it stays as it was known, and is read again.

        Before the first fill there is nothing to stay as: then its failure is raised.
        """
        ordered = sorted(names)
        began = memory.sequence
        views = await asyncio.gather(
            *(self._env.cloud.get_instance(ref.project, ref.location, name) for name in ordered), return_exceptions=True
        )
        for name, view in zip(ordered, views, strict=True):
            if isinstance(view, Failure):
                memory.unread[name] = view
            elif isinstance(view, BaseException):
                raise view
            else:
                memory.take(name, view, began)
        if memory.unread and not memory.filled:
            raise next(iter(memory.unread.values()))

    async def _settle_injections(self, ref: ResourceRef, memory: GroupMemory, names: Iterable[str], wake: Wake) -> None:
        """An accepted injection that a read does not show: its operation tells whether it is late or has failed."""
        suspects = {name for name, cause in wake.instances.items() if cause.kind.startswith("instance.metadata")}
        names = set(names)
        age = self._env.policy.unconfirmed_looks[0].total_seconds()
        now = self._env.clock.now()
        late = [*memory.unconfirmed(names - suspects, now, age), *memory.unconfirmed(names & suspects, now, 0)]
        for instance, injection in late:
            # Without an operation nothing had to be written: then nothing is on its way either.
            name = injection.operation
            operation = await self._env.cloud.get_operation(ref, name) if name else None
            if operation is None or operation.done:
                memory.injection_failed(instance.id)
                fresh = await self._env.cloud.get_instance(ref.project, ref.location, instance.name)
                memory.take(instance.name, fresh, memory.sequence)


def _is_doubted(memory: GroupMemory, wake: Wake) -> bool:
    """Whether a resync must ask who the VMs are: as many run as are known, and not all are Ready Nodes.

    A VM that was made anew under its name is another one, and only its id tells.
    """
    asked_by = wake.mig or wake.cause
    return asked_by.kind == "resync" and memory.filled and not memory.hosts_ready


def _must_list_members(memory: GroupMemory, names: set[str], wake: Wake) -> bool:
    """Whether the MIG must be asked who its members are, and why some are missing."""
    unproven = any(
        not memory.is_member(vm) and (vm.id not in memory.strangers or vm.name in names)
        for vm in memory.instances.values()
    )
    vanished = any(name not in memory.instances and name in memory.members for name in names)
    stuck = wake.cause.kind == "follow_up" and memory.quiet_looks >= _QUIET_ENOUGH_TO_ASK_WHY
    return unproven or vanished or (stuck and bool(memory.counts.get("nonExistent")))
