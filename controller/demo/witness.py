"""What the cluster shows to a bystander: the group, its Nodes and its token Secrets, watched over the Kubernetes API.

Of a Secret only the labels and the revision are kept, never its data. Revisions order all writes of the cluster, so
"the stale Node was gone before the token" is a comparison of two numbers, not of two clocks.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime

from controller.api.constants import LABEL_INSTANCE_ID, LABEL_TOKEN_INSTANCE_ID
from controller.demo.records import Told


@dataclass(frozen=True, slots=True)
class NodeLife:
    """A Node from its registration to its end. Revisions order it among all writes of the cluster."""

    name: str
    uid: str
    instance_id: str
    born: datetime
    born_revision: int
    gone: datetime | None = None
    gone_revision: int | None = None


@dataclass(frozen=True, slots=True)
class TokenSecret:
    """The birth of a bootstrap Secret of the operator."""

    token_id: str
    instance_id: str
    revision: int


@dataclass(frozen=True, slots=True)
class Ready:
    """The group's Ready condition."""

    status: str
    reason: str
    message: str
    generation: int

    def __str__(self) -> str:
        return f"Ready={self.status}, {self.reason}: {self.message}" if self.status else "no Ready condition yet"


NOT_SAID = Ready("", "", "", 0)


@dataclass(slots=True)
class Witness:
    """Everything seen so far; `until` waits for more of it."""

    now: Callable[[], datetime]
    on_ready: Callable[[datetime, Ready], None] = lambda _at, _ready: None
    on_node: Callable[[datetime, str, str], None] = lambda _at, _what, _node: None
    on_gone: Callable[[datetime], None] = lambda _at: None
    group: Told | None = None
    group_deleted: bool = False
    nodes: dict[str, NodeLife] = field(default_factory=dict)
    ready_nodes: set[str] = field(default_factory=set)
    secrets: dict[str, TokenSecret] = field(default_factory=dict)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def ready(self) -> Ready:
        """The Ready condition as last seen."""
        return ready_of(self.group)

    def living(self) -> dict[str, NodeLife]:
        """The Nodes that are there, by name."""
        return {life.name: life for life in self.nodes.values() if life.gone is None}

    async def until(self, seen: Callable[["Witness"], bool], timeout: float) -> bool:
        """Wait for something to be seen; False when it is not within `timeout` seconds."""
        try:
            async with asyncio.timeout(timeout):
                while not seen(self):
                    self.changed.clear()
                    await self.changed.wait()
        except TimeoutError:
            return False
        return True

    def see_group(self, change: str, body: Told) -> None:
        """A watch event of the TPUNodeGroup."""
        before = self.ready
        self.group_deleted = change == "DELETED"
        self.group = None if self.group_deleted else body
        if self.group_deleted:
            self.on_gone(self.now())
        elif self.ready != before:
            self.on_ready(self.now(), self.ready)
        self.changed.set()

    def see_node(self, change: str, body: Told) -> None:
        """A watch event of a Node."""
        meta = body["metadata"]
        name, uid, revision = meta["name"], meta["uid"], int(meta["resourceVersion"])
        if uid not in self.nodes:
            instance_id = meta.get("labels", {}).get(LABEL_INSTANCE_ID, "")
            self.nodes[uid] = NodeLife(name, uid, instance_id, self.now(), revision)
            self.on_node(self.now(), "joined", name)
        is_ready = _condition(body, "Ready").get("status") == "True"
        if change == "DELETED":
            self.nodes[uid] = replace(self.nodes[uid], gone=self.now(), gone_revision=revision)
            self.ready_nodes.discard(uid)
            self.on_node(self.now(), "deleted", name)
        elif is_ready and uid not in self.ready_nodes:
            self.ready_nodes.add(uid)
            self.on_node(self.now(), "Ready", name)
        elif not is_ready and uid in self.ready_nodes:
            self.ready_nodes.discard(uid)
            self.on_node(self.now(), "not Ready", name)
        self.changed.set()

    def see_secret(self, change: str, body: Told) -> None:
        """A watch event of a Secret in kube-system."""
        meta = body["metadata"]
        instance_id = meta.get("labels", {}).get(LABEL_TOKEN_INSTANCE_ID)
        token_id = meta["name"].removeprefix("bootstrap-token-")
        if instance_id and change == "ADDED" and token_id not in self.secrets:
            self.secrets[token_id] = TokenSecret(token_id, instance_id, int(meta["resourceVersion"]))
            self.changed.set()


def ready_of(group: Told | None) -> Ready:
    """The Ready condition of a TPUNodeGroup's body, NOT_SAID where there is none."""
    found = _condition(group or {}, "Ready")
    if not found:
        return NOT_SAID
    return Ready(found["status"], found["reason"], found.get("message", ""), found.get("observedGeneration", 0))


def _condition(body: Told, kind: str) -> Told:
    conditions = (body.get("status") or {}).get("conditions") or []
    return next((each for each in conditions if each["type"] == kind), {})
