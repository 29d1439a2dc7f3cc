"""RBAC of the simulated API server, over the very roles that users apply."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.api.shipped import shipped
from simulator.clock import utc_now
from simulator.kube.authorization import Action, Rbac
from simulator.kube.builtins import BUILTINS, builtin_registry, create_default_namespaces
from simulator.kube.store import Store
from tests.simulator.kube.client import connected
from tests.simulator.kube.cluster import Cluster, running

OPERATOR = "system:serviceaccount:tpu-node-group:tpu-node-group-controller"
TPU = "tpu.google.com"


def install(store: Store) -> None:
    """What users apply."""
    store.create("namespaces", {"metadata": {"name": "tpu-node-group"}})
    for manifest in yaml.safe_load_all(shipped("deploy/rbac.yaml")):
        store.create(next(item.id for item in BUILTINS if item.kind == manifest["kind"]), manifest)


@pytest.fixture
def store() -> Store:
    made = Store(builtin_registry(), utc_now)
    create_default_namespaces(made)
    install(made)
    return made


MAY = [
    Action("list", TPU, "tpunodegroups"),
    Action("patch", TPU, "tpunodegroups/status", "research", "slice"),
    Action("create", TPU, "workloadpolicies", "research"),
    Action("delete", "", "nodes", "", "n"),
    Action("create", "", "events", "anywhere"),
    Action("list", "", "secrets", "kube-system"),
    Action("list", "", "configmaps", "kube-public", "cluster-info"),
    Action("get", "", "configmaps", "kube-system", "kube-root-ca.crt"),
    Action("update", "coordination.k8s.io", "leases", "tpu-node-group", "tpu-node-group-controller"),
]
MAY_NOT = [
    Action("delete", TPU, "tpunodegroups", "research", "slice"),
    Action("create", TPU, "tpunodegroups", "research"),
    Action("list", "", "secrets"),
    Action("list", "", "secrets", "default"),
    Action("get", "", "secrets", "kube-system", "bootstrap-token-abcdef"),
    Action("list", "", "configmaps", "kube-public"),
    Action("get", "", "configmaps", "kube-system", "kubeadm-config"),
    Action("patch", "", "nodes/status", "", "n"),
    Action("update", "coordination.k8s.io", "leases", "kube-system", "tpu-node-group-controller"),
    Action("create", "", "pods", "tpu-node-group"),
]


@pytest.mark.parametrize("action", MAY, ids=str)
def test_the_operator_may_do_what_a_role_grants(store: Store, action: Action) -> None:
    assert Rbac(store)(OPERATOR, action)


@pytest.mark.parametrize("action", MAY_NOT, ids=str)
def test_the_operator_may_do_nothing_else(store: Store, action: Action) -> None:
    assert not Rbac(store)(OPERATOR, action)


def test_others_may_do_nothing_and_a_superuser_everything(store: Store) -> None:
    allows = Rbac(store, superusers={"admin"})
    users = ("system:serviceaccount:default:tpu-node-group-controller", "somebody", "admin")
    assert [allows(user, MAY[0]) for user in users] == [False, False, True]


def test_a_binding_that_goes_takes_its_rights_with_it_at_once(store: Store) -> None:
    allows = Rbac(store)
    assert allows(OPERATOR, MAY[0])
    store.delete("clusterrolebindings.rbac.authorization.k8s.io", None, "tpu-node-group-controller")
    assert not allows(OPERATOR, MAY[0])


def test_groups_stars_and_cluster_roles_in_a_namespace_are_understood(store: Store) -> None:
    rules = [{"apiGroups": ["*"], "resources": ["*/status"], "verbs": ["*"]}]
    store.create("clusterroles.rbac.authorization.k8s.io", {"metadata": {"name": "stars"}, "rules": rules})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "stars"}
    subject = {"kind": "Group", "name": "system:serviceaccounts:default"}
    binding = {"metadata": {"name": "stars", "namespace": "default"}, "roleRef": role, "subjects": [subject]}
    store.create("rolebindings.rbac.authorization.k8s.io", binding)
    allows, user = Rbac(store), "system:serviceaccount:default:x"
    assert allows(user, Action("patch", "apps", "deployments/status", "default", "d"))
    assert not allows(user, Action("patch", "apps", "deployments", "default", "d"))
    assert not allows(user, Action("patch", "apps", "deployments/status", "kube-system", "d"))


@pytest.fixture(scope="module")
def guarded() -> Iterator[Cluster]:
    """A cluster in which only the admin may do everything, with the operator's roles."""
    with running(superusers={"admin"}) as cluster:
        cluster.users["operator-token"] = OPERATOR
        cluster.call(lambda: install(cluster.store))
        yield cluster


SECRETS = "/api/v1/namespaces/{}/secrets"
REFUSED = [
    (
        SECRETS.format("default"),
        (
            f'secrets is forbidden: User "{OPERATOR}" cannot list resource "secrets" in API group "" '
            'in the namespace "default"'
        ),
    ),
    (
        SECRETS.format("kube-system") + "/x",
        (
            f'secrets "x" is forbidden: User "{OPERATOR}" cannot get resource "secrets" in API group "" '
            'in the namespace "kube-system"'
        ),
    ),
    (
        "/apis/apps/v1/deployments",
        (
            f'deployments.apps is forbidden: User "{OPERATOR}" cannot list resource "deployments" in API group "apps" '
            "at the cluster scope"
        ),
    ),
]


@pytest.mark.parametrize(("path", "message"), REFUSED)
async def test_a_refusal_has_the_words_of_a_real_one(guarded: Cluster, tmp_path: Path, path: str, message: str) -> None:
    async with connected(guarded.write_kubeconfig(tmp_path, "operator-token")) as api:
        answer = await api.get(path)
    assert (answer.code, answer.body["reason"], answer.body["message"]) == (403, "Forbidden", message)


async def test_whoever_asks_is_told_what_they_may_do(guarded: Cluster, tmp_path: Path) -> None:
    async def ask(token: str, **attributes: Any) -> bool:
        async with connected(guarded.write_kubeconfig(tmp_path, token)) as api:
            body = {"spec": {"resourceAttributes": attributes}}
            answer = await api.create("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body)
        assert answer.code == 201
        return bool(answer.body["status"]["allowed"])

    secrets = {"verb": "get", "resource": "secrets", "namespace": "kube-system"}
    status = {"verb": "patch", "group": TPU, "resource": "tpunodegroups", "subresource": "status"}
    assert [await ask(token, **secrets) for token in ("operator-token", "token-of-admin")] == [False, True]
    assert await ask("operator-token", **status)
