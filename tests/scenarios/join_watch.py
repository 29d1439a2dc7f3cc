"""What is seen of real joins from outside: first versions of Nodes, moments of tokens, and where values must not be.

Reads Secrets with the admin's rights. A value is never part of what is returned.
"""

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.scenarios.harness import Bench, condition_of, until

Json = dict[str, Any]
_INSTANCE = "tpu.google.com/instance-id"


@dataclass
class JoinWatch:
    """Everything that was seen since it began. Times are of the event loop."""

    stage: Bench
    _nodes: dict[str, list[Json]] = field(default_factory=dict)
    _groups: dict[str, list[Json]] = field(default_factory=dict)
    #: Node name -> when its (latest) Node came; Node UID -> when it went.
    joined: dict[str, float] = field(default_factory=dict)
    deaths: dict[str, float] = field(default_factory=dict)
    #: Instance id -> when its first Secret came, and when its last one went.
    minted_at: dict[str, float] = field(default_factory=dict)
    _revoked: dict[str, float] = field(default_factory=dict)
    #: Ids of VMs that hold a token now, and when the others let go of theirs.
    _holding: set[str] = field(default_factory=set)
    _scrubbed: dict[str, float] = field(default_factory=dict)
    _tokens: dict[str, str] = field(default_factory=dict)
    _exposed: set[str] = field(default_factory=set)

    def see_node(self, change: str, body: Json) -> None:
        """A watch event of a Node."""
        name, now = body["metadata"]["name"], asyncio.get_running_loop().time()
        if change == "DELETED":
            self.deaths[body["metadata"]["uid"]] = now
            return
        if change == "ADDED":
            self.joined[name] = now
        self._nodes.setdefault(name, []).append(body)

    def see_group(self, _change: str, body: Json) -> None:
        """A watch event of a TPUNodeGroup."""
        self._groups.setdefault(body["metadata"]["name"], []).append(body)

    def see_secret(self, change: str, body: Json) -> None:
        """A watch event of a Secret."""
        instance, now = (body["metadata"].get("labels") or {}).get(_INSTANCE), asyncio.get_running_loop().time()
        if not instance:
            return
        if change == "DELETED":
            self._revoked[instance] = now
            return
        self.minted_at.setdefault(instance, now)
        parts = [base64.b64decode(body["data"][key]).decode() for key in ("token-id", "token-secret")]
        self._tokens[instance] = ".".join(parts)

    def births(self, name: str) -> list[Json]:
        """The first version of each Node of this name."""
        seen: dict[str, Json] = {}
        for body in self._nodes.get(name, ()):
            seen.setdefault(body["metadata"]["uid"], body)
        return list(seen.values())

    def born(self, name: str) -> Json:
        """The first version of the latest Node of this name."""
        return self.births(name)[-1]

    def first_ready(self, group: str) -> int:
        """The revision in which a group was Ready first."""
        return next(_revision(body) for body in self._groups[group] if condition_of(body).get("status") == "True")

    def first_with_chips(self, name: str, chips: str) -> int:
        """The revision in which a Node had these chips first."""
        return next(
            _revision(body)
            for body in self._nodes[name]
            if body["status"].get("allocatable", {}).get("google.com/tpu") == chips
        )

    async def until_withdrawn(self, instance: str) -> tuple[float, float]:
        """When the last Secret of a VM went, and when the token had left its metadata."""

        async def look() -> tuple[float | None, float | None]:
            return self._revoked.get(instance), self._scrubbed.get(instance)

        seen = await until(f"the token of {instance} to be withdrawn", look, lambda times: None not in times)
        revoked, scrubbed = seen
        assert revoked is not None
        assert scrubbed is not None
        return revoked, scrubbed

    async def look_at_metadata(self) -> None:
        """One look at all VMs: which have a token now, and which had one before."""
        vms = (await self.stage.control.instances()).values()
        now = asyncio.get_running_loop().time()
        holding = {vm["id"] for vm in vms if any(i["key"] == "kubeadm-join-token" for i in vm["metadata"]["items"])}
        self._scrubbed |= dict.fromkeys(self._holding - holding, now)
        self._holding = holding

    async def until_refused(self, instance: str) -> None:
        """Until the API server answers 401 to whoever comes with the token of a VM.

        It keeps what it has let in for 10 s (TokenSuccessCacheTTL): a token that was used just before lives so long.
        """

        async def look() -> int:
            return await self.stage.cluster.status_with(self._tokens[instance])

        await until(f"the token of {instance} to be refused", look, lambda status: status == 401, 15)

    def tokens_of(self, instance: str) -> Callable[[], Awaitable[list[str]]]:
        """The names of a VM's Secrets so far, as something to wait for."""

        async def look() -> list[str]:
            return list(self.stage.witness.minted.get(instance, ()))

        return look

    def age_of_token(self, instance: str) -> Callable[[], Awaitable[float]]:
        """The age of a VM's first token in seconds, as something to wait for."""

        async def look() -> float:
            return asyncio.get_running_loop().time() - self.minted_at[instance]

        return look

    async def disks(self) -> dict[str, Path]:
        """The disks of machines, by instance id, as soon as they are made."""
        found = self.stage.folder.glob("tpu-node-group-machines-*/*/disk/etc/hosts")
        return {path.parents[2].name: path.parents[1] for path in found}

    async def machines(self) -> list[int]:
        """The first processes of the VMs that are on."""
        return _machines()

    def exposed(self) -> list[str]:
        """Where a token's value was seen: arguments and environments at any time, files and memory disks now."""
        return sorted(self._exposed | self._in_files())

    def _in_files(self) -> set[str]:
        secrets = self._secrets()
        disks = list(self.stage.folder.glob("tpu-node-group-machines-*/*/disk"))
        memory = [Path(f"/proc/{pid}/root/{folder}") for pid in _machines() for folder in ("run", "tmp")]
        assert disks
        assert memory
        files = [
            path for top in (*disks, *memory) for path in top.rglob("*") if path.is_file() and not path.is_symlink()
        ]
        return {str(path) for path in files if path.stat().st_size < 2**22 and _holds(path, secrets)}

    def look_at_processes(self) -> None:
        """One look at all arguments and environments of this machine."""
        secrets = self._secrets()
        for place in ("cmdline", "environ"):
            self._exposed |= {str(path) for path in Path("/proc").glob(f"[0-9]*/{place}") if _holds(path, secrets)}

    def _secrets(self) -> list[bytes]:
        return [token.partition(".")[2].encode() for token in list(self._tokens.values())]


