"""A world behind its Compute face on loopback, with the real google-cloud-compute clients pointed at it."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from google.auth.credentials import AnonymousCredentials
from google.cloud import compute_v1

from simulator.seams import Effect, Json, PlannedFault
from simulator.world import Caller, World

PROJECT, ZONE, REGION = "my-gcp-project", "us-central1-c", "us-central1"
OPERATOR = Caller("operator@my-gcp-project.iam.gserviceaccount.com", "tests", "127.0.0.1")
PROPERTIES: Json = {
    "machineType": "tpu7x-standard-4t",
    "disks": [{"boot": True, "autoDelete": True, "initializeParams": {"sourceImage": "projects/i/global/images/x"}}],
    "scheduling": {"provisioningModel": "STANDARD", "onHostMaintenance": "TERMINATE"},
    "metadata": {"items": [{"key": "startup-script", "value": "#!/bin/bash\n"}]},
}
TEMPLATE = f"projects/{PROJECT}/global/instanceTemplates/template"
POLICY = f"projects/{PROJECT}/regions/{REGION}/resourcePolicies/policy"


def wall() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 - the tests' clock


class Log:
    """Keeps what the world writes."""

    def __init__(self) -> None:
        self.entries: list[Json] = []

    def write(self, entry: Json) -> None:
        self.entries.append(entry)

    def of(self, method: str) -> list[Json]:
        return [entry for entry in self.entries if entry["protoPayload"]["methodName"].endswith(method)]


class Calls:
    """Keeps what the face counts: (method, code, effect)."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, str]] = []
        self.callers: set[str] = set()

    def record(self, *, caller: str, api: str, method: str, code: str, effect: Effect) -> None:
        assert api == "compute"
        self.callers.add(caller)
        self.seen.append((method, code, effect))


class Faults:
    """Hands out one planned fault for a method."""

    def __init__(self) -> None:
        self.planned: dict[str, PlannedFault] = {}

    def next(self, api: str, method: str) -> PlannedFault | None:
        assert api == "compute"
        return self.planned.pop(method, None)


@dataclass
class Bench:
    """One world with its face, and the real clients pointed at it."""

    world: World
    log: Log
    calls: Calls
    faults: Faults
    url: str
    clients: dict[type, Any] = field(default_factory=dict)

    def client(self, kind: type) -> Any:
        if kind not in self.clients:
            options = {"api_endpoint": self.url}
            credentials = AnonymousCredentials()  # type: ignore[no-untyped-call]
            self.clients[kind] = kind(credentials=credentials, client_options=options)
        return self.clients[kind]

    async def call(self, method: Callable[..., Any], **arguments: Any) -> Any:
        return await asyncio.to_thread(method, retry=None, timeout=10, **arguments)

    async def listed(self, method: Callable[..., Any], **arguments: Any) -> list[Any]:
        """All items of all pages."""
        return await asyncio.to_thread(lambda: list(method(retry=None, timeout=10, **arguments)))

    @property
    def groups(self) -> Any:
        return self.client(compute_v1.InstanceGroupManagersClient)

    @property
    def instances(self) -> Any:
        return self.client(compute_v1.InstancesClient)

    @property
    def templates(self) -> Any:
        return self.client(compute_v1.InstanceTemplatesClient)

    @property
    def policies(self) -> Any:
        return self.client(compute_v1.ResourcePoliciesClient)

    async def done(self, operation: Any) -> Any:
        """Wait for an operation with the API's own wait; returns it as it ended."""
        if operation.zone:
            wait, place = self.client(compute_v1.ZoneOperationsClient).wait, {"zone": ZONE}
        elif operation.region:
            wait, place = self.client(compute_v1.RegionOperationsClient).wait, {"region": REGION}
        else:
            wait, place = self.client(compute_v1.GlobalOperationsClient).wait, {}
        return await self.call(wait, project=PROJECT, operation=operation.name, **place)

    async def until(self, condition: Callable[[], bool | Awaitable[bool]]) -> None:
        async with asyncio.timeout(20):
            while True:
                met = condition()
                if met if isinstance(met, bool) else await met:
                    return
                await asyncio.sleep(0.005)

    async def insert_group(self, **more: Any) -> Any:
        body = {"name": "group", "target_size": 2, "instance_template": TEMPLATE, **more}
        resource = compute_v1.InstanceGroupManager(body)
        insert = self.groups.insert_unary
        return await self.call(insert, project=PROJECT, zone=ZONE, instance_group_manager_resource=resource)

    async def running(self, count: int) -> list[Any]:
        """The instances once so many run."""
        machines = self.world.machines
        await self.until(lambda: sum(vm.status == "RUNNING" for vm in machines.everything()) == count)
        return await self.listed(self.instances.list, request={"project": PROJECT, "zone": ZONE})


Start = Callable[..., Awaitable[Bench]]


def put_ready(bench: Bench, properties: Json | None = None) -> None:
    """Put the template and the policy of the tests into a world."""
    bench.world.add_template("template", properties or PROPERTIES, joins=False)
    body = {"workloadPolicy": {"type": "HIGH_THROUGHPUT", "acceleratorTopology": "2x2x2"}}
    bench.world.policies.put(POLICY, body, joins=False)


BULK: dict[str, Any] = {
    "target_size_policy": {"mode": "BULK"},
    "instance_lifecycle_policy": {"default_action_on_failure": "DO_NOTHING"},
    "resource_policies": {"workload_policy": POLICY},
}
