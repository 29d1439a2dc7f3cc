"""Planned faults (docs/simulator.md), and a life that must come out right in spite of them."""

import copy
import json
from pathlib import Path
from typing import Any, Final

import grpc
from google.pubsub_v1 import PublisherAsyncClient, PubsubMessage
from google.pubsub_v1.services.publisher.transports import PublisherGrpcAsyncIOTransport

from tests.api.manifests import changed
from tests.scenarios.groups import Json, sample
from tests.scenarios.harness import PATIENCE, SOMEBODY, Bench, Calls, until

#: A world in a hurry: what is tested with it are faults, not durations.
HURRY: Final = ("--timings", "0.3", "--log-latency", "0.3")
#: An operator that tries again soon.
IMPATIENT: Final[dict[str, Any]] = {"retry_first": "300ms", "retry_max": "2s", "rejected_retry": "2s"}

SLICE: Final[Json] = changed(sample("01-reservation-bulk-2x2x2.yaml"), {"metadata.name": "slice"})
SINGLES: Final[Json] = changed(sample("04-independent-single-hosts.yaml"), {"metadata.name": "singles"})
PROJECT: Final = "my-gcp-project"
ZONE: Final = "us-central1-c"

_AUDIT_LOG: Final = Path(__file__).parents[1] / "data" / "audit-log"


async def plan(
    stage: Bench, method: str, effect: str, code: int = 503, *, nth: int | str = 1, milliseconds: int = 0
) -> str:
    """Plan a fault of calls; its id."""
    body = {"method": method, "effect": effect, "code": code, "nth": nth, "ms": milliseconds}
    return str((await stage.control("POST", "faults", body))["id"])


async def plan_event(stage: Bench, event: str, effect: str, milliseconds: int = 0) -> None:
    """Plan a fault of every such event."""
    await stage.control("POST", "faults", {"event": event, "effect": effect, "nth": "every", "ms": milliseconds})


async def fired(stage: Bench) -> set[str]:
    """The methods of planned faults that had their turn."""
    faults = (await stage.control("GET", "faults"))["faults"]
    return {fault["method"] for fault in faults if fault["fired"]}


async def forget_faults(stage: Bench) -> None:
    """Delete all planned faults; calls that they hold are answered."""
    await stage.control("DELETE", "faults")


async def until_ready(stage: Bench, name: str, patience: float = PATIENCE) -> Json:
    """A group of the namespace default, once it is Ready."""
    return await until(
        f"{name} to be Ready",
        lambda: stage.condition("TPUNodeGroup", "default", name),
        lambda seen: seen.get("status") == "True",
        patience,
    )


async def lives(stage: Bench, manifest: Json, patience: float = PATIENCE) -> Calls:
    """A group becomes Ready, is deleted, and nothing is left of it; its calls.

    Nothing was made or deleted twice, and no VM ever had two live tokens.
    """
    before, calls = await stage.control.state(), await stage.control.calls()
    name = manifest["metadata"]["name"]
    await stage.cluster.create(manifest)
    await until_ready(stage, name, patience)
    await stage.cluster.delete("TPUNodeGroup", "default", name)
    await stage.until_world_is(before)
    ended = (await stage.control.calls()).since(calls)
    kinds = ["instanceGroupManagers", "instanceTemplates"]
    kinds += ["resourcePolicies"] if manifest["spec"]["targetSizePolicyMode"] == "BULK" else []
    assert {method: n for method, n in ended.effective().items() if not method.startswith("instances.")} == {
        f"{kind}.{verb}": 1 for kind in kinds for verb in ("insert", "delete")
    }
    assert_tokens_were_single(stage)
    return ended


def assert_tokens_were_single(stage: Bench) -> None:
    """No VM ever had two live tokens, and none has one now."""
    assert stage.witness.doubles == []
    assert {instance: names for instance, names in stage.witness.live.items() if names} == {}


async def vms_of(stage: Bench, group: str) -> dict[str, Json]:
    """The VMs of a group by name."""
    return {name: vm for name, vm in (await stage.control.instances()).items() if name.startswith(f"{group}-")}


async def nodes_of(stage: Bench, group: str) -> dict[str, Json]:
    """The Nodes of a group by name."""
    nodes = {node["metadata"]["name"]: node for node in await stage.cluster.list("Node")}
    return {name: node for name, node in nodes.items() if name.startswith(f"{group}-")}


async def compute(stage: Bench, method: str, path: str, body: Any = None) -> Json:
    """One call of the Compute API by somebody else; it must succeed."""
    url = f"{stage.ready['env']['TPU_NODE_GROUP_COMPUTE_ENDPOINT']}/compute/v1/projects/{PROJECT}/{path}"
    async with stage.http.request(method, url, json=body, headers=SOMEBODY) as answer:
        said: Json = await answer.json()
        assert answer.status == 200, said
        return said


def forged_audit(sample_file: str, method: str, vm: str, instance_id: str, number: int) -> bytes:
    """A published audit entry, told of another VM."""
    entry = copy.deepcopy(json.loads((_AUDIT_LOG / sample_file).read_text("utf-8")))
    entry["protoPayload"] |= {
        "methodName": method,
        "resourceName": f"projects/{PROJECT}/zones/{ZONE}/instances/{vm}",
        "status": {},
    }
    entry["resource"]["labels"] = {"zone": ZONE, "instance_id": instance_id, "project_id": PROJECT}
    entry["logName"] = f"projects/{PROJECT}/logs/{entry['logName'].rpartition('/')[2]}"
    entry["insertId"] = f"forged{number}"
    return json.dumps(entry).encode()


def forged_report(vm: str, instance_id: str, step: str, number: int) -> bytes:
    """A VM's own entry, of a VM that did not write it."""
    entry = {
        "logName": f"projects/{PROJECT}/logs/tpu-node-bootstrap",
        "insertId": f"forged{number}",
        "timestamp": "2026-12-01T10:00:00Z",
        "resource": {
            "type": "gce_instance",
            "labels": {"project_id": PROJECT, "zone": ZONE, "instance_id": instance_id},
        },
        "jsonPayload": {"instance": vm, "step": step, "reason": "forged"},
    }
    return json.dumps(entry).encode()


async def publish(stage: Bench, messages: list[bytes]) -> None:
    """Publish to the topic, as anybody may who has the right."""
    topic = stage.ready["env"]["TPU_NODE_GROUP_SUBSCRIPTION"].replace("/subscriptions/", "/topics/")
    async with grpc.aio.insecure_channel(stage.ready["env"]["TPU_NODE_GROUP_PUBSUB_ENDPOINT"]) as channel:
        client = PublisherAsyncClient(transport=PublisherGrpcAsyncIOTransport(channel=channel))
        await client.publish(topic=topic, messages=[PubsubMessage(data=data) for data in messages], timeout=20)
