"""The simulated world as a Terraform plan would make it: the shipped example, and with a relation taken out of it."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from controller.demo.processes import start
from controller.doctor.examine import examine
from controller.doctor.findings import Status
from controller.settings import ENV_PREFIX, load
from tests.api.manifests import changed
from tests.scenarios.faults import HURRY, IMPATIENT, SINGLES, until_ready
from tests.scenarios.groups import Json, sample
from tests.scenarios.harness import PROGRAM, Bench, bench, clean_environment, until
from tests.terraform.kept import KEPT, edited, kept, without, written

_PIPELINE: Final = "module.event_pipeline"
_SINK: Final = f"{_PIPELINE}.google_logging_project_sink.events[0]"
_SYSTEM_EVENTS: Final = 'log_id("cloudaudit.googleapis.com/system_event")'
_EARS: Final[dict[str, Any]] = {"canary_interval": "1s", "deaf_limit": "5s"}
SPOT_SLICE: Final[Json] = changed(
    sample("01-reservation-bulk-2x2x2.yaml"),
    {
        "metadata.name": "slice",
        "spec.instanceConfig.provisioningModel": "SPOT",
        "spec.instanceConfig.reservation": None,
    },
)


@asynccontextmanager
async def planned(folder: Path, plan: Json, **settings: Any) -> AsyncIterator[Bench]:
    """A world as the plan has it, and an operator in it."""
    async with bench(folder, *HURRY, "--plan", str(written(plan, folder))) as stage:
        await stage.start_operator(**IMPATIENT, **_EARS, **settings)
        yield stage


async def flowing(stage: Bench, name: str) -> Json:
    """EventsFlowing of a group."""
    return await stage.condition("TPUNodeGroup", "default", name, "EventsFlowing")


@pytest.mark.slow
async def test_the_life_of_a_slice_in_the_world_of_the_shipped_example(tmp_path: Path) -> None:
    command = [*PROGRAM, "demo", "--json", "--plan", str(KEPT / "complete.plan.json")]
    demo = await start("demo", command, clean_environment(), tmp_path / "demo.log", read=True)
    try:
        report = json.loads(await demo.first_line(110))
    finally:
        await demo.stop()
    assert (report["ok"], report["failures"], report["left_behind"]) == (True, [], [])
    assert report["event_to_token_ms"]["by_cause"]["follow_up"]["n"] == 0


@pytest.mark.slow
async def test_without_the_writers_role_in_the_plan_the_operator_says_that_it_is_deaf_and_why(tmp_path: Path) -> None:
    """B38: https://github.com/hashicorp/terraform-provider-google/issues/4320."""
    plan = without(kept(), f"{_PIPELINE}.google_pubsub_topic_iam_member.writer")
    async with planned(tmp_path, plan) as stage:
        await stage.cluster.create(SINGLES)
        told = await until(
            "it to be deaf", lambda: flowing(stage, "singles"), lambda seen: seen.get("status") == "False"
        )
        assert told["reason"] == "NoEvents"
        assert "gcloud logging sinks list --project=my-gcp-project" in told["message"]
        # It works all the same, by looks of its own.
        await until_ready(stage, "singles")


@pytest.mark.slow
async def test_without_the_subscribers_role_in_the_plan_the_operator_names_it(tmp_path: Path) -> None:
    plan = without(kept(), "module.controller_identity.google_pubsub_subscription_iam_member.subscriber")
    async with planned(tmp_path, plan) as stage:
        await stage.cluster.create(SINGLES)
        told = await until(
            "it to be deaf", lambda: flowing(stage, "singles"), lambda seen: seen.get("status") == "False"
        )
        assert told["reason"] == "StreamDown"
        subscription = "projects/my-gcp-project/subscriptions/tpu-node-group-events-default"
        assert f"gcloud pubsub subscriptions get-iam-policy {subscription}" in told["message"]


@pytest.mark.slow
async def test_without_the_custom_role_in_the_plan_compute_engine_refuses_and_the_group_says_so(tmp_path: Path) -> None:
    plan = without(kept(), "module.controller_identity.google_project_iam_member.operator")
    async with planned(tmp_path, plan) as stage:
        await stage.cluster.create(SINGLES)
        told = await until(
            "the refusal",
            lambda: stage.condition("TPUNodeGroup", "default", "singles"),
            lambda seen: "compute." in seen.get("message", ""),
        )
        assert told["status"] == "False"
        assert await stage.control.instances() == {}


@pytest.mark.slow
async def test_what_the_planned_filter_does_not_take_is_found_by_a_resync_and_counted(tmp_path: Path) -> None:
    """No entry of the preemption comes, and nothing makes a VM of a Spot slice anew: no other entry follows it."""
    text = kept_filter()
    assert _SYSTEM_EVENTS in text
    plan = edited(kept(), _SINK, filter=text.replace(_SYSTEM_EVENTS, 'log_id("nobody")'))
    async with planned(tmp_path, plan, resync_interval="4s", deaf_resync_interval="4s") as stage:
        await stage.cluster.create(SPOT_SLICE)
        await until_ready(stage, "slice")
        await until("it to hear", lambda: flowing(stage, "slice"), lambda seen: seen.get("status") == "True")
        lost = min(await stage.control.instances())
        await stage.control.strike(lost, "preempt")
        told = await until(
            "the loss to be seen",
            lambda: stage.condition("TPUNodeGroup", "default", "slice"),
            lambda seen: seen.get("status") == "False",
        )
        deaf = await until("it to be deaf", lambda: flowing(stage, "slice"), lambda seen: seen.get("status") == "False")
        logs = (await stage.control.world("last=1000"))["history"]["logs"]
        assert [each["admitted"] for each in logs if each["event"] == "instance.preempted"] == [False]
        assert 'tpu_resync_drift_total{kind="instances"} 1.0' in (await stage.ask_operator("/metrics"))[1]
        assert (told["reason"], lost in told["message"]) == ("InstanceLost", True)
        assert (deaf["reason"], lost in deaf["message"]) == ("ActivityMissing", True)


#: What is taken out of the plan -> the checks of doctor that then fail.
NAMED: Final = {
    f"{_PIPELINE}.google_pubsub_topic_iam_member.writer": {"sink-writer"},
    f"{_PIPELINE}.google_pubsub_topic_iam_member.dead_letter_publisher": {"dead-letter-publisher"},
    f"{_PIPELINE}.google_pubsub_subscription_iam_member.dead_letter_subscriber": {"dead-letter-subscriber"},
    "module.controller_identity.google_project_iam_member.operator": {"compute-permissions"},
}


@pytest.mark.slow
@pytest.mark.parametrize("address", NAMED)
async def test_doctor_names_what_the_plan_has_not(address: str, tmp_path: Path) -> None:
    async with bench(tmp_path, *HURRY, "--plan", str(written(without(kept(), address), tmp_path))) as stage:
        given = {name.removeprefix(ENV_PREFIX).lower(): value for name, value in stage.ready["env"].items()}
        findings = await examine(load(given, {}), timeout=10)
        # Nobody operates here: that is none of the plan's.
        bad = {each.check for each in findings if each.shown()["status"] in {Status.FAILED, Status.WARNING}}
        assert bad - {"operator"} == NAMED[address]


def kept_filter() -> str:
    """The filter of the kept plan."""
    modules = kept()["planned_values"]["root_module"]["child_modules"]
    (sink,) = (each for module in modules for each in module.get("resources", []) if each["address"] == _SINK)
    return str(sink["values"]["filter"])