def _holds(path: Path, secrets: list[bytes]) -> bool:
    try:
        content = path.read_bytes()
    except OSError:
        return False
    return any(secret in content for secret in secrets)


def _machines() -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0] == b"bash" and len(words) > 1 and words[1].endswith(b"machines/boot.sh"):
            found.append(int(path.parent.name))
    return found


def _revision(body: Json) -> int:
    return int(body["metadata"]["resourceVersion"])


@asynccontextmanager
async def join_watch(stage: Bench) -> AsyncIterator[JoinWatch]:
    """Watches until left."""
    watch = JoinWatch(stage)
    kinds = {"Node": watch.see_node, "TPUNodeGroup": watch.see_group, "Secret": watch.see_secret}
    watching = {kind: asyncio.Event() for kind in kinds}
    tasks = [asyncio.create_task(stage.cluster.watch(kind, see, watching[kind])) for kind, see in kinds.items()]
    tasks += [asyncio.create_task(_look(watch))]
    try:
        async with asyncio.timeout(10):
            await asyncio.gather(*(each.wait() for each in watching.values()))
        yield watch
        for task in tasks:
            if task.done():
                raise AssertionError("a watch ended") from task.exception()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _look(watch: JoinWatch) -> None:
    while True:
        await asyncio.to_thread(watch.look_at_processes)
        await watch.look_at_metadata()
        await asyncio.sleep(0.05)
