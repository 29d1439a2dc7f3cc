"""The bodies that Compute Engine is sent, whole, for the sample custom resources."""

from dataclasses import replace
from typing import Any

import pytest

from controller.api.resources import TPUNodeGroup
from controller.core.children import child_manifest, child_ref, wanted_kinds
from controller.core.desired import BootImages, body_of, ref_of
from controller.core.model import Kind
from controller.core.observed import ResourceRef
from controller.core.plan import Policy
from tests.core.builders import make_group, make_single_hosts
from tests.core.manifests import created, sample, sample_group

Json = dict[str, Any]

IMAGES = BootImages(tpu7x="projects/i/global/images/family/seven", v6e="projects/i/global/images/family/six")
POLICY = Policy(images=IMAGES, startup_script="#!/bin/bash")


def bodies(group: TPUNodeGroup, policy: Policy = POLICY) -> dict[Kind, Json]:
    """The body of each child, by way of its manifest."""
    return {
        kind: body_of(created(child_manifest(group, kind, policy)), "the mark", policy.images)
        for kind in wanted_kinds(group)
    }


def template_properties(group: TPUNodeGroup, policy: Policy = POLICY) -> Json:
    """The instance template's properties."""
    properties: Json = bodies(group, policy)[Kind.TEMPLATE]["properties"]
    return properties


def test_the_reserved_slice_of_the_references_readme() -> None:
    group = sample_group("01")
    policy, template, mig = (f"my-tpu-node-group-{kind}-88d5f33a" for kind in ("policy", "template", "mig"))
    assert bodies(group) == {
        Kind.POLICY: {
            "name": policy,
            "description": "the mark",
            "workloadPolicy": {"type": "HIGH_THROUGHPUT", "acceleratorTopology": "2x2x2"},
        },
        Kind.TEMPLATE: {
            "name": template,
            "description": "the mark",
            "properties": {
                "machineType": "tpu7x-standard-4t",
                "metadata": {
                    "items": [
                        {
                            "key": "kube-labels",
                            "value": "cloud.google.com/gke-accelerator-count=4,"
                            "cloud.google.com/gke-tpu-accelerator=tpu7x,"
                            "cloud.google.com/gke-tpu-topology=2x2x2,"
                            "cloud.google.com/tpu-node-group=default-my-tpu-node-group,"
                            "cloud.google.com/tpu-node-group-name=my-tpu-node-group,"
                            "cloud.google.com/tpu-node-group-namespace=default",
                        },
                        {"key": "kubeadm-control-plane-endpoint", "value": "10.128.0.2:6443"},
                        {"key": "kubeadm-control-plane-ip", "value": "10.128.0.2"},
                        {"key": "kubeadm-kubernetes-version", "value": "1.31"},
                        {"key": "kubeadm-taints", "value": "google.com/tpu=present:NoSchedule"},
                        {"key": "startup-script", "value": "#!/bin/bash"},
                    ]
                },
                "scheduling": {
                    "onHostMaintenance": "TERMINATE",
                    "provisioningModel": "RESERVATION_BOUND",
                    "instanceTerminationAction": "DELETE",
                },
                "networkInterfaces": [
                    {"subnetwork": "projects/my-gcp-project/regions/us-central1/subnetworks/default"}
                ],
                "disks": [
                    {
                        "autoDelete": True,
                        "boot": True,
                        "initializeParams": {
                            "sourceImage": "projects/ubuntu-os-accelerator-images/global/images/"
                            "ubuntu-accel-2404-amd64-tpu-tpu7x-v20260320",
                            "diskSizeGb": "100",
                        },
                    }
                ],
                "reservationAffinity": {
                    "consumeReservationType": "SPECIFIC_RESERVATION",
                    "key": "compute.googleapis.com/reservation-name",
                    "values": ["my-tpu-reservation"],
                },
            },
        },
        Kind.MIG: {
            "name": mig,
            "description": "the mark",
            "baseInstanceName": mig,
            "instanceTemplate": f"projects/my-gcp-project/global/instanceTemplates/{template}",
            "targetSize": 2,
            "targetSizePolicy": {"mode": "BULK"},
            "instanceLifecyclePolicy": {"defaultActionOnFailure": "DO_NOTHING"},
            "resourcePolicies": {
                "workloadPolicy": f"projects/my-gcp-project/regions/us-central1/resourcePolicies/{policy}"
            },
        },
    }


