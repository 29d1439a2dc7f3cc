"""Worlds without faces: their clock is the event loop's, their log is kept, their guests are remembered."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from simulator.seams import Json
from simulator.timing import Timings
from simulator.world import Caller, Instance, World, WorldSettings

PROJECT, ZONE = "my-gcp-project", "us-central1-c"
OPERATOR = Caller("operator@my-gcp-project.iam.gserviceaccount.com", "tests", "127.0.0.1")
TEMPLATE = f"projects/{PROJECT}/global/instanceTemplates/template"
POLICY = f"projects/{PROJECT}/regions/us-central1/resourcePolicies/policy"
GROUP = f"projects/{PROJECT}/zones/{ZONE}/instanceGroupManagers/group"
MACHINE = "tpu7x-standard-4t"
FAST = Timings(scale=0.03)
_START = datetime(2026, 1, 1, tzinfo=UTC)


class Log:
    """Keeps what the world writes."""

    def __init__(self) -> None:
        self.entries: list[Json] = []

    def write(self, entry: Json) -> None:
        self.entries.append(entry)

    def methods(self, instance_id: str = "") -> list[str]:
        """`method first|last|only [ERROR]` of all entries, or of one VM's, in order of writing."""
        return [
            _told(entry)
            for entry in self.entries
            if not instance_id or entry["resource"]["labels"].get("instance_id") == instance_id
        ]


def _told(entry: Json) -> str:
    operation = entry.get("operation", {})
    first, last = operation.get("first", False), operation.get("last", False)
    phase = "only" if first == last else "first" if first else "last"
    method = str(entry["protoPayload"]["methodName"]).removeprefix("v1.").removeprefix("compute.")
    return f"{method} {phase}" + (" ERROR" if entry["severity"] == "ERROR" else "")


class Guests:
    """Remembers power: (on|off, instance id)."""

    def __init__(self) -> None:
        self.power: list[tuple[str, str]] = []

    def powered_on(self, instance_id: str) -> None:
        self.power.append(("on", instance_id))

    def powered_off(self, instance_id: str) -> None:
        self.power.append(("off", instance_id))


class Lab:
    """A world with what surrounds it."""

    def __init__(self, settings: WorldSettings | None = None, timings: Timings = FAST) -> None:
        self.log, self.guests = Log(), Guests()
        loop = asyncio.get_running_loop()
        self.world = World(lambda: _START + timedelta(seconds=loop.time()), timings, self.log, settings, seed=11)
        self.world.guests = self.guests

    def add_template(self, **scheduling: Any) -> None:
        properties: Json = {"machineType": MACHINE, "scheduling": scheduling}
        self.world.add_template("template", properties, joins=False)

    def add_group(self, size: int, *, bulk: bool = False, on_failure: str = "REPAIR", policy: bool = False) -> None:
        body: Json = {
            "name": "group",
            "targetSize": size,
            "instanceTemplate": TEMPLATE,
            "targetSizePolicy": {"mode": "BULK" if bulk else "INDIVIDUAL"},
            "instanceLifecyclePolicy": {"defaultActionOnFailure": on_failure},
        }
        if policy:
            workload = {"type": "HIGH_THROUGHPUT", "acceleratorTopology": "2x2x2"}
            self.world.policies.put(POLICY, {"workloadPolicy": workload}, joins=False)
            body["resourcePolicies"] = {"workloadPolicy": POLICY}
        self.world.groups.insert(PROJECT, ZONE, body, OPERATOR)

    @property
    def hosts(self) -> list[Instance]:
        return self.world.machines.everything()

    @property
    def group(self) -> Json:
        return self.world.groups.body(self.world.groups.get(GROUP))

    @property
    def rows(self) -> list[Json]:
        return self.world.groups.managed(self.world.groups.get(GROUP))

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while True:
                if condition():
                    return
                await asyncio.sleep(0.002)

    async def all_running(self, count: int) -> list[Instance]:
        """The hosts once so many run and nothing is under way."""
        await self.until(lambda: [vm.status for vm in self.hosts] == ["RUNNING"] * count and self.group_stable)
        await self.settled()
        return self.hosts

    @property
    def group_stable(self) -> bool:
        return bool(self.group["status"]["isStable"])

    async def settled(self) -> None:
        """Once every operation is DONE."""
        await self.until(lambda: all(op.status == "DONE" for op in self.world.operations.everything()))
