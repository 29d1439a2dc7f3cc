"""The control face over HTTP, on a real world that does not wait."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from simulator.calls import CallCounts
from simulator.clock import utc_now
from simulator.compute import rest
from simulator.control.face import ControlFace
from simulator.faults import Faults
from simulator.logging.kinds import known_event
from simulator.logging.records import LogRecord, LogRecords
from simulator.seams import Json
from simulator.timing import Timings
from simulator.world import World

PROJECT, ZONE = "my-gcp-project", "us-central1-c"


class Records(LogRecords):
    """A log that keeps what the world writes."""

    def write(self, entry: Json) -> None:
        self.add(LogRecord(entry.get("logName", ""), entry["protoPayload"]["methodName"], b"{}", admitted=True))


class Cluster:
    """A cluster with one object."""

    async def objects(self) -> Json:
        return {"v1/Node//vm": {"kind": "Node"}}

    async def history(self) -> Json:
        return {"events": [], "leases": []}


@dataclass
class Control:
    url: str
    compute: str
    session: aiohttp.ClientSession
    faults: Faults

    async def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        async with self.session.request(method, f"{self.url}{path}", json=body) as answer:
            return answer.status, await answer.json()

    async def refusal(self, method: str, path: str, body: Any = None) -> tuple[int, str]:
        status, answer = await self.call(method, path, body)
        assert answer["error"]["code"] == status
        return status, answer["error"]["message"]

    async def make_vm(self) -> str:
        """A group of one VM of a brought template; the name of its VM once it runs."""
        await self.call("POST", "/control/templates", {"name": "brought", "properties": PROPERTIES})
        body = {
            "name": "group",
            "baseInstanceName": "vm",
            "targetSize": 1,
            "instanceTemplate": f"projects/{PROJECT}/global/instanceTemplates/brought",
        }
        url = f"{self.compute}/compute/v1/projects/{PROJECT}/zones/{ZONE}/instanceGroupManagers"
        async with self.session.post(url, json=body) as answer:
            assert answer.status == 200, await answer.text()
        async with asyncio.timeout(5):
            while True:
                vms = [vm for path, vm in (await self.world())["compute"].items() if "/instances/" in path]
                if vms and vms[0]["status"] == "RUNNING":
                    return str(vms[0]["name"])

    async def world(self, query: str = "") -> Any:
        status, world = await self.call("GET", f"/control/world{query}")
        assert status == 200
        return world


PROPERTIES = {
    "machineType": "ct6e-standard-1t",
    "disks": [{"boot": True, "initializeParams": {"sourceImage": "projects/x/global/images/family/y"}}],
    "networkInterfaces": [{"network": "global/networks/default"}],
    "scheduling": {"provisioningModel": "STANDARD", "onHostMaintenance": "TERMINATE", "automaticRestart": True},
}


@pytest.fixture
async def control() -> AsyncIterator[Control]:
    records, calls, faults = Records(), CallCounts(), Faults(known_event)
    world = World(utc_now, Timings(scale=0), records)
    face = ControlFace(world, Cluster(), records, calls, faults, lambda: world.failures)
    runners = [web.AppRunner(face.application()), web.AppRunner(rest.compute_app(world, calls, faults))]
    for runner in runners:
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
    urls = [f"http://127.0.0.1:{runner.addresses[0][1]}" for runner in runners]
    async with aiohttp.ClientSession() as session:
        yield Control(urls[0], urls[1], session, faults)
    assert world.failures == []
    await world.close()
    for runner in runners:
        await runner.cleanup()


async def test_the_world_shows_state_and_history_apart(control: Control) -> None:
    name = await control.make_vm()
    world = await control.world("?logs=full&last=1")
    assert sorted(path.rpartition("/")[2] for path in world["compute"]) == ["brought", "group", name]
    assert world["kubernetes"] == {"v1/Node//vm": {"kind": "Node"}}
    assert sorted(world["history"]) == [
        "capacity",
        "clock",
        "events",
        "failures",
        "instances",
        "leases",
        "logs",
        "operations",
    ]
    assert [sorted(record) for record in world["history"]["logs"]] == [
        ["admitted", "entry", "event", "fault", "key", "published"]
    ]


async def test_calls_are_counted_and_those_of_the_control_face_are_not(control: Control) -> None:
    await control.make_vm()
    assert await control.call("GET", "/control/calls") == (
        200,
        {
            "calls": [
                {
                    "caller": "anonymous",
                    "api": "compute",
                    "method": "instanceGroupManagers.insert",
                    "code": "200",
                    "effect": "changed",
                    "count": 1,
                }
            ]
        },
    )


@pytest.mark.parametrize(
    ("verb", "method"),
    [
        ("preempt", "compute.instances.preempted"),
        ("host-error", "compute.instances.hostError"),
        ("terminate-on-maintenance", "compute.instances.terminateOnHostMaintenance"),
        ("guest-terminate", "compute.instances.guestTerminate"),
        ("repair", "compute.instances.repair.recreateInstance"),
        ("delete", "v1.compute.instances.delete"),
        ("reset", "v1.compute.instances.reset"),
    ],
)
async def test_each_verb_happens_to_the_vm(control: Control, verb: str, method: str) -> None:
    name = await control.make_vm()
    assert await control.call("POST", f"/control/instances/{name}/{verb}") == (200, {"instance": name, "done": verb})
    assert method in [record["event"] for record in (await control.world())["history"]["logs"]]


async def test_capacity_is_set_and_lifted(control: Control) -> None:
    body = {"zone": ZONE, "machineType": "ct6e-standard-1t", "available": 3}
    assert await control.call("POST", "/control/capacity", body) == (200, body)
    assert (await control.world())["history"]["capacity"] == {f"{ZONE}/ct6e-standard-1t": 3}
    await control.call("POST", "/control/capacity", body | {"available": None})
    assert (await control.world())["history"]["capacity"] == {}


async def test_faults_are_planned_listed_and_deleted(control: Control) -> None:
    call = {"method": "instances.setMetadata", "nth": 2, "effect": "error-before", "code": 503}
    event = {"event": "instance.inserted", "nth": "every", "effect": "delay", "ms": 40}
    shown = {"id": "fault-1", "seen": 0, "fired": 0, "ms": 0.0, **call, "code": "503"}
    assert await control.call("POST", "/control/faults", call) == (201, shown)
    assert await control.call("POST", "/control/faults", event) == (
        201,
        {"id": "fault-2", "seen": 0, "fired": 0, **event, "ms": 40.0},
    )
    status, listed = await control.call("GET", "/control/faults")
    assert (status, [fault["id"] for fault in listed["faults"]]) == (200, ["fault-1", "fault-2"])
    assert await control.call("DELETE", "/control/faults/fault-1") == (200, {"deleted": 1})
    assert await control.call("DELETE", "/control/faults") == (200, {"deleted": 1})
    assert await control.call("GET", "/control/faults") == (200, {"faults": []})


async def test_a_held_call_took_effect_and_answers_once_its_fault_is_deleted(control: Control) -> None:
    await control.call("POST", "/control/faults", {"method": "instanceGroupManagers.insert", "effect": "hold-after"})
    making = asyncio.create_task(control.make_vm())
    async with asyncio.timeout(5):
        while not any("/instanceGroupManagers/" in path for path in (await control.world())["compute"]):
            pass
    assert not making.done()
    await control.call("DELETE", "/control/faults")
    assert (await making).startswith("vm-")


REFUSALS: list[tuple[str, str, Any, int, str]] = [
    ("POST", "/control/instances/nobody/preempt", None, 404, "no VM is named 'nobody'"),
    ("POST", "/control/instances/nobody/explode", None, 400, "it can preempt, host-error, terminate-on-maintenance"),
    ("POST", "/control/templates", {"name": "x"}, 400, '"properties" is missing; needed are name, properties'),
    ("POST", "/control/templates", {"name": "x", "properties": 1}, 400, '"properties" is 1; it must be an object'),
    ("POST", "/control/templates", [], 400, "the body must be a JSON object with name, properties"),
    ("POST", "/control/capacity", {"zone": "z", "machineType": "m", "available": -1}, 400, "a whole number from 0"),
    ("POST", "/control/capacity", {"zone": "z", "machine": "m"}, 400, "unknown field 'machine'; allowed here are zone"),
    ("POST", "/control/faults", {"effect": "drop"}, 400, 'either "method" (of a call) or "event"'),
    ("POST", "/control/faults", {"method": "instances.get", "effect": "drop"}, 400, "error-before, error-after"),
    ("POST", "/control/faults", {"method": "?", "effect": "latency"}, 400, "patch tpunodegroups/status"),
    (
        "POST",
        "/control/faults",
        {"event": "instance.inserted", "effect": "x"},
        400,
        "drop, duplicate, delay, swap, hold",
    ),
    ("POST", "/control/faults", {"event": "*", "effect": "drop", "of": 1}, 400, "how the name of the event's resource"),
    ("POST", "/control/faults", {"event": "x.y", "effect": "drop"}, 400, "events decode"),
    ("POST", "/control/faults", {"event": "*", "effect": "drop", "nth": 0}, 400, 'a whole number from 1, "every"'),
    (
        "POST",
        "/control/faults",
        {"method": "instances.get", "effect": "error-before", "code": 200},
        400,
        "an HTTP status from 400 to 599 or one of CANCELLED",
    ),
    ("DELETE", "/control/faults/fault-9", None, 404, "there is no fault 'fault-9'; planned now: none"),
    ("GET", "/control/world?logs=some", None, 400, "it must be one of keys, full"),
    ("GET", "/control/wrold", None, 404, "there is DELETE /control/faults"),
    ("PUT", "/control/capacity", None, 405, "POST /control/capacity"),
]


@pytest.mark.parametrize(("method", "path", "body", "status", "message"), REFUSALS)
async def test_what_cannot_be_is_refused_with_what_can(
    control: Control, method: str, path: str, body: Any, status: int, message: str
) -> None:
    refused, text = await control.refusal(method, path, body)
    assert refused == status
    assert message in text


async def test_a_template_that_is_there_and_a_vm_that_is_not_running_are_conflicts(control: Control) -> None:
    name = await control.make_vm()
    body = {"name": "brought", "properties": PROPERTIES}
    assert (await control.refusal("POST", "/control/templates", body))[0] == 409
    await control.call("POST", f"/control/instances/{name}/guest-terminate")
    status, text = await control.refusal("POST", f"/control/instances/{name}/preempt")
    assert (status, "this happens to RUNNING VMs only" in text) == (400, True)
