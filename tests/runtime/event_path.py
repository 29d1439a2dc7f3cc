"""The event path in one piece, in virtual time: messages, the real intake, mailboxes and looks, over small ports."""

import asyncio
import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

from controller.api.constants import FINALIZER
from controller.api.resources import TPUNodeGroup, parse
from controller.core.children import child_key, child_manifest, child_ref
from controller.core.model import Key, Kind, Wake
from controller.core.observed import Instance, ManagedInstance, MigView, ResourceRef, ResourceView
from controller.core.plan import Policy
from controller.runtime.backlog import Backlog
from controller.runtime.hearing import Hearing, Path, Ways
from controller.runtime.intake import Intake
from controller.runtime.mailbox import Limits, Mailboxes, Next
from controller.runtime.pacing import PacedCloud
from controller.runtime.reconcile import Reconciler
from sinks.intake.delivery import Answer, Delivery
from tests.core.builders import GROUP_KEY, PROJECT, ZONE, make_instance, make_row, vm
from tests.runtime.test_group_look import Life
from tests.runtime.test_intake import entry
from tests.runtime.virtual_time import NoJitter, elapsed

Json = dict[str, Any]
OTHER_KEY = Key(Kind.GROUP, "default", "other")


class EventPath(Life):
    """The group of `Life`, whose looks are asked for by messages. `paced`: GCE calls are, as in the operator."""

    def __init__(self, *, paced: bool = False) -> None:
        super().__init__()
        if paced:
            real = PacedCloud(self.cloud, self.clock, reads_per_minute=1500, writes_per_minute=1000)
            object.__setattr__(self.env, "cloud", real)
        span = timedelta(minutes=5)
        path = Path(PROJECT, f"projects/{PROJECT}/subscriptions/s", "c", "me", span, span)
        ways = Ways(lambda _: None, lambda: "", lambda: [PROJECT], lambda _: None)
        backlog = Backlog(self.clock, lambda: None)
        hearing = Hearing(self.clock, self.env.metrics, self.env.knowledge.awaited, backlog, path, ways)
        #: Whose look began when.
        self.looked: list[tuple[Key, float]] = []
        reconciler = Reconciler(self.env, self.looks, None)  # type: ignore[arg-type]

        async def look(key: Key, wake: Wake) -> Next:
            self.looked.append((key, elapsed()))
            return await reconciler.look(key, wake)

        self.boxes = Mailboxes(look, self.clock, NoJitter(), Limits())
        self.intake = Intake(
            self.env.knowledge, hearing, self.boxes.post, self.clock, self.env.metrics, self.env.may_act
        )
        self.messages = 0

    def tell(self, method: str, suffix: str = "aaaa", *, id: str = "1001", phase: str = "last", **more: Any) -> Answer:  # noqa: A002
        """Deliver the entry of an operation on a VM of the group; each is another message."""
        return self.deliver(instance_entry(method, vm(suffix), self.messages, id=id, phase=phase, **more))

    def deliver(self, message: Json) -> Answer:
        """Deliver any entry."""
        self.messages += 1
        return self.intake.handle(Delivery(json.dumps(message).encode(), str(self.messages), self.clock.now(), 0))

    def reads_since(self, before: int) -> int:
        """Reads of GCE since so many calls."""
        return len([call for call in self.cloud.calls[before:] if call[0] != "set_metadata"])

    def looks_at(self, key: Key = GROUP_KEY) -> int:
        """How many looks at a group there were."""
        return [each for each, _ in self.looked].count(key)

    def tokens_of(self, instance_id: str) -> int:
        """How many tokens were made for an incarnation."""
        return [call[2] for call in self.cluster.calls if call[0] == "create_token_secret"].count(instance_id)


def instance_entry(
    method: str,
    name: str,
    number: int,
    *,
    id: str = "1001",  # noqa: A002 - as GCE calls it
    phase: str = "last",
    **more: Any,
) -> Json:
    """The `number`-th entry: of an operation on a VM."""
    operation = {"id": f"operation-{method}-{id}", phase: True, "producer": "compute.googleapis.com"}
    labels = {"project_id": PROJECT, "zone": ZONE, "instance_id": id}
    resource = {"type": "gce_instance", "labels": labels}
    named = {"insert_id": f"i{number}", "name": name, "operation": operation, "resource": resource}
    return entry(f"v1.compute.instances.{method}", **named | more)


def add_other_group(path: EventPath) -> TPUNodeGroup:
    """A second group, Ready children and one VM that runs; its VMs are its own MIG's."""
    manifest = {**path.raw, "metadata": {**path.raw["metadata"], "name": "other", "uid": "other-uid"}}
    group = parse({**manifest, "kind": Kind.GROUP.value})
    assert isinstance(group, TPUNodeGroup)
    path.dispatch.custom_resource(Kind.GROUP, "ADDED", manifest)
    for kind in (Kind.POLICY, Kind.TEMPLATE, Kind.MIG):
        child = child_manifest(group, kind, Policy())
        child["metadata"] |= {"uid": f"other-{kind}", "resourceVersion": "1", "finalizers": [FINALIZER]}
        ready = {"type": "Ready", "status": "True", "reason": "Created", "message": "", "lastTransitionTime": None}
        link = {"url" if kind is Kind.MIG else "uri": child_ref(group, kind).path}
        path.dispatch.custom_resource(kind, "ADDED", {**child, "status": {"conditions": [ready], **link}})
    ref = child_ref(group, Kind.MIG)
    view = MigView(2, is_stable=True, counts={"running": 1}, topologies={"2x2x2": "ACTIVE"})
    path.cloud.resources[ref.path] = ResourceView(ref, "2", mig=view)
    listed = path.cloud.list_managed_instances

    async def of_its_mig(mig: ResourceRef) -> tuple[ManagedInstance, ...]:
        return tuple(row for row in await listed(mig) if row.name.startswith(f"{mig.name}-"))

    path.cloud.list_managed_instances = of_its_mig  # type: ignore[method-assign]
    patch_status = path.cluster.patch_status

    async def patching(key: Key, uid: str, patch: Json) -> Json:
        answer = await patch_status(key, uid, patch)
        return manifest if key == OTHER_KEY else answer

    path.cluster.patch_status = patching  # type: ignore[method-assign]
    return group


def vm_of(path: EventPath, group: TPUNodeGroup, id: str) -> Instance:  # noqa: A002 - as GCE calls it
    """A VM of this group's MIG, that runs."""
    name = f"{child_key(group, Kind.MIG).name}-aaaa"
    instance = replace(make_instance(id=id), name=name)
    path.cloud.instances[name] = instance
    path.cloud.rows = (*path.cloud.rows, replace(make_row(id=id), name=name))
    return instance


async def settled(path: EventPath) -> None:
    """Until no look waits or runs."""
    while path.boxes.waiting:  # noqa: ASYNC110 - virtual time: it passes when nobody has anything to do
        await asyncio.sleep(0.01)
