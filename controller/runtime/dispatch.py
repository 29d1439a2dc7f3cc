"""From what Kubernetes tells to wakes: custom resources that come, change and go, and Nodes that do."""

from collections.abc import Awaitable, Callable, Iterable

from controller.api.base import Json
from controller.api.resources import TPUNodeGroup
from controller.core.model import Cause, Key, Kind, Scope, Wake
from controller.core.observed import NodeView
from controller.runtime.custom_resources import Change, owner_of
from controller.runtime.env import Env


class Dispatch:
    """Keeps the knowledge of objects up to date, and wakes whom a change concerns."""

    def __init__(self, env: Env, post: Callable[[Key, Wake], None], forget: Callable[[Key], None]) -> None:
        self._env = env
        self._post = post
        self._forget = forget
        self._listed = False

    def custom_resource(self, kind: Kind, event_type: str | None, raw: Json) -> None:
        """An event of the watch."""
        change = self._env.knowledge.resources.apply(kind, event_type, raw)
        if change is not None:
            self.changed(change)

    async def list_again(self, before_any_look: Callable[[], Awaitable[None]] | None = None) -> int:
        """Compare with fresh lists: a watch reports no deletion that it slept through. Returns what it had missed.

        All kinds are listed before anybody looks: a group without its children would seem to have no VMs, and its
        Nodes to be stale.
        """
        resources = self._env.knowledge.resources
        asked = resources.mark()
        lists = [(kind, await self._env.cluster.list_custom_resources(kind)) for kind in Kind]
        changes = [change for kind, raws in lists for change in resources.replace(kind, raws, asked)]
        if before_any_look is not None:
            await before_any_look()
        for change in changes:
            self.changed(change)
        self._listed = True
        return len(changes)

    def changed(self, change: Change) -> None:
        """A custom resource came, changed or went."""
        knowledge, key = self._env.knowledge, change.key
        owner = owner_of(change.resource)
        if change.gone:
            knowledge.dismiss(key, change.resource)
            self._forget(key)
            self._wake_those_who_waited(key, change, owner)
            return
        if change.new:
            knowledge.admit(key, change.resource)
        deleting = change.resource.metadata.deleting
        scope = Scope.ALL if change.new or deleting else Scope.SPEC
        kind = "deletion" if deleting else "spec" if self._listed else "start"
        self._post(key, Wake(scope, self._cause(kind)))
        if owner is not None:
            # Without its MIG a group has no VMs: one that is seen after its group brings those that it has by now.
            brings_vms = change.new and key.kind is Kind.MIG
            self._post(owner, Wake(Scope.SPEC | (Scope.MIG if brings_vms else Scope.NONE), self._cause("spec")))

    def node(self, old: NodeView | None, new: NodeView | None) -> None:
        """A Node came, changed or went."""
        key = self._env.knowledge.node_changed(old, new)
        if key is not None:
            self._post(key, Wake(Scope.NODES, self._cause("node")))
            self._wake_blocked_mig(key)

    def node_spoke(self, node: NodeView) -> None:
        """Only a heartbeat: it matters to a group that waits for a word from after a restart."""
        key = self._env.knowledge.node_spoke(node)
        group = self._env.knowledge.resources.group(key) if key is not None else None
        if key is not None and group is not None and any(entry.name == node.name for entry in group.status.nodes):
            self._post(key, Wake(Scope.NODES, self._cause("node")))

    def tokens_gone(self, groups: Iterable[Key]) -> None:
        """Secrets of these groups were deleted by somebody: a VM that still waits needs another token."""
        for key in groups:
            self._post(key, Wake(Scope.NONE, self._cause("token")))

    def _wake_those_who_waited(self, key: Key, change: Change, owner: Key | None) -> None:
        gone = Wake(Scope.SPEC, self._cause("gone"))
        if owner is not None:
            self._post(owner, gone)
        if isinstance(change.resource, TPUNodeGroup):
            # Children that waited for their owner's cordon wait no more.
            for child, _ in self._env.knowledge.resources.children_of(change.resource.metadata.uid).values():
                self._post(child, gone)
        elif key.kind is Kind.MIG:
            # Template and policy waited for the MIG to be gone: of the same owner, or deleted on their own.
            for kind in (Kind.TEMPLATE, Kind.POLICY):
                for other in self._env.knowledge.resources.keys(kind):
                    waiting = self._env.knowledge.resources.get(other)
                    if waiting is not None and waiting.metadata.deleting:
                        self._post(other, Wake(Scope.MIG, gone.cause))

    def _wake_blocked_mig(self, key: Key) -> None:
        group = self._env.knowledge.resources.group(key)
        if group is None:
            return
        children = self._env.knowledge.resources.children_of(group.metadata.uid)
        if Kind.MIG in children and children[Kind.MIG][1].metadata.deleting:
            self._post(children[Kind.MIG][0], Wake(Scope.SPEC, self._cause("node")))

    def _cause(self, kind: str) -> Cause:
        return Cause(kind, self._env.clock.now())
