"""The simulator as a process of its own, and the real clients pointed at it."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import grpc
import pytest
from google.auth.credentials import AnonymousCredentials
from google.cloud import compute_v1
from google.pubsub_v1 import StreamingPullRequest, SubscriberAsyncClient
from google.pubsub_v1.services.subscriber.transports import SubscriberGrpcAsyncIOTransport

#: The program, as the demo starts it too.
PROGRAM = (sys.executable, "-m", "controller.cli", "simulator")
PROJECT, ZONE = "my-gcp-project", "us-central1-c"
PROPERTIES = {
    "machineType": "ct6e-standard-1t",
    "disks": [{"boot": True, "initializeParams": {"sourceImage": "projects/x/global/images/family/y"}}],
    "networkInterfaces": [{"network": "global/networks/default"}],
    "scheduling": {"provisioningModel": "STANDARD", "onHostMaintenance": "TERMINATE"},
}


def exists(path: str) -> bool:
    return Path(path).exists()


@dataclass
class Process:
    """A running `tpu-node-group simulator`."""

    process: asyncio.subprocess.Process
    ready: dict[str, Any]
    session: aiohttp.ClientSession

    def env(self, name: str) -> str:
        return str(self.ready["env"][f"TPU_NODE_GROUP_{name}"])

    async def control(self, method: str, path: str, body: Any = None) -> Any:
        async with self.session.request(method, f"{self.ready['control']}/control/{path}", json=body) as answer:
            assert answer.status < 300, await answer.text()
            return await answer.json()

    async def until(self, holds: Callable[[Any], bool]) -> Any:
        """The world as soon as it is so."""
        async with asyncio.timeout(20):
            while True:
                world = await self.control("GET", "world?logs=full")
                if holds(world):
                    return world
                await asyncio.sleep(0.02)

    @property
    def groups(self) -> compute_v1.InstanceGroupManagersClient:
        credentials = AnonymousCredentials()  # type: ignore[no-untyped-call]
        options = {"api_endpoint": self.env("COMPUTE_ENDPOINT")}
        return compute_v1.InstanceGroupManagersClient(credentials=credentials, client_options=options)

    async def make_group(self, size: int) -> None:
        """A group of a brought template whose VMs join by themselves."""
        await self.control("POST", "templates", {"name": "brought", "properties": PROPERTIES, "joins": True})
        resource = compute_v1.InstanceGroupManager(
            name="group",
            base_instance_name="vm",
            target_size=size,
            instance_template=f"projects/{PROJECT}/global/instanceTemplates/brought",
        )
        with self.groups as client:
            await asyncio.to_thread(
                client.insert_unary,
                project=PROJECT,
                zone=ZONE,
                instance_group_manager_resource=resource,
                retry=None,
                timeout=10,
            )

    async def delete_group(self) -> None:
        with self.groups as client:
            await asyncio.to_thread(
                client.delete_unary,
                project=PROJECT,
                zone=ZONE,
                instance_group_manager="group",
                retry=None,
                timeout=10,
            )

    async def entries(self) -> AsyncGenerator[tuple[dict[str, Any], str], None]:
        """Log entries, with their message ids, as a subscriber gets them; each acknowledged."""
        acks: asyncio.Queue[list[str]] = asyncio.Queue()

        async def requests() -> AsyncIterator[StreamingPullRequest]:
            yield StreamingPullRequest(subscription=self.env("SUBSCRIPTION"), stream_ack_deadline_seconds=30)
            while True:
                yield StreamingPullRequest(ack_ids=await acks.get())

        async with grpc.aio.insecure_channel(self.env("PUBSUB_ENDPOINT")) as channel:
            client = SubscriberAsyncClient(transport=SubscriberGrpcAsyncIOTransport(channel=channel))
            call: Any = await client.streaming_pull(requests=requests())
            try:
                async for response in call:
                    for received in response.received_messages:
                        yield json.loads(received.message.data), received.message.message_id
                    await acks.put([received.ack_id for received in response.received_messages])
            finally:
                call.cancel()

    async def stop(self, how: signal.Signals) -> int:
        """Its exit code; nothing of it may be left within two seconds."""
        self.process.send_signal(how)
        async with asyncio.timeout(2):
            code = await self.process.wait()
        with pytest.raises(ProcessLookupError):
            os.killpg(self.process.pid, 0)
        assert not exists(self.ready["kubeconfig"])
        return code


Start = Callable[..., Awaitable[Process]]


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    """Starts simulators; what a test leaves running is ended."""
    running: list[Process] = []

    async def begin(*arguments: str) -> Process:
        process = await asyncio.create_subprocess_exec(
            *(*PROGRAM, *arguments), stdout=asyncio.subprocess.PIPE, start_new_session=True
        )
        assert process.stdout is not None
        line = await asyncio.wait_for(process.stdout.readline(), 30)
        running.append(Process(process, json.loads(line), aiohttp.ClientSession()))
        return running[-1]

    yield begin
    for each in running:
        await each.session.close()
        if each.process.returncode is None:
            os.killpg(each.process.pid, signal.SIGKILL)
            await each.process.wait()
