"""Simulator and operator as processes of their own, and what a scenario does with them.

Everything is waited for with a deadline, and a wait that fails says what was last seen. Whatever a test does, both
process groups are gone when it ends.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

import aiohttp

from controller.demo.processes import Child, start
from tests.scenarios.cluster import Cluster, Json, connect
from tests.scenarios.witness import Witness, witness_of

T = TypeVar("T")

IDENTITY: Final = "scenario-operator"
PROGRAM: Final = (sys.executable, "-m", "controller.cli")
#: How long one step of a scenario may take, in seconds, on a machine that does other things too.
PATIENCE: Final = 60.0
_STEP: Final = 0.05
#: A user of the project: whoever calls Compute Engine without credentials is the operator.
SOMEBODY: Final = {"Authorization": "Bearer somebody@example.com"}
#: Who the operator is in counts of calls: in Compute and in Kubernetes.
_OPERATOR: Final = ("anonymous", "system:serviceaccount:tpu-node-group:tpu-node-group-controller")


async def until(
    what: str, look: Callable[[], Awaitable[T]], holds: Callable[[T], object], patience: float = PATIENCE
) -> T:
    """What `look` sees as soon as it holds. Fails with what it saw last."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + patience
    while True:
        seen = await look()
        if holds(seen):
            return seen
        if loop.time() > deadline:
            raise AssertionError(f"waited {patience:g} s for {what}; last seen: {_shown(seen)}")
        await asyncio.sleep(_STEP)


def _shown(seen: object) -> str:
    text = json.dumps(seen, indent=1, default=str, sort_keys=True) if isinstance(seen, dict | list) else repr(seen)
    return text if len(text) < 6000 else f"{text[:6000]} ..."


class Control:
    """The simulator's control face (docs/simulator.md)."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session = session
        self._url = url

    async def __call__(self, method: str, path: str, body: Any = None) -> Json:
        """One call that must succeed."""
        async with self._session.request(method, f"{self._url}/control/{path}", json=body) as answer:
            text = await answer.text()
            assert answer.status < 300, f"{method} /control/{path}: {text}"
            return dict(json.loads(text))

    async def world(self, query: str = "last=0") -> Json:
        """The world, by default without log entries."""
        return await self("GET", f"world?{query}")

    async def state(self) -> Json:
        """The world without its history: equal when the same things exist."""
        world = await self.world()
        del world["history"]
        return world

    async def instances(self) -> dict[str, Json]:
        """Compute Engine's instances by name."""
        compute = (await self.world())["compute"]
        return {path.rpartition("/")[2]: body for path, body in compute.items() if "/instances/" in path}

    async def calls(self) -> "Calls":
        """Counts of all calls so far."""
        return Calls((await self("GET", "calls"))["calls"])

    async def strike(self, instance: str, what: str) -> None:
        """Let something happen to a VM."""
        await self("POST", f"instances/{instance}/{what}")


@dataclass(frozen=True)
class Calls:
    """Counts of calls, for questions and differences."""

    rows: list[Json]

    def count(self, method: str, *, effect: str = "", code: str = "") -> int:
        """Calls of a method, by anybody."""
        return sum(
            row["count"]
            for row in self.rows
            if row["method"] == method and effect in {"", row["effect"]} and code in {"", row["code"]}
        )

    def of_operator(self, api: str) -> dict[str, int]:
        """The operator's calls of an API, by method."""
        found: dict[str, int] = {}
        for row in self.rows:
            if row["api"] == api and row["caller"] in _OPERATOR:
                found[row["method"]] = found.get(row["method"], 0) + row["count"]
        return found

    def effective(self, api: str = "compute") -> dict[str, int]:
        """Calls that changed something, by method."""
        found: dict[str, int] = {}
        for row in self.rows:
            if row["api"] == api and row["effect"] == "changed":
                found[row["method"]] = found.get(row["method"], 0) + row["count"]
        return found

    def since(self, before: "Calls") -> "Calls":
        """Only what came after another count."""
        known = {_key(row): row["count"] for row in before.rows}
        rows = [row | {"count": row["count"] - known.get(_key(row), 0)} for row in self.rows]
        return Calls([row for row in rows if row["count"]])


