"""The child custom resources of a group."""

import pytest

from controller.api.resources import InstanceTemplate, ManagedInstanceGroup, TPUNodeGroup, WorkloadPolicy
from controller.core.children import child_key, child_manifest, child_ref, endpoint_of, wanted_kinds
from controller.core.model import Key, Kind
from controller.core.names import owner_hash
from controller.core.observed import ResourceRef
from controller.core.plan import Policy
from tests.core.builders import GROUP, UID, make_group, make_single_hosts
from tests.core.manifests import created

H = owner_hash(UID)
BROUGHT = "projects/my-gcp-project/global/instanceTemplates/golden"


@pytest.mark.parametrize(
    ("group", "kinds"),
    [
        pytest.param(make_group(), (Kind.POLICY, Kind.TEMPLATE, Kind.MIG), id="a slice"),
        pytest.param(make_single_hosts(), (Kind.TEMPLATE, Kind.MIG), id="hosts of their own"),
        pytest.param(
            make_group(instanceConfig=None, instanceTemplateURI=BROUGHT),
            (Kind.POLICY, Kind.MIG),
            id="a slice of a brought template",
        ),
    ],
)
def test_the_children_of(group: TPUNodeGroup, kinds: tuple[Kind, ...]) -> None:
    assert wanted_kinds(group) == kinds


def test_a_child_is_its_groups_own_and_goes_with_it() -> None:
    manifest = child_manifest(GROUP, Kind.POLICY, Policy())
    assert manifest == {
        "apiVersion": "tpu.google.com/v1alpha1",
        "kind": "WorkloadPolicy",
        "metadata": {
            "name": f"slice-policy-{H}",
            "namespace": "default",
            "ownerReferences": [
                {
                    "apiVersion": "tpu.google.com/v1alpha1",
                    "kind": "TPUNodeGroup",
                    "name": "slice",
                    "uid": UID,
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            "project": "my-gcp-project",
            "region": "us-central1",
            "type": "HIGH_THROUGHPUT",
            "acceleratorTopology": "2x2x2",
        },
    }


@pytest.mark.parametrize(
    ("kind", "model"),
    [(Kind.POLICY, WorkloadPolicy), (Kind.TEMPLATE, InstanceTemplate), (Kind.MIG, ManagedInstanceGroup)],
)
def test_a_childs_manifest_is_one_that_its_model_reads(kind: Kind, model: type) -> None:
    child = created(child_manifest(GROUP, kind, Policy()))
    assert isinstance(child, model)
    assert child.metadata.controller_owner is not None
    assert child.metadata.controller_owner.uid == UID


def test_keys_and_resources_of_the_children_bear_the_same_names() -> None:
    assert [child_key(GROUP, kind) for kind in (Kind.POLICY, Kind.TEMPLATE, Kind.MIG)] == [
        Key(Kind.POLICY, "default", f"slice-policy-{H}"),
        Key(Kind.TEMPLATE, "default", f"slice-template-{H}"),
        Key(Kind.MIG, "default", f"slice-mig-{H}"),
    ]
    assert [child_ref(GROUP, kind) for kind in (Kind.POLICY, Kind.TEMPLATE, Kind.MIG)] == [
        ResourceRef(Kind.POLICY, "my-gcp-project", "us-central1", f"slice-policy-{H}"),
        ResourceRef(Kind.TEMPLATE, "my-gcp-project", "global", f"slice-template-{H}"),
        ResourceRef(Kind.MIG, "my-gcp-project", "us-central1-c", f"slice-mig-{H}"),
    ]


def test_vms_that_join_by_themselves_are_told_of_no_control_plane() -> None:
    assert endpoint_of(make_group(bootstrapKubernetes=None)) is None


@pytest.mark.parametrize(
    ("ref", "path"),
    [
        (ResourceRef(Kind.POLICY, "p", "us-east5", "n"), "projects/p/regions/us-east5/resourcePolicies/n"),
        (ResourceRef(Kind.TEMPLATE, "p", "global", "n"), "projects/p/global/instanceTemplates/n"),
        (ResourceRef(Kind.TEMPLATE, "p", "us-east5", "n"), "projects/p/regions/us-east5/instanceTemplates/n"),
        (ResourceRef(Kind.MIG, "p", "us-east5-b", "n"), "projects/p/zones/us-east5-b/instanceGroupManagers/n"),
    ],
)
def test_a_resource_is_found_under_its_path(ref: ResourceRef, path: str) -> None:
    assert ref.path == path