def test_a_spot_host_of_v6e() -> None:
    group = sample_group("02")
    mig, template = child_ref(group, Kind.MIG).name, child_ref(group, Kind.TEMPLATE).name
    items = [
        {
            "key": "kube-labels",
            "value": "cloud.google.com/gke-accelerator-count=8,"
            "cloud.google.com/gke-tpu-accelerator=tpu-v6e-slice,"
            "cloud.google.com/gke-tpu-topology=2x4,"
            "cloud.google.com/tpu-node-group=research-trillium-spot,"
            "cloud.google.com/tpu-node-group-name=trillium-spot,"
            "cloud.google.com/tpu-node-group-namespace=research",
        },
        {"key": "kubeadm-control-plane-endpoint", "value": "10.128.0.2:6443"},
        {"key": "kubeadm-control-plane-ip", "value": "10.128.0.2"},
        {"key": "kubeadm-kubernetes-version", "value": "1.31"},
        {"key": "kubeadm-taints", "value": "google.com/tpu=present:NoSchedule"},
        {"key": "startup-script", "value": "#!/bin/bash"},
        {"key": "team", "value": "research"},
    ]
    assert bodies(group) == {
        Kind.TEMPLATE: {
            "name": template,
            "description": "the mark",
            "properties": {
                "machineType": "ct6e-standard-8t",
                "metadata": {"items": items},
                "scheduling": {
                    "onHostMaintenance": "TERMINATE",
                    "provisioningModel": "SPOT",
                    "instanceTerminationAction": "STOP",
                },
                "networkInterfaces": [{"subnetwork": "regions/us-east5/subnetworks/default"}],
                "disks": [
                    {
                        "autoDelete": True,
                        "boot": True,
                        "initializeParams": {
                            "sourceImage": "projects/i/global/images/family/six",
                            "diskType": "hyperdisk-balanced",
                        },
                    }
                ],
                "tags": {"items": ["tpu-node"]},
                "serviceAccounts": [{"email": "default", "scopes": ["https://www.googleapis.com/auth/cloud-platform"]}],
                "advancedMachineFeatures": {"threadsPerCore": 1},
            },
        },
        Kind.MIG: {
            "name": mig,
            "description": "the mark",
            "baseInstanceName": mig,
            "instanceTemplate": f"projects/my-gcp-project/global/instanceTemplates/{template}",
            "targetSize": 1,
            "targetSizePolicy": {"mode": "INDIVIDUAL"},
            "instanceLifecyclePolicy": {"defaultActionOnFailure": "REPAIR"},
        },
    }


def test_a_brought_template_leaves_the_policy_and_the_mig() -> None:
    group = sample_group("03")
    mig, policy = child_ref(group, Kind.MIG).name, child_ref(group, Kind.POLICY).name
    assert bodies(group) == {
        Kind.POLICY: {
            "name": policy,
            "description": "the mark",
            "workloadPolicy": {"type": "HIGH_THROUGHPUT", "acceleratorTopology": "4x4x4"},
        },
        Kind.MIG: {
            "name": mig,
            "description": "the mark",
            "baseInstanceName": mig,
            "instanceTemplate": "projects/my-gcp-project/global/instanceTemplates/tpu7x-golden",
            "targetSize": 16,
            "targetSizePolicy": {"mode": "BULK"},
            "instanceLifecyclePolicy": {"defaultActionOnFailure": "DO_NOTHING"},
            "resourcePolicies": {
                "workloadPolicy": f"projects/my-gcp-project/regions/us-central1/resourcePolicies/{policy}"
            },
        },
    }


def test_independent_hosts_have_no_policy_and_are_repaired() -> None:
    made = bodies(sample_group("04"))
    assert list(made) == [Kind.TEMPLATE, Kind.MIG]
    assert made[Kind.MIG]["targetSizePolicy"] == {"mode": "INDIVIDUAL"}
    assert made[Kind.MIG]["instanceLifecyclePolicy"] == {"defaultActionOnFailure": "REPAIR"}
    assert made[Kind.TEMPLATE]["properties"]["scheduling"] == {
        "onHostMaintenance": "TERMINATE",
        "provisioningModel": "STANDARD",
    }


def test_children_on_their_own() -> None:
    policy, template, mig = sample("05")
    assert [body_of(child, "the mark", IMAGES) for child in (policy, template, mig)] == [
        {
            "name": "standalone-policy",
            "description": "the mark",
            "workloadPolicy": {"type": "HIGH_THROUGHPUT", "acceleratorTopology": "2x2x2"},
        },
        {
            "name": "standalone-template",
            "description": "the mark",
            "properties": {
                "machineType": "tpu7x-standard-4t",
                "metadata": {"items": []},
                "scheduling": {"onHostMaintenance": "TERMINATE", "provisioningModel": "STANDARD"},
                "networkInterfaces": [{"network": "global/networks/default"}],
                "disks": [
                    {
                        "autoDelete": True,
                        "boot": True,
                        "initializeParams": {"sourceImage": "projects/i/global/images/family/seven"},
                    }
                ],
            },
        },
        {
            "name": "standalone-mig",
            "description": "the mark",
            "baseInstanceName": "standalone-mig",
            "instanceTemplate": "projects/my-gcp-project/global/instanceTemplates/standalone-template",
            "targetSize": 2,
            "targetSizePolicy": {"mode": "BULK"},
            "instanceLifecyclePolicy": {"defaultActionOnFailure": "DO_NOTHING"},
            "resourcePolicies": {
                "workloadPolicy": "projects/my-gcp-project/regions/us-central1/resourcePolicies/standalone-policy"
            },
        },
    ]
    assert [ref_of(child) for child in (policy, template, mig)] == [
        ResourceRef(Kind.POLICY, "my-gcp-project", "us-central1", "standalone-policy"),
        ResourceRef(Kind.TEMPLATE, "my-gcp-project", "global", "standalone-template"),
        ResourceRef(Kind.MIG, "my-gcp-project", "us-central1-c", "standalone-mig"),
    ]


