"""Each piece of the event path is broken by itself, and the operator names it, and hears again when it is mended."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import grpc
import pytest
from google.pubsub_v1 import SubscriberAsyncClient
from google.pubsub_v1.services.subscriber.transports import SubscriberGrpcAsyncIOTransport

from simulator.logging.sink_filter import sink_filter
from tests.scenarios.faults import HURRY, IMPATIENT, SINGLES, SLICE, compute, until_ready
from tests.scenarios.groups import Json
from tests.scenarios.harness import Bench, bench, log_lines, until
from tests.scenarios.wire import Wire

#: What the operator is held to, in seconds from the break to the condition.
NAMED_WITHIN: Final = 8.0
CANARIES: Final[dict[str, Any]] = {"canary_interval": "1s", "deaf_limit": "5s"}
WITHOUT_CANARY: Final = sink_filter().replace('log_id("tpu-node-group-canary")', 'log_id("nobody")')
WITHOUT_ACTIVITY: Final = sink_filter().replace('log_id("cloudaudit.googleapis.com/activity")', 'log_id("nobody")')
WITHOUT_INSTANCES: Final = sink_filter().replace('resource.type=("gce_instance" OR ', "resource.type=(")
ACTIVITY: Final = 'log_id("cloudaudit.googleapis.com/activity")'

Step = Callable[[], Awaitable[Any]]


class Deafness:
    """A stage whose Pub/Sub hangs on a wire, and a group that says what the operator hears."""

    def __init__(self, stage: Bench, wire: Wire, pubsub: SubscriberAsyncClient) -> None:
        self.stage = stage
        self.wire = wire
        self.pubsub = pubsub
        self.subscription = stage.ready["env"]["TPU_NODE_GROUP_SUBSCRIPTION"]
        self.named: dict[str, float] = {}
        self._bystander: asyncio.Task[None] | None = None

    async def starts(self, **settings: Any) -> None:
        """An operator with good ears."""
        endpoint = f"127.0.0.1:{self.wire.port}"
        named = IMPATIENT | CANARIES | {"deaf_resync_interval": "1s", "pubsub_endpoint": endpoint} | settings
        await self.stage.start_operator(**named)

    async def says(self) -> Json:
        """EventsFlowing of the group."""
        return await self.stage.condition("TPUNodeGroup", "default", "singles", "EventsFlowing")

    async def slice(self) -> Json | None:
        """The group that comes and goes."""
        return await self.stage.cluster.get("TPUNodeGroup", "default", "slice")

    async def hears(self) -> None:
        """Until it does."""
        await until("the operator to hear", self.says, lambda seen: seen.get("reason") == "Flowing", 30)

    async def names(self, cause: str, reason: str, words: str, break_it: Step, mend: Step) -> None:
        """Break, be told why in time, mend, be heard again."""
        broke = asyncio.get_running_loop().time()
        await break_it()
        told = await until(f"{cause} to be named", self.says, lambda seen: seen["reason"] == reason, 20)
        self.named[cause] = asyncio.get_running_loop().time() - broke
        assert words in told["message"]
        assert told["status"] == "False"
        await mend()
        await self.hears()

    def path(self, **pieces: Any) -> Step:
        """Break or mend pieces of the path."""
        return lambda: self.stage.control("POST", "event-path", pieces)

    async def with_a_bystander(self, **pieces: Any) -> None:
        """Break, while somebody else goes on making things."""
        await self.path(**pieces)()
        self._bystander = asyncio.create_task(self._make_things())

    async def without_a_bystander(self, **pieces: Any) -> None:
        """Mend, when the other has enough."""
        assert self._bystander is not None
        await self._bystander
        await self.path(**pieces)()

    async def _make_things(self) -> None:
        for number in range(18):
            policy = {"type": "HIGH_THROUGHPUT", "acceleratorTopology": "2x2x2"}
            body = {"name": f"bystander-{number}", "workloadPolicy": policy}
            await compute(self.stage, "POST", "regions/us-central1/resourcePolicies", body)
            await asyncio.sleep(0.4)

    async def with_a_slice(self, **pieces: Any) -> None:
        """Break, and make a group: what the operator does for it is not heard of."""
        await self.path(**pieces)()
        await self.stage.cluster.create(SLICE)

    async def without_a_slice(self, **pieces: Any) -> None:
        """Mend, and delete the group: that is heard of."""
        await self.path(**pieces)()
        await self.stage.cluster.delete("TPUNodeGroup", "default", "slice")


@asynccontextmanager
async def deafness(folder: Path, **settings: Any) -> AsyncIterator[Deafness]:
    """A group that is Ready, and an operator that hears."""
    async with bench(folder, *HURRY) as stage:
        host, _, port = stage.ready["env"]["TPU_NODE_GROUP_PUBSUB_ENDPOINT"].rpartition(":")
        wire = Wire(host, int(port))
        await wire.mend()
        async with grpc.aio.insecure_channel(f"{host}:{port}") as channel:
            pubsub = SubscriberAsyncClient(transport=SubscriberGrpcAsyncIOTransport(channel=channel))
            try:
                made = Deafness(stage, wire, pubsub)
                await made.starts(**settings)
                await stage.cluster.create(SINGLES)
                await until_ready(stage, "singles")
                await made.hears()
                yield made
            finally:
                await wire.cut()


@pytest.mark.slow
@pytest.mark.timeout(400)
async def test_each_cause_of_deafness_is_named_in_time_and_ends_with_it(tmp_path: Path) -> None:
    async with deafness(tmp_path) as ears:
        was = await ears.pubsub.get_subscription(subscription=ears.subscription, timeout=10)

        async def gone() -> None:
            await ears.pubsub.delete_subscription(subscription=ears.subscription, timeout=10)

        async def there_again() -> None:
            await ears.pubsub.create_subscription(request=was, timeout=10)

        async def swallowed() -> None:
            ears.wire.swallow()

        async def passed() -> None:
            await ears.wire.cut()
            await ears.wire.mend()

        none, sinks = (
            "no entry of project my-gcp-project has arrived",
            "gcloud logging sinks list --project=my-gcp-project",
        )
        iam = f"gcloud pubsub subscriptions get-iam-policy {ears.subscription}"
        describe = f"gcloud pubsub subscriptions describe {ears.subscription}"
        await ears.names("sink disabled", "NoEvents", none, ears.path(disabled=True), ears.path(disabled=None))
        await ears.names(
            "writer may not publish", "NoEvents", sinks, ears.path(publisher=False), ears.path(publisher=None)
        )
        await ears.names(
            "filter without canary",
            "CanaryMissing",
            'does not admit log_id("tpu-node-group-canary")',
            lambda: ears.with_a_bystander(filter=WITHOUT_CANARY),
            lambda: ears.without_a_bystander(filter=None),
        )
        await ears.names(
            "filter without activity",
            "ActivityMissing",
            "the filter of the log sink of project my-gcp-project does not admit",
            lambda: ears.with_a_slice(filter=WITHOUT_ACTIVITY),
            lambda: ears.without_a_slice(filter=None),
        )
        await until("the slice to be gone", ears.slice, lambda seen: seen is None)
        await ears.names(
            "a sink above that intercepts",
            "ActivityMissing",
            "--organization=ORGANIZATION_ID",
            lambda: ears.with_a_slice(intercepts=ACTIVITY),
            lambda: ears.without_a_slice(intercepts=None),
        )
        await ears.names(
            "operator may not write",
            "CanaryNotWritten",
            "roles/logging.logWriter",
            ears.path(logger=False),
            ears.path(logger=None),
        )
        await ears.names("subscription deleted", "StreamDown", describe, gone, there_again)
        await ears.names("may not pull", "StreamDown", iam, ears.path(subscriber=False), ears.path(subscriber=None))
        await ears.names("black hole", "StreamDown", f"from elsewhere: `{describe}`", swallowed, passed)
        print({cause: round(seconds, 1) for cause, seconds in ears.named.items()})  # noqa: T201 - the figures
        assert {cause: seconds for cause, seconds in ears.named.items() if seconds > NAMED_WITHIN} == {}


@pytest.mark.slow
async def test_deaf_it_looks_by_itself_stays_ready_and_says_so(tmp_path: Path) -> None:
    async with deafness(tmp_path) as ears:
        stage = ears.stage
        await ears.path(disabled=True)()
        await until("it to be deaf", ears.says, lambda seen: seen["reason"] == "NoEvents", 30)
        status, said = await stage.ask_operator("/readyz")
        assert (status, said.splitlines()[0]) == (200, "ok")
        assert "events of my-gcp-project: NoEvents: no entry of project my-gcp-project has arrived" in said
        assert 'tpu_events_flowing{project="my-gcp-project"} 0.0' in (await stage.ask_operator("/metrics"))[1]
        before = await stage.control.calls()
        await until("looks of its own", _reads(stage, before), lambda seen: seen >= 3, 30)
        ((_, vm), *_) = sorted((await stage.control.instances()).items())
        await stage.control.strike(vm["name"], "host-error")
        await until("the loss to be seen", _ready(stage), lambda seen: seen.get("status") == "False", 20)
        await ears.path(disabled=None)()
        await ears.hears()
        await until_ready(stage, "singles")
        assert 'tpu_events_flowing{project="my-gcp-project"} 1.0' in (await stage.ask_operator("/metrics"))[1]


def _reads(stage: Bench, before: Any) -> Callable[[], Awaitable[int]]:
    async def look() -> int:
        return (await stage.control.calls()).since(before).count("instanceGroupManagers.get")

    return look


def _ready(stage: Bench) -> Callable[[], Awaitable[Json]]:
    return lambda: stage.condition("TPUNodeGroup", "default", "singles")


@pytest.mark.slow
async def test_a_loss_that_only_a_resync_finds_names_the_type_that_the_filter_lacks(tmp_path: Path) -> None:
    async with deafness(tmp_path, resync_interval="1s") as ears:
        stage = ears.stage
        await ears.path(filter=WITHOUT_INSTANCES)()
        vms = sorted(await stage.control.instances())
        await stage.control.strike(vms[0], "host-error")
        told = await until("it to be missed", ears.says, lambda seen: seen["reason"] == "ActivityMissing", 40)
        assert (
            f"the audit entry of what became of projects/my-gcp-project/zones/us-central1-c/instances/{vms[0]}"
            in (told["message"])
        )
        assert "does not admit gce_instance," in told["message"]
        assert 'tpu_resync_drift_total{kind="instances"}' in (await stage.ask_operator("/metrics"))[1]
        await ears.path(filter=None)()
        await stage.control.strike(vms[1], "host-error")
        await ears.hears()


@pytest.mark.slow
async def test_a_bad_path_is_not_a_broken_one(tmp_path: Path) -> None:
    async with deafness(tmp_path) as ears:
        stage = ears.stage
        for nth in range(3, 90, 3):
            await stage.control("POST", "faults", {"event": "canary.canary", "effect": "drop", "nth": nth})
        await stage.control("POST", "faults", {"event": "*", "effect": "delay", "ms": 2500, "nth": "every"})
        await stage.cluster.create(SLICE)
        await until_ready(stage, "slice")
        for _ in range(4):
            # The stream is cut, again and again.
            await ears.wire.cut()
            await ears.wire.mend()
            await asyncio.sleep(3)
        await stage.cluster.delete("TPUNodeGroup", "default", "slice")
        await until("the slice to be gone", ears.slice, lambda seen: seen is None)
        assert stage.operator is not None
        assert [line for line in log_lines(stage.operator.log) if line.get("event") == "events do not arrive"] == []


@pytest.mark.slow
async def test_whoever_leads_next_hears_at_once_and_is_never_called_deaf(tmp_path: Path) -> None:
    async with deafness(tmp_path) as ears:
        stage, since = ears.stage, (await ears.says())["lastTransitionTime"]
        for takes_over in ("the same Pod", "another Pod"):
            await stage.kill_operator()
            # What was written and not taken before the change comes to the next one.
            await asyncio.sleep(2)
            await ears.starts(identity=takes_over.replace(" ", "-"))
            before = await stage.control.calls()
            await until("canaries of its own", _canaries(stage, before), lambda seen: seen >= 12, 40)
            told = await ears.says()
            assert (told["reason"], told["lastTransitionTime"]) == ("Flowing", since)


def _canaries(stage: Bench, before: Any) -> Callable[[], Awaitable[int]]:
    async def look() -> int:
        return (await stage.control.calls()).since(before).count("LoggingServiceV2.WriteLogEntries")

    return look
