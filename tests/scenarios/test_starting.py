"""What is missing at the start is named in one line, with what to do; where waiting helps, the operator waits."""

import asyncio
import socket
from pathlib import Path

import grpc
import pytest
from google.pubsub_v1 import SubscriberAsyncClient
from google.pubsub_v1.services.subscriber.transports import SubscriberGrpcAsyncIOTransport

from tests.scenarios.groups import sample
from tests.scenarios.harness import Bench, bench, until
from tests.scenarios.programs import run
from tests.scenarios.wire import wire_to

SUBSCRIPTION = "projects/my-gcp-project/subscriptions/events"
HERE = {"TPU_NODE_GROUP_SUBSCRIPTION": SUBSCRIPTION, "TPU_NODE_GROUP_LISTEN": "127.0.0.1:0"}


async def fails_to_start(environment: dict[str, str]) -> str:
    """The one line that `run` ends with, as an exit code 1."""
    code, _, error = await run("run", environment=HERE | environment)
    assert code == 1, error
    lines = [line for line in error.splitlines() if line.startswith("tpu-node-group: ")]
    assert len(lines) == 1, error
    assert error.endswith(f"{lines[0]}\n"), error
    return lines[0].removeprefix("tpu-node-group: ")


async def test_a_kubeconfig_that_is_not_there_ends_it() -> None:
    said = await fails_to_start({"TPU_NODE_GROUP_KUBECONFIG": "/nowhere/kubeconfig"})
    assert said == (
        "Reading the kubeconfig /nowhere/kubeconfig failed: there is no such file. "
        "Name a kubeconfig and a context that exist, or run in a Pod. (FileNotFoundError)"
    )


async def test_a_cluster_without_our_kinds_ends_it_and_costs_nothing(tmp_path: Path) -> None:
    async with bench(tmp_path, "--no-crds", custom=False) as world:
        said = await fails_to_start(world.ready["env"])
        assert said == (
            "The custom resource tpunodegroups.tpu.google.com is not installed in the cluster: "
            "run `tpu-node-group crds | kubectl apply -f -`, then start again."
        )
        calls = await world.control.calls()
        assert calls.of_operator("compute") == {}
        assert calls.effective("kubernetes") == {}


@pytest.mark.slow
async def test_missing_credentials_end_it(world: Bench, tmp_path: Path) -> None:
    # Google's own endpoint needs credentials; none are to be found anywhere.
    environment = {name: value for name, value in world.ready["env"].items() if not name.endswith("COMPUTE_ENDPOINT")}
    nowhere = {"HOME": str(tmp_path), "NO_GCE_CHECK": "true", "GOOGLE_APPLICATION_CREDENTIALS": ""}
    said = await fails_to_start(environment | nowhere)
    assert said.startswith("Opening the Compute Engine client has no valid credentials: ")
    assert "Check the credentials of the operator" in said


async def test_a_port_that_is_taken_ends_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        said = await fails_to_start({"TPU_NODE_GROUP_LISTEN": address})
    assert said.startswith(f"listen: {address} cannot be listened on: ")


@pytest.mark.slow
async def test_an_api_server_that_is_not_there_yet_is_waited_for(world: Bench, tmp_path: Path) -> None:
    copy = tmp_path / "operator.kubeconfig"
    async with wire_to(Path(world.ready["env"]["TPU_NODE_GROUP_KUBECONFIG"]), copy) as wire:
        await world.start_operator(wait=False, kubeconfig=str(copy))
        said = await world.said("cannot be used yet, trying again", what="the Kubernetes API")
        assert "Cannot connect to host" in said["failure"]
        assert (await world.ask_operator("/readyz"))[0] == 503
        assert (await world.ask_operator("/healthz"))[0] == 200
        await wire.mend()
        await world.said("operating")
        await until("readiness", lambda: world.ask_operator("/readyz"), lambda seen: seen[0] == 200)


@pytest.mark.slow
async def test_a_subscription_that_is_not_there_is_named_and_waited_for(world: Bench) -> None:
    name = world.ready["env"]["TPU_NODE_GROUP_SUBSCRIPTION"]
    async with grpc.aio.insecure_channel(world.ready["env"]["TPU_NODE_GROUP_PUBSUB_ENDPOINT"]) as channel:
        pubsub = SubscriberAsyncClient(transport=SubscriberGrpcAsyncIOTransport(channel=channel))
        was = await pubsub.get_subscription(subscription=name, timeout=10)
        await pubsub.delete_subscription(subscription=name, timeout=10)
        await world.start_operator()
        said = await world.said("subscription")
        assert name in said["trouble"]
        status, problems = await world.ask_operator("/readyz")
        assert (status, name in problems) == (503, True), problems
        # Deaf, it works all the same: it looks by itself.
        await world.cluster.create(sample("01-reservation-bulk-2x2x2.yaml"))
        await world.until_ready("default", "my-tpu-node-group")
        events = await world.condition("TPUNodeGroup", "default", "my-tpu-node-group", "EventsFlowing")
        assert events["status"] != "True"
        await pubsub.create_subscription(request=was, timeout=10)
    await until("readiness", lambda: world.ask_operator("/readyz"), lambda seen: seen[0] == 200)


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [5.0, 12.0])
async def test_an_outage_of_the_api_server_in_mid_life_costs_time_only(
    world: Bench, tmp_path: Path, seconds: float
) -> None:
    before = await world.control.state()
    copy = tmp_path / "operator.kubeconfig"
    async with wire_to(Path(world.ready["env"]["TPU_NODE_GROUP_KUBECONFIG"]), copy) as wire:
        await wire.mend()
        # An outage longer than the lease's deadline would end a leader, which its Deployment starts anew.
        await world.start_operator(kubeconfig=str(copy), leader_election="false")
        await world.cluster.create(sample("01-reservation-bulk-2x2x2.yaml"))
        await until("the VMs", world.control.instances, lambda seen: len(seen) == 2)
        await wire.cut()
        await asyncio.sleep(seconds)
        await wire.mend()
        await world.until_ready("default", "my-tpu-node-group")
        await world.cluster.delete("TPUNodeGroup", "default", "my-tpu-node-group")
        await wire.cut()
        await asyncio.sleep(seconds)
        await wire.mend()
        await world.until_world_is(before)
        assert [len(secrets) for secrets in world.witness.minted.values()] == [1, 1]


@pytest.mark.slow
async def test_a_leader_that_cannot_renew_its_lease_ends_and_says_so(world: Bench, tmp_path: Path) -> None:
    copy = tmp_path / "operator.kubeconfig"
    async with wire_to(Path(world.ready["env"]["TPU_NODE_GROUP_KUBECONFIG"]), copy) as wire:
        await wire.mend()
        operator = await world.start_operator(kubeconfig=str(copy))
        await wire.cut()
        assert await asyncio.wait_for(operator.process.wait(), 25) == 1
        assert operator.last_words() == (
            "tpu-node-group: The lease was lost: another replica may be acting, so this one ends."
        )
        world.operator = None
