"""The examples' plans: what would be made, and that a thing that is made anew gets its roles again."""

from pathlib import Path
from typing import Final

import pytest

from controller.cli import execute
from simulator.logging.sink_filter import sink_filter
from tests.terraform.plans import path_of, text
from tests.terraform.workspace import EXAMPLES, GIVEN, Json, Tools, Workspace, planned

pytestmark = pytest.mark.terraform

_SINK: Final = "module.event_pipeline.google_logging_project_sink.events[0]"


@pytest.fixture(scope="module")
def complete(workspace: Workspace) -> Json:
    return workspace.plan("examples/complete", GIVEN["complete"])


def test_the_planned_filter_is_the_simulators(complete: Json) -> None:
    assert planned(complete)[_SINK]["filter"] == sink_filter()


def test_a_narrowed_filter_is_the_simulators_too(workspace: Workspace) -> None:
    variables = {"project": "my-project", "zones": '["us-east5-b", "us-central1-a"]', "name_pattern": "train-|eval-"}
    plan = workspace.plan("modules/event-pipeline", variables)
    assert planned(plan)["google_logging_project_sink.events[0]"]["filter"] == sink_filter(
        zones="us-central1-a|us-east5-b", regions="us-central1|us-east5", names="train-|eval-"
    )


def test_the_complete_example_makes_these_and_no_other(complete: Json) -> None:
    assert sorted(planned(complete)) == [
        "module.alerts.google_monitoring_alert_policy.dead_letters",
        'module.alerts.google_monitoring_alert_policy.deaf["default"]',
        'module.alerts.google_monitoring_alert_policy.oldest_message["default"]',
        "module.alerts.google_monitoring_alert_policy.sink_errors",
        "module.alerts.google_project_service.monitoring[0]",
        'module.controller_identity.google_project_iam_custom_role.operator["my-gcp-project"]',
        "module.controller_identity.google_project_iam_member.log_writer",
        'module.controller_identity.google_project_iam_member.operator["my-gcp-project"]',
        "module.controller_identity.google_pubsub_subscription_iam_member.subscriber",
        "module.controller_identity.google_service_account.operator",
        'module.controller_identity.google_service_account_iam_member.act_as["nodes"]',
        _SINK,
        *(
            f'module.event_pipeline.google_project_service.needed["{api}"]'
            for api in ("cloudresourcemanager", "compute", "iam", "logging", "pubsub")
        ),
        'module.event_pipeline.google_pubsub_subscription.cluster["default"]',
        "module.event_pipeline.google_pubsub_subscription.dead_letters",
        "module.event_pipeline.google_pubsub_subscription.probe[0]",
        'module.event_pipeline.google_pubsub_subscription_iam_member.dead_letter_subscriber["default"]',
        "module.event_pipeline.google_pubsub_topic.dead_letters",
        "module.event_pipeline.google_pubsub_topic.events",
        "module.event_pipeline.google_pubsub_topic_iam_member.dead_letter_publisher",
        "module.event_pipeline.google_pubsub_topic_iam_member.writer",
        'module.node_identity.google_project_iam_member.log_writer["my-gcp-project"]',
        "module.node_identity.google_service_account.node",
    ]


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_kept_plan_is_todays(example: str, workspace: Workspace) -> None:
    """`make plans` writes them, for tests and demos without Terraform."""
    assert path_of(example).read_text("utf-8") == text(workspace.plan(f"examples/{example}", GIVEN[example]))


def test_clusters_that_share_a_project_share_no_subscription_and_no_account(workspace: Workspace) -> None:
    plan = planned(workspace.plan("examples/shared-project", GIVEN["shared-project"]))
    subscribers = {
        address.split('"')[1]: values["subscription"]
        for address, values in plan.items()
        if ".google_pubsub_subscription_iam_member.subscriber" in address
    }
    assert subscribers == {"blue": "tpu-node-group-events-blue", "green": "tpu-node-group-events-green"}
    accounts = [values["account_id"] for address, values in plan.items() if ".google_service_account." in address]
    assert sorted(accounts) == ["tpu-node-group-blue", "tpu-node-group-green", "tpu-nodes-blue", "tpu-nodes-green"]
    assert len([address for address in plan if "_sink.events" in address]) == 1


REPLACED: Final = {
    "google_pubsub_topic.events": ["google_pubsub_topic_iam_member.writer"],
    "google_pubsub_topic.dead_letters": ["google_pubsub_topic_iam_member.dead_letter_publisher"],
    'google_pubsub_subscription.cluster["default"]': [
        'google_pubsub_subscription_iam_member.dead_letter_subscriber["default"]'
    ],
    "google_pubsub_subscription.probe[0]": ['google_pubsub_subscription_iam_member.probe["user:jo@example.com"]'],
}


def test_what_is_made_anew_gets_its_roles_again(tools: Tools, tmp_path: Path) -> None:
    """Google Cloud forgets a resource's roles with it, and Terraform would not see that they are gone."""
    folder = "modules/event-pipeline"
    variables = {"project": "my-project", "probe": "true", "probe_members": '["user:jo@example.com"]'}
    workspace = Workspace.copied(tools, tmp_path / "terraform")
    workspace.apply(folder, variables)
    replaced = {}
    for address in REPLACED:
        plan = workspace.plan(folder, variables, f"-replace={address}")
        replaced[address] = [
            change["address"]
            for change in plan["resource_changes"]
            if "_iam_member." in change["address"] and change["change"]["actions"] == ["delete", "create"]
        ]
    assert replaced == REPLACED


def test_after_an_apply_nothing_is_left_to_do_and_the_outputs_are_the_operators_settings(
    tools: Tools, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace = Workspace.copied(tools, tmp_path / "terraform")
    workspace.apply("examples/complete", GIVEN["complete"])
    plan = workspace.plan("examples/complete", GIVEN["complete"])
    assert {tuple(each["change"]["actions"]) for each in plan["resource_changes"]} == {("no-op",)}
    outputs = tmp_path / "terraform.json"
    outputs.write_text(workspace.run("examples/complete", "output", "-json"), encoding="utf-8")
    assert execute(["settings", "--from-terraform", str(outputs)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "TPU_NODE_GROUP_CLUSTER_NAME=default",
        "TPU_NODE_GROUP_NODE_SERVICE_ACCOUNT=tpu-nodes@my-gcp-project.iam.gserviceaccount.com",
        "TPU_NODE_GROUP_PROJECT=my-gcp-project",
        "TPU_NODE_GROUP_SUBSCRIPTION=projects/my-gcp-project/subscriptions/tpu-node-group-events-default",
    ]
