"""What the cluster showed during a run: every token that was minted, and every text that must not have it.

Only this bystander reads Secrets, with the admin's rights. Values stay in here: a leak is reported by the token's id.
"""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.scenarios.cluster import CUSTOM_KINDS, Cluster, Json

_LABEL = "tpu.google.com/instance-id"


@dataclass(slots=True)
class Witness:
    """Everything seen since it began to watch."""

    #: Token id -> the secret part of its value.
    _values: dict[str, str] = field(default_factory=dict)
    #: Instance id -> names of its Secrets that are there now.
    live: dict[str, set[str]] = field(default_factory=dict)
    #: Instance id -> names of all its Secrets, in the order of their births.
    minted: dict[str, list[str]] = field(default_factory=dict)
    #: Moments at which an instance id had more than one live Secret.
    doubles: list[str] = field(default_factory=list)
    #: Every state of every custom resource, Event and Node, as text.
    shown: list[str] = field(default_factory=list)

    def see_secret(self, change: str, body: Json) -> None:
        """A watch event of a Secret."""
        instance = body["metadata"].get("labels", {}).get(_LABEL)
        if body.get("type") != "bootstrap.kubernetes.io/token" or not instance:
            return
        name, live = body["metadata"]["name"], self.live.setdefault(instance, set())
        if change == "DELETED":
            live.discard(name)
            return
        data = {key: base64.b64decode(value).decode() for key, value in body["data"].items()}
        self._values[data["token-id"]] = data["token-secret"]
        if change == "ADDED":
            self.minted.setdefault(instance, []).append(name)
        live.add(name)
        if len(live) > 1:
            self.doubles.append(f"instance {instance} has {sorted(live)}")

    def see_object(self, change: str, body: Json) -> None:
        """A watch event of anything that people may read."""
        del change
        self.shown.append(json.dumps(body))

    @property
    def tokens(self) -> int:
        """How many tokens were minted."""
        return len(self._values)

    def leaks(self, texts: Mapping[str, str]) -> list[str]:
        """Where a token's value stands in these texts (by name), or in anything that the cluster showed."""
        everything = {**texts, "the Kubernetes API": "\n".join(self.shown)}
        return [
            f"the value of token {token} is in {place}"
            for token, value in self._values.items()
            for place, text in everything.items()
            if value in text
        ]


@asynccontextmanager
async def witness_of(cluster: Cluster, *, custom: bool) -> AsyncIterator[Witness]:
    """Watches until left. `custom`: our kinds too, which must be there then."""
    witness = Witness()
    kinds = {"Secret": witness.see_secret}
    kinds |= dict.fromkeys(("Event", "Node", *(CUSTOM_KINDS if custom else ())), witness.see_object)
    ready = {kind: asyncio.Event() for kind in kinds}
    tasks = [asyncio.create_task(cluster.watch(kind, see, ready[kind])) for kind, see in kinds.items()]
    try:
        async with asyncio.timeout(10):
            await asyncio.gather(*(each.wait() for each in ready.values()))
        yield witness
        for task in tasks:
            if task.done():
                raise AssertionError("the simulated API server ended a watch") from task.exception()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
