"""Gather: read what a look's scope asks for, and no more, into one snapshot."""

import uuid
from datetime import datetime, timedelta

from controller.api.conditions import get_condition
from controller.api.constants import FINALIZER
from controller.api.reasons import ConditionType
from controller.api.resources import ChildStatus, InstanceTemplate, Resource, TPUNodeGroup
from controller.core.child import ChildSnapshot, link_of, status_of
from controller.core.children import child_ref
from controller.core.desired import body_of, ref_of
from controller.core.hosts import bears_name_rightly, match_hosts
from controller.core.model import Key, Kind, Scope, Wake
from controller.core.names import child_name, ownership_mark
from controller.core.observed import NodeView, OperationView, ResourceRef, ResourceView, TemplateView
from controller.core.skew import skew_rejection
from controller.core.snapshot import Child, GroupSnapshot
from controller.core.validate import brought_template_rejection, group_rejection, template_rejection
from controller.runtime.custom_resources import owner_of
from controller.runtime.env import Env
from controller.runtime.group_memory import GroupMemory
from controller.runtime.knowledge import brought_template
from controller.runtime.read_vms import VmReader, read_resource

_FRESH = timedelta(seconds=2)


class Observer:
    """Reads GCE for looks; everything else is in memory already."""

    def __init__(self, env: Env) -> None:
        self._env = env
        self._vms = VmReader(env)

    async def group(self, key: Key, group: TPUNodeGroup, wake: Wake) -> GroupSnapshot:
        """All that a look at a group needs. Raises a Failure when GCE cannot be read."""
        memory = self._env.knowledge.memory(key)
        ref = child_ref(group, Kind.MIG)
        children = self._children(group)
        if Kind.MIG not in children:
            memory.reset(self._env.knowledge.known_names(key, ref.name))
        elif link_of(children[Kind.MIG][1]):
            await self._vms.read(ref, memory, self._env.knowledge.known_names(key, ref.name), wake)
        rejection = await self._rejection(group, memory, made=Kind.MIG in children)
        now = self._env.clock.now()
        seen = self._env.knowledge.seen.get(ref.path)
        mig = seen.view.mig if seen is not None and seen.view is not None else None
        vault = self._env.knowledge.vault
        vault.expire(now)
        for instance in memory.instances.values():
            # An answer that was lost: the token is where it belongs all the same.
            if instance.metadata.token_id and instance.id not in memory.injections:
                vault.injected(instance.metadata.token_id)
        return GroupSnapshot(
            group=group,
            children={kind: child for kind, (child, _) in children.items()},
            matched=match_hosts(
                memory.inventory(vault.injectable(key)),
                self._env.knowledge.nodes_of(ref.name),
                vault.of_group(key),
                project=ref.project,
                zone=ref.location,
                base=ref.name,
            ),
            filled=memory.filled,
            mig=mig,
            mig_read_at=seen.at if seen is not None else None,
            quiet_looks=memory.quiet_looks,
            token_slots=vault.slots(key, now),
            template=memory.template,
            rejection=rejection,
            errors=(mig.bulk_error,) if mig is not None and mig.bulk_error is not None else memory.errors,
        )

    async def child(self, key: Key, child: Resource, status: ChildStatus, wake: Wake) -> ChildSnapshot:
        """All that a look at a child needs. Raises a Failure when GCE cannot be read."""
        ref = ref_of(child)
        now = self._env.clock.now()
        # Before our finalizer is there nothing may be done, so nothing needs to be known.
        read = bool(wake.scope & (Scope.MIG | Scope.INSTANCES)) and FINALIZER in child.metadata.finalizers
        operation: OperationView | None = None
        since: datetime | None = None
        if status.operation_name:
            since = self._env.knowledge.operations.setdefault(status.operation_name, now)
            if read:
                operation = await self._env.cloud.get_operation(ref, status.operation_name)
                read = operation is None or operation.done
                if read:
                    self._env.knowledge.operations.pop(status.operation_name, None)
                    self._env.knowledge.awaited.ended(status.operation_name, self._env.clock.monotonic())
        view = await read_resource(self._env, ref) if read else self._last(ref)
        read = read or (not status.operation_name and self._is_fresh(ref, now))
        owner = child.metadata.controller_owner
        rejection = template_rejection(child.spec) if isinstance(child, InstanceTemplate) else None
        return ChildSnapshot(
            key=key,
            metadata=child.metadata,
            status=status,
            ref=ref,
            body=body_of(child, ownership_mark(key, child.metadata.uid), self._env.policy.images),
            rejection=rejection,
            read=read,
            resource=view,
            operation=operation,
            operation_since=since,
            request_unsent=(status.request_id or "") in self._env.knowledge.unsent,
            blocked_by=self._blocked_by(key, child) if child.metadata.deleting else "",
            fresh_request_id=str(uuid.uuid4()),
            # Whoever can forge an event must not have us ask for the same thing over and over.
            held_until=self._env.knowledge.memory(key).held_until if wake.cause.event else None,
            reference_may_have_made_it=owner is not None and key.name == child_name(key.kind, owner.name, owner.uid),
        )

    def _is_fresh(self, ref: ResourceRef, now: datetime) -> bool:
        """Read so lately (by the look that wrote the request id) that it counts as read now."""
        seen = self._env.knowledge.seen.get(ref.path)
        return seen is not None and now - seen.at < _FRESH

    def _last(self, ref: ResourceRef) -> ResourceView | None:
        seen = self._env.knowledge.seen.get(ref.path)
        return seen.view if seen is not None else None

    def _children(self, group: TPUNodeGroup) -> dict[Kind, tuple[Child, ChildStatus]]:
        found: dict[Kind, tuple[Child, ChildStatus]] = {}
        for kind, (key, resource) in self._env.knowledge.resources.children_of(group.metadata.uid).items():
            status = status_of(resource)
            ready = get_condition(status.conditions, ConditionType.READY)
            found[kind] = (Child(key, resource.metadata.uid, resource.metadata.deleting, ready), status)
        return found

    async def _rejection(self, group: TPUNodeGroup, memory: GroupMemory, *, made: bool) -> str | None:
        """Why the group cannot work; `made`: its VMs were asked for already."""
        bootstrap = group.spec.bootstrap_kubernetes
        rejection = group_rejection(group)
        if group.spec.instance_template_uri and rejection is None:
            rejection = await self._brought_template(group, memory)
        if bootstrap and not made and rejection is None:
            # Only before any VM is made: an upgrade of the control plane must not strand a group that lives.
            rejection = skew_rejection(bootstrap.version, await self._env.cluster.version())
        return rejection

    async def _brought_template(self, group: TPUNodeGroup, memory: GroupMemory) -> str | None:
        """Read the brought template once (its content never changes), and say what is wrong with it."""
        ref = brought_template(group)
        if memory.template is None:
            view = await self._env.cloud.get(ref)
            if view is None:
                return f"spec.instanceTemplateURI: {ref.path} does not exist; create it, or name another one"
            memory.template = view.template
        template: TemplateView | None = memory.template
        return brought_template_rejection(group, template) if template is not None else None

    def _blocked_by(self, key: Key, child: Resource) -> str:
        """What the deletion of a child waits for: each child keeps the order of deletion by itself."""
        owner_key = owner_of(child)
        owner = self._env.knowledge.resources.group(owner_key) if owner_key else None
        if owner is None:
            return ""
        if key.kind is not Kind.MIG:
            siblings = self._env.knowledge.resources.children_of(owner.metadata.uid)
            return f"{siblings[Kind.MIG][0]} to be gone" if Kind.MIG in siblings else ""
        ref = child_ref(owner, Kind.MIG)
        open_nodes = [node.name for node in self._env.knowledge.nodes_of(ref.name) if _schedulable(node, ref)]
        return f"the cordon of {', '.join(open_nodes[:5])}" if open_nodes else ""


def _schedulable(node: NodeView, ref: ResourceRef) -> bool:
    return bears_name_rightly(node, ref.project, ref.location) and not node.unschedulable
