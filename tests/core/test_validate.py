"""What cannot work is refused before any call, with what to change."""

import pytest

from controller.api.resources import InstanceTemplateSpec, TPUNodeGroup
from controller.core.observed import TemplateView
from controller.core.validate import brought_template_rejection, group_rejection, template_rejection
from tests.core.builders import make_group, make_single_hosts, make_template_view

URI = "projects/my-gcp-project/global/instanceTemplates/golden"
BROUGHT = make_group(instanceConfig=None, bootstrapKubernetes=None, instanceTemplateURI=URI)


@pytest.mark.parametrize(
    "group",
    [make_group(), make_single_hosts(), make_group(nodeCount=16, topology="4x4x4"), BROUGHT],
    ids=["a slice", "hosts of their own", "a cube", "a brought template, unseen yet"],
)
def test_nothing_is_wrong_with(group: TPUNodeGroup) -> None:
    assert group_rejection(group) is None


@pytest.mark.parametrize(
    ("group", "why"),
    [
        pytest.param(
            make_group(nodeCount=3),
            "topology 2x2x2 takes 2 hosts of tpu7x-standard-4t, not 3: set nodeCount to 2",
            id="a wrong number of hosts",
        ),
        pytest.param(
            make_group(instanceConfig={"machineType": "tpu7x-standard-9t"}),
            "machineType 'tpu7x-standard-9t' is not known: use one of",
            id="an unknown machine type",
        ),
        pytest.param(
            make_single_hosts(topology="2x2x2"),
            "every host of an INDIVIDUAL group is a slice of its own: set topology to 2x2x1",
            id="a slice's topology for single hosts",
        ),
    ],
)
def test_a_group_is_refused_for(group: TPUNodeGroup, why: str) -> None:
    rejection = group_rejection(group)
    assert rejection is not None
    assert rejection.startswith(why)


@pytest.mark.parametrize(
    "template",
    [
        pytest.param(make_template_view(), id="on demand"),
        pytest.param(make_template_view(provisioning_model=""), id="without a model"),
        pytest.param(make_template_view(provisioning_model="SPOT", termination_action="STOP"), id="Spot"),
        pytest.param(
            make_template_view(provisioning_model="RESERVATION_BOUND", termination_action="DELETE"), id="reserved"
        ),
        pytest.param(make_template_view(machine_type="zones/z/machineTypes/tpu7-standard-4t"), id="by a URL"),
    ],
)
def test_a_brought_template_is_taken_when_it_is(template: TemplateView) -> None:
    assert brought_template_rejection(BROUGHT, template) is None


@pytest.mark.parametrize(
    ("template", "why"),
    [
        pytest.param(
            make_template_view(machine_type="n2-standard-4"),
            f"{URI}: its machine type 'n2-standard-4' is no TPU of v6e or v7; bring a template of one",
            id="no TPU",
        ),
        pytest.param(
            make_template_view(has_scheduling=False),
            f"{URI}: its scheduling must say onHostMaintenance TERMINATE: a TPU VM cannot migrate",
            id="no scheduling",
        ),
        pytest.param(
            make_template_view(on_host_maintenance="MIGRATE"),
            f"{URI}: its scheduling must say onHostMaintenance TERMINATE: a TPU VM cannot migrate",
            id="migration",
        ),
        pytest.param(
            make_template_view(provisioning_model="FLEX_START"),
            f"{URI}: its provisioning model FLEX_START is not supported; use STANDARD, SPOT or RESERVATION_BOUND",
            id="another model",
        ),
        pytest.param(
            make_template_view(provisioning_model="SPOT", termination_action="DELETE"),
            f"{URI}: with provisioning model SPOT its instanceTerminationAction must be STOP",
            id="Spot VMs that are deleted",
        ),
        pytest.param(
            make_template_view(provisioning_model="RESERVATION_BOUND"),
            f"{URI}: with provisioning model RESERVATION_BOUND its instanceTerminationAction must be DELETE",
            id="reserved VMs that are not",
        ),
        pytest.param(
            make_template_view(machine_type="tpu7x-standard-1t"),
            "tpu7x-standard-1t cannot form topology 2x2x2: use 1x1x1 (nodeCount 1)",
            id="a topology that it cannot form",
        ),
    ],
)
def test_a_brought_template_is_refused_for(template: TemplateView, why: str) -> None:
    assert brought_template_rejection(BROUGHT, template) == why


@pytest.mark.parametrize(
    ("spec", "refusal"),
    [
        pytest.param({"machineType": "tpu7x-standard-4t"}, None, id="nothing wrong"),
        pytest.param({"machineType": "tpu7x-standard-4t", "subnetwork": "default"}, None, id="the default network"),
        pytest.param({"machineType": "tpu7x-standard-4t", "subnetwork": "a/b"}, None, id="a URL"),
        pytest.param({"machineType": "tpu7x-standard-4t", "diskType": "pd-ssd"}, None, id="a disk that tpu7x takes"),
        pytest.param(
            {"machineType": "tpu7x-standard-4t", "subnetwork": "mine"},
            "subnetwork 'mine': an instance template is global and has no region for a bare name; "
            "write regions/<region>/subnetworks/mine",
            id="a bare name",
        ),
        pytest.param(
            {"machineType": "ct6e-standard-4t", "diskType": "zones/z/diskTypes/pd-ssd"},
            "diskType 'zones/z/diskTypes/pd-ssd': ct6e-standard-4t takes Hyperdisk only; write hyperdisk-balanced",
            id="a disk that v6e does not take",
        ),
    ],
)
def test_what_a_template_is_refused_for(spec: dict[str, str], refusal: str | None) -> None:
    assert template_rejection(InstanceTemplateSpec.model_validate(spec)) == refusal