def _key(row: Json) -> tuple[str, ...]:
    return tuple(value for key, value in row.items() if key != "count")


@dataclass
class Bench:
    """A running simulator, and an operator that may come and go."""

    folder: Path
    simulator: Child
    ready: Json
    control: Control
    cluster: Cluster
    witness: Witness
    http: aiohttp.ClientSession
    operator: Child | None = None
    _logs: list[Path] = field(default_factory=list)

    @property
    def kubeconfig(self) -> Path:
        """The admin's."""
        return Path(self.ready["kubeconfig"])

    async def start_operator(
        self,
        *,
        wait: bool = True,
        program: Sequence[str] = PROGRAM,
        more: Mapping[str, str] | None = None,
        **settings: str,
    ) -> Child:
        """Start it with settings by name; by default until it operates. `more`: of its environment."""
        assert self.operator is None, "one operator at a time"
        defaults = {"identity": IDENTITY, "listen": "127.0.0.1:0", "log_format": "json"}
        named = {f"TPU_NODE_GROUP_{name.upper()}": value for name, value in (defaults | settings).items()}
        log = self.folder / f"operator-{len(self._logs)}.log"
        self._logs.append(log)
        environment = clean_environment() | self.ready["env"] | named | dict(more or {})
        self.operator = await start("operator", [*program, "run"], environment, log)
        if wait:
            await self.said("operating")
        return self.operator

    async def kill_operator(self) -> None:
        """As `kill -9` does, its whole group."""
        assert self.operator is not None
        os.killpg(self.operator.process.pid, signal.SIGKILL)
        assert await self.operator.process.wait() == -signal.SIGKILL
        self.operator = None

    async def stop_operator(self) -> int:
        """SIGTERM; its exit code."""
        assert self.operator is not None
        self.operator.process.send_signal(signal.SIGTERM)
        code = await asyncio.wait_for(self.operator.process.wait(), 10)
        self.operator = None
        return code

    async def said(self, event: str, patience: float = PATIENCE, **fields: str) -> Json:
        """The operator's first log line of this event with these fields, as soon as it is there."""
        wanted = {"event": event, **fields}

        async def look() -> list[Json]:
            assert self.operator is not None
            code = self.operator.process.returncode
            assert code is None, f"the operator ended with {code}: {self.operator.last_words()}"
            return log_lines(self.operator.log)

        lines = await until(
            f"the log line {wanted}",
            look,
            lambda seen: any(wanted.items() <= line.items() for line in seen),
            patience,
        )
        return next(line for line in lines if wanted.items() <= line.items())

    async def ask_operator(self, path: str) -> tuple[int, str]:
        """GET /metrics, /healthz or /readyz: status and text."""
        address = (await self.said("metrics and health"))["address"]
        async with self.http.get(f"http://{address}{path}") as answer:
            return answer.status, await answer.text()

    async def condition(self, kind: str, namespace: str, name: str, type_: str = "Ready") -> Json:
        """A condition of an object, {} where there is none."""
        body = await self.cluster.get(kind, namespace, name)
        return condition_of(body, type_)

    async def until_ready(self, namespace: str, name: str, kind: str = "TPUNodeGroup") -> Json:
        """The object's Ready condition once it is True."""
        return await until(
            f"{kind} {namespace}/{name} to be Ready",
            lambda: self.condition(kind, namespace, name),
            lambda seen: seen.get("status") == "True",
        )

    async def until_reason(self, namespace: str, name: str, reason: str, kind: str = "TPUNodeGroup") -> Json:
        """The object's Ready condition once it has this reason."""
        return await until(
            f"{kind} {namespace}/{name} to say {reason}",
            lambda: self.condition(kind, namespace, name),
            lambda seen: seen.get("reason") == reason,
        )

    async def until_world_is(self, before: Json) -> None:
        """Until the world holds just what it held before."""
        await until("the world to be as before", self._differences(before), lambda seen: not seen)

    def _differences(self, before: Json) -> Callable[[], Awaitable[list[str]]]:
        async def look() -> list[str]:
            return differences(before, await self.control.state())

        return look

    async def leaks(self) -> list[str]:
        """Every place in which the value of a token that was minted can be read by people."""
        world = await self.control.world("logs=full&last=1000000")
        texts = {log.name: log.read_text("utf-8") for log in (*self._logs, self.simulator.log)}
        texts["the log entries"] = json.dumps(world["history"]["logs"])
        texts["the history"] = json.dumps({k: v for k, v in world["history"].items() if k != "logs"})
        texts["the world"] = json.dumps({k: v for k, v in world.items() if k != "history"})
        if self.operator is not None and self.operator.process.returncode is None:
            texts["/metrics"] = (await self.ask_operator("/metrics"))[1]
            texts["/readyz"] = (await self.ask_operator("/readyz"))[1]
        return self.witness.leaks(texts)

    def logs(self) -> str:
        """The end of every process's log, for whoever reads of a failure."""
        code = self.simulator.process.returncode
        parts = [] if code is None else [f"!!! the simulator had ended by itself, with code {code}"]
        for log in (self.simulator.log, *self._logs):
            lines = log.read_text("utf-8", errors="replace").splitlines() if log.exists() else []
            parts.append("\n".join([f"--- {log}, {len(lines)} lines, the last of them:", *lines[-40:]]))
        return "\n".join(parts)