def test_a_group_has_no_resource_of_its_own() -> None:
    with pytest.raises(TypeError, match="TPUNodeGroup has no GCE resource"):
        ref_of(make_group())
    with pytest.raises(TypeError, match="TPUNodeGroup has no GCE resource"):
        body_of(make_group(), "", IMAGES)


@pytest.mark.parametrize(("size", "paginated"), [(1000, False), (1001, True)])
def test_a_mig_above_a_thousand_vms_pages_its_lists(size: int, paginated: bool) -> None:  # noqa: FBT001
    mig = bodies(make_single_hosts(size))[Kind.MIG]
    assert (mig.get("listManagedInstancesResults") == "PAGINATED") is paginated


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        (None, "regions/us-central1/subnetworks/default"),
        ("mine", "regions/us-central1/subnetworks/mine"),
        ("regions/x/subnetworks/mine", "regions/x/subnetworks/mine"),
    ],
)
def test_a_bare_subnetwork_of_a_group_is_that_of_its_region(written: str | None, sent: str) -> None:
    config = {"machineType": "tpu7x-standard-4t"} | ({"subnetwork": written} if written else {})
    assert template_properties(make_group(instanceConfig=config))["networkInterfaces"] == [{"subnetwork": sent}]


LOGGING = {"email": "nodes@p", "scopes": ["https://www.googleapis.com/auth/logging.write"]}


def test_vms_without_a_service_account_get_the_operators_default_one_for_their_log() -> None:
    policy = replace(POLICY, node_service_account="nodes@p")
    assert template_properties(make_group(), policy)["serviceAccounts"] == [LOGGING]


def test_a_named_service_account_is_kept() -> None:
    own = {"email": "own@p", "scopes": ["s"]}
    group = make_group(instanceConfig={"machineType": "tpu7x-standard-4t", "serviceAccounts": [own]})
    policy = replace(POLICY, node_service_account="nodes@p")
    assert template_properties(group, policy)["serviceAccounts"] == [own]


def metadata_of(group: TPUNodeGroup) -> dict[str, str]:
    """The metadata of the template."""
    return {item["key"]: item["value"] for item in template_properties(group)["metadata"]["items"]}


def test_a_group_that_does_not_bootstrap_has_its_labels_and_nothing_else_of_ours() -> None:
    group = make_group(
        bootstrapKubernetes=None,
        instanceConfig={"machineType": "tpu7x-standard-4t", "metadata": {"startup-script": "mine"}},
    )
    metadata = metadata_of(group)
    assert metadata.keys() == {"kube-labels", "startup-script"}
    assert metadata["startup-script"] == "mine"


@pytest.mark.parametrize(
    ("bootstrap", "ip", "endpoint"),
    [
        pytest.param({"controlPlaneIP": "10.0.0.1"}, "10.0.0.1", "10.0.0.1:6443", id="an address"),
        pytest.param(
            {"controlPlaneIP": "10.0.0.1", "controlPlanePort": 443}, "10.0.0.1", "10.0.0.1:443", id="with a port"
        ),
        pytest.param({"controlPlaneIP": "fd00::1"}, "fd00::1", "[fd00::1]:6443", id="of IPv6"),
        pytest.param({"controlPlaneIP": "[fd00::1]"}, "fd00::1", "[fd00::1]:6443", id="of IPv6 in brackets"),
        pytest.param(
            {"controlPlaneIP": "10.0.0.1", "controlPlaneEndpoint": "api.example.com:8443"},
            "10.0.0.1",
            "api.example.com:8443",
            id="a name and port in its place",
        ),
    ],
)
def test_where_the_vms_find_the_control_plane(bootstrap: Json, ip: str, endpoint: str) -> None:
    metadata = metadata_of(make_group(bootstrapKubernetes={"version": "1.31", **bootstrap}))
    assert (metadata["kubeadm-control-plane-ip"], metadata["kubeadm-control-plane-endpoint"]) == (ip, endpoint)


def test_a_group_without_a_taint_says_so() -> None:
    bootstrap = {"version": "1.31", "controlPlaneIP": "10.0.0.1", "taint": False}
    assert metadata_of(make_group(bootstrapKubernetes=bootstrap))["kubeadm-taints"] == ""
