"""The whole simulator as a process: what it says when ready, one group's life through all faces, and its end."""

import asyncio
import os
import signal
from contextlib import aclosing
from pathlib import Path
from typing import Any

import grpc
import pytest
import yaml
from google.api_core import exceptions
from google.cloud.logging_v2.services.logging_service_v2 import LoggingServiceV2AsyncClient
from google.cloud.logging_v2.services.logging_service_v2.transports import LoggingServiceV2GrpcAsyncIOTransport

from tests.needs import need
from tests.simulator.app.conftest import PROGRAM, Process, Start

FAST = ("--seed", "7", "--timings", "0.2", "--log-latency", "0.2")


async def created(simulator: Process, vms: int) -> dict[str, str]:
    """VM name -> message id of its creation's last entry, as a subscriber hears of them."""
    heard: dict[str, str] = {}
    async with asyncio.timeout(20), aclosing(simulator.entries()) as entries:
        async for entry, message_id in entries:
            payload = entry["protoPayload"]
            if payload["methodName"] == "v1.compute.instances.insert" and entry["operation"].get("last"):
                heard[payload["resourceName"].rpartition("/")[2]] = message_id
            if len(heard) == vms:
                break
    return heard


async def drain(simulator: Process) -> None:
    async with aclosing(simulator.entries()) as entries:
        async for _ in entries:
            pass


def names(world: Any, collection: str) -> list[str]:
    return [path.rpartition("/")[2] for path in world["compute"] if f"/{collection}/" in path]


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]


def ready_nodes(world: Any) -> list[str]:
    def ready(node: Any) -> bool:
        conditions = node.get("status", {}).get("conditions", [])
        return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)

    nodes = {key: body for key, body in world["kubernetes"].items() if key.startswith("nodes/")}
    return [key.removeprefix("nodes/") for key, body in nodes.items() if ready(body)]


def user_and_mode(kubeconfig: str) -> tuple[str, int]:
    path = Path(kubeconfig)
    return yaml.safe_load(path.read_text(encoding="utf-8"))["users"][0]["name"], path.stat().st_mode & 0o777


async def test_it_says_where_everything_is(start: Start) -> None:
    simulator = await start()
    assert sorted(simulator.ready) == ["control", "env", "kubeconfig"]
    assert sorted(simulator.ready["env"]) == [
        "TPU_NODE_GROUP_APIS_ENDPOINT",
        "TPU_NODE_GROUP_COMPUTE_ENDPOINT",
        "TPU_NODE_GROUP_KUBECONFIG",
        "TPU_NODE_GROUP_LOGGING_ENDPOINT",
        "TPU_NODE_GROUP_PROJECT",
        "TPU_NODE_GROUP_PUBSUB_ENDPOINT",
        "TPU_NODE_GROUP_SUBSCRIPTION",
    ]
    assert simulator.env("PROJECT") == "my-gcp-project"
    assert simulator.env("SUBSCRIPTION") == "projects/my-gcp-project/subscriptions/tpu-node-group-events"
    kubeconfigs = [simulator.ready["kubeconfig"], simulator.env("KUBECONFIG")]
    assert [user_and_mode(path) for path in kubeconfigs] == [("admin", 0o600), ("tpu-node-group-operator", 0o600)]


async def test_a_groups_life_shows_on_every_face_and_leaves_nothing(start: Start) -> None:
    simulator = await start(*FAST)
    before = await simulator.control("GET", "world")
    listening = asyncio.create_task(created(simulator, 2))
    await simulator.make_group(2)
    heard = await listening
    world = await simulator.until(lambda world: len(ready_nodes(world)) == 2)
    assert sorted(heard) == sorted(names(world, "instances")) == sorted(ready_nodes(world))
    published = {
        message["messageId"]: record["event"] for record in world["history"]["logs"] for message in record["published"]
    }
    assert [published[message_id] for message_id in heard.values()] == ["instance.inserted", "instance.inserted"]

    await simulator.delete_group()
    await simulator.until(lambda world: names(world, "instances") == names(world, "instanceGroupManagers") == [])
    # A Node outlives its VM: the operator removes it, and there is none here.
    after = await simulator.control("GET", "world")
    assert after["compute"].keys() - before["compute"].keys() == {
        "projects/my-gcp-project/global/instanceTemplates/brought"
    }
    assert {key for key in after["kubernetes"] if key not in before["kubernetes"]} == {f"nodes/{vm}" for vm in heard}
    assert after["history"]["failures"] == []
    effective = [row for row in (await simulator.control("GET", "calls"))["calls"] if row["api"] == "compute"]
    assert [(row["method"], row["effect"], row["count"]) for row in effective] == [
        ("instanceGroupManagers.delete", "changed", 1),
        ("instanceGroupManagers.insert", "changed", 1),
    ]
    assert await simulator.stop(signal.SIGTERM) == 0