def differences(before: Json, after: Json) -> list[str]:
    """What two states of the world do not share, by path."""
    found = []
    for part in sorted({*before, *after}):
        old, new = before.get(part, {}), after.get(part, {})
        found += [f"{part}: {path} is gone" for path in sorted({*old} - {*new})]
        found += [f"{part}: {path} is new" for path in sorted({*new} - {*old})]
        changed = [path for path in sorted({*old} & {*new}) if old[path] != new[path]]
        found += [f"{part}: {path} was {old[path]} and is {new[path]}" for path in changed]
    return found


def condition_of(body: Json | None, type_: str = "Ready") -> Json:
    """A condition of an object's body, {} where there is none."""
    conditions = ((body or {}).get("status") or {}).get("conditions") or []
    return next((each for each in conditions if each["type"] == type_), {})


def log_lines(log: Path) -> list[Json]:
    """The JSON lines of a log; what is no JSON is left out."""
    found = []
    for line in log.read_text("utf-8").splitlines() if log.exists() else []:
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return [line for line in found if isinstance(line, dict)]


def clean_environment() -> dict[str, str]:
    """The environment without settings of an operator."""
    return {name: value for name, value in os.environ.items() if not name.startswith("TPU_NODE_GROUP_")}


@asynccontextmanager
async def bench(folder: Path, *arguments: str, custom: bool = True) -> AsyncIterator[Bench]:
    """A simulator with these arguments, watched; no operator yet. At the end no token may have leaked.

    `custom`: whether the cluster has our kinds, which can be watched then.
    """
    command = [*PROGRAM, "simulator", *arguments]
    simulator = await start("simulator", command, clean_environment(), folder / "simulator.log", read=True)
    made: Bench | None = None
    try:
        ready = json.loads(await simulator.first_line(45))
        timeout = aiohttp.ClientTimeout(total=30)
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            connect(Path(ready["kubeconfig"])) as cluster,
            witness_of(cluster, custom=custom) as witness,
        ):
            made = Bench(folder, simulator, ready, Control(session, ready["control"]), cluster, witness, session)
            yield made
            assert await made.leaks() == []
            assert (await made.control.world())["history"]["failures"] == []
    finally:
        if made is not None and made.operator is not None:
            await made.operator.stop()
        if made is not None:
            print(made.logs())  # noqa: T201 - pytest shows it when the test failed
        await simulator.stop()
