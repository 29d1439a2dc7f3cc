"""The plain base: manifests that an API server takes, one Deployment whose image and settings are parameters."""

import subprocess
from typing import Final

import pytest
import yaml

from simulator.kube import builtin_schemas
from simulator.kube.builtins import builtin_registry
from tests.deploy.manifests import DEPLOY, Json, all_documents, documents
from tests.needs import need

REGISTRY: Final = {(item.api_version, item.kind): item for item in builtin_registry()}


@pytest.mark.parametrize(
    "document",
    [each for each in all_documents() if each["kind"] != "Kustomization"],
    ids=lambda each: f"{each['kind']}-{each['metadata'].get('namespace', '')}",
)
def test_a_manifest_has_only_fields_that_its_kind_has(document: Json) -> None:
    resource = REGISTRY[document["apiVersion"], document["kind"]]
    assert list(builtin_schemas.unknown_builtin_fields(resource, document)) == []
    assert builtin_schemas.misshapen(resource, document) is None


def container() -> Json:
    (deployment,) = documents("deployment.yaml")
    (only,) = deployment["spec"]["template"]["spec"]["containers"]
    return dict(only)


def test_the_pod_is_no_root_and_runs_as_the_service_account_of_the_roles() -> None:
    (deployment,) = documents("deployment.yaml")
    pod = deployment["spec"]["template"]["spec"]
    accounts = [item["metadata"]["name"] for item in documents("rbac.yaml") if item["kind"] == "ServiceAccount"]
    assert [pod["serviceAccountName"]] == accounts
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container()["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_the_probes_ask_what_the_operator_serves() -> None:
    probes = {name: container()[name]["httpGet"] for name in ("livenessProbe", "readinessProbe")}
    assert probes == {
        "livenessProbe": {"path": "/healthz", "port": "http"},
        "readinessProbe": {"path": "/readyz", "port": "http"},
    }
    assert container()["ports"] == [{"name": "http", "containerPort": 8080}]


@pytest.mark.kubectl
def test_an_overlay_sets_the_image_and_the_settings(tmp_path_factory: pytest.TempPathFactory) -> None:
    # Beside the base: kustomize takes relative paths only.
    overlay = tmp_path_factory.mktemp("overlay")
    base = overlay / "base"
    base.symlink_to(DEPLOY)
    (overlay / "settings.env").write_text("TPU_NODE_GROUP_SUBSCRIPTION=projects/my-project/subscriptions/events\n")
    kustomization = {
        "resources": ["base"],
        "images": [{"name": "tpu-node-group-controller", "newName": "registry.example/tpu", "newTag": "1.2.3"}],
        "configMapGenerator": [
            {
                "name": "tpu-node-group-settings",
                "namespace": "tpu-node-group",
                "behavior": "replace",
                "envs": ["settings.env"],
            }
        ],
    }
    (overlay / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    built = subprocess.run(  # noqa: S603 - kubectl on a folder of ours
        [need("kubectl"), "kustomize", "--load-restrictor=LoadRestrictionsNone", str(overlay)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    objects = {(each["kind"], each["metadata"]["name"]): each for each in yaml.safe_load_all(built.stdout)}
    pod = objects["Deployment", "tpu-node-group-controller"]["spec"]["template"]["spec"]["containers"][0]
    settings = pod["envFrom"][0]["configMapRef"]["name"]
    assert pod["image"] == "registry.example/tpu:1.2.3"
    assert objects["ConfigMap", settings]["data"] == {
        "TPU_NODE_GROUP_SUBSCRIPTION": "projects/my-project/subscriptions/events"
    }
    assert sum(kind == "CustomResourceDefinition" for kind, _ in objects) == 4