async def test_what_the_operator_writes_to_cloud_logging_is_routed_or_read_back(start: Start) -> None:
    simulator = await start("--log-latency", "0")
    canary, action = "tpu-node-group-canary", "tpu-node-group-actions"
    entries = [
        {"log_name": f"projects/my-gcp-project/logs/{log}", "json_payload": {"log": log}} for log in (action, canary)
    ]
    async with grpc.aio.insecure_channel(simulator.env("LOGGING_ENDPOINT")) as channel:
        client = LoggingServiceV2AsyncClient(transport=LoggingServiceV2GrpcAsyncIOTransport(channel=channel))
        await client.write_log_entries(request={"resource": {"type": "global"}, "entries": entries})
        query = {"resource_names": ["projects/my-gcp-project"], "filter": f'log_id("{action}")'}
        listed = [entry.log_name async for entry in await client.list_log_entries(request=query)]
    assert listed == [f"projects/my-gcp-project/logs/{action}"]
    async with asyncio.timeout(10), aclosing(simulator.entries()) as heard:
        entry, _ = await anext(heard)
    assert entry["jsonPayload"] == {"log": canary}


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_ends_it_in_the_middle_of_everything(start: Start, how: signal.Signals) -> None:
    simulator = await start()
    heard = asyncio.ensure_future(drain(simulator))
    await simulator.make_group(4)
    await simulator.until(lambda world: bool(names(world, "instances")))
    assert await simulator.stop(how) == 0
    with pytest.raises((exceptions.GoogleAPICallError, grpc.aio.AioRpcError)):
        await heard


@pytest.mark.parametrize("face", ["control", "pubsub"])
async def test_a_taken_port_is_told_in_one_line(start: Start, face: str) -> None:
    simulator = await start()
    taken = {"control": simulator.ready["control"], "pubsub": simulator.env("PUBSUB_ENDPOINT")}
    port = taken[face].rpartition(":")[2]
    second = await asyncio.create_subprocess_exec(
        *(*PROGRAM, "--port", f"{face}={port}"), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    said, complaint = await asyncio.wait_for(second.communicate(), 20)
    assert (second.returncode, said) == (1, b"")
    assert complaint.decode().startswith("tpu-node-group: the simulator cannot start: ")
    assert complaint.decode().splitlines()[-1:] == complaint.decode().splitlines()


@pytest.fixture
def emulator() -> None:
    """Google's Pub/Sub emulator is installed."""
    need("cloud-pubsub-emulator")
    need("java")


@pytest.mark.emulator
@pytest.mark.usefixtures("emulator")
async def test_googles_emulator_carries_the_events_and_goes_with_the_simulator(start: Start) -> None:
    simulator = await start(*FAST, "--pubsub", "emulator")
    listening = asyncio.create_task(created(simulator, 1))
    await simulator.make_group(1)
    heard = await listening
    world = await simulator.until(lambda world: bool(ready_nodes(world)))
    assert sorted(heard) == ready_nodes(world)
    published = {message["messageId"] for record in world["history"]["logs"] for message in record["published"]}
    assert set(heard.values()) <= published
    port = int(simulator.env("PUBSUB_ENDPOINT").rpartition(":")[2])
    assert await simulator.stop(signal.SIGTERM) == 0
    with pytest.raises(OSError, match="onnect"):
        await asyncio.open_connection("127.0.0.1", port)


@pytest.mark.emulator
@pytest.mark.usefixtures("emulator")
async def test_a_signal_while_the_emulator_starts_leaves_no_process() -> None:
    process = await asyncio.create_subprocess_exec(*(*PROGRAM, "--pubsub", "emulator"), stdout=asyncio.subprocess.PIPE)
    async with asyncio.timeout(20):
        while True:
            emulators = children_of(process.pid)
            if emulators:
                break
            await asyncio.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    await asyncio.wait_for(process.communicate(), 10)
    for emulator in emulators:
        with pytest.raises(ProcessLookupError):
            os.kill(emulator, 0)
