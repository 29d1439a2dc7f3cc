"""A router whose topic is a list, and the Logging face on the wire."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import grpc
import pytest
from google.cloud.logging_v2.services.logging_service_v2 import LoggingServiceV2AsyncClient
from google.cloud.logging_v2.services.logging_service_v2.transports import LoggingServiceV2GrpcAsyncIOTransport

from simulator.calls import CallCounts
from simulator.faults import Faults
from simulator.logging.face import LoggingFace
from simulator.logging.kinds import known_event
from simulator.logging.latency import Latency
from simulator.logging.router import LogRouter
from simulator.pubsub.topic import Published
from simulator.rpc import serving

AUDIT = "projects/my-gcp-project/logs/cloudaudit.googleapis.com%2Factivity"


@dataclass
class ListTopic:
    """Publications in their order."""

    messages: list[tuple[bytes, Mapping[str, str]]] = field(default_factory=list)
    more: asyncio.Event = field(default_factory=asyncio.Event)

    def publish(self, data: bytes, attributes: Mapping[str, str], published: Published) -> None:
        self.messages.append((data, attributes))
        published(str(len(self.messages)))
        self.more.set()

    async def reached(self, count: int) -> None:
        """Return once there are so many."""
        async with asyncio.timeout(5):
            while len(self.messages) < count:
                self.more.clear()
                await self.more.wait()


@dataclass
class Logs:
    router: LogRouter
    topic: ListTopic
    faults: Faults
    calls: CallCounts


def at() -> datetime:
    return datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


@pytest.fixture
def logs() -> Logs:
    topic, faults = ListTopic(), Faults(known_event)
    return Logs(LogRouter(at, topic, faults, Latency(seed=1, scale=0.0)), topic, faults, CallCounts())


@pytest.fixture
async def client(logs: Logs) -> AsyncIterator[LoggingServiceV2AsyncClient]:
    face = LoggingFace(logs.router, logs.router.records, logs.calls, logs.faults)
    async with serving((face.handlers(),)) as endpoint:
        channel = grpc.aio.insecure_channel(endpoint)
        yield LoggingServiceV2AsyncClient(transport=LoggingServiceV2GrpcAsyncIOTransport(channel=channel))
        await channel.close()


def audit(name: str, method: str = "v1.compute.instances.insert", **changes: Any) -> dict[str, Any]:
    """The `last` entry of a VM, as the router takes it."""
    return {
        "logName": AUDIT,
        "timestamp": "2026-01-02T03:04:05.000001Z",
        "insertId": f"id-{name}",
        "severity": "NOTICE",
        "resource": {"type": "gce_instance", "labels": {"zone": "us-central1-a", "instance_id": "1"}},
        "protoPayload": {
            "@type": "type.googleapis.com/google.cloud.audit.AuditLog",
            "serviceName": "compute.googleapis.com",
            "methodName": method,
            "resourceName": f"projects/1/zones/us-central1-a/instances/{name}",
        },
        "operation": {"id": f"operation-{name}", "producer": "compute.googleapis.com", "last": True},
        **changes,
    }


def written(log: str, **payload: Any) -> dict[str, Any]:
    """An entry that a VM or the operator writes."""
    return {
        "logName": f"projects/my-gcp-project/logs/{log}",
        "resource": {"type": "gce_instance", "labels": {"zone": "us-central1-a", "instance_id": "1"}},
        "jsonPayload": payload,
    }
