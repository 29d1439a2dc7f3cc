"""What the operator may do in a cluster: least privilege, as text. That it suffices, the scenarios prove.

B37 (https://github.com/cloudnative-pg/cloudnative-pg/issues/5445): an operator that needs every Secret is not let in.
"""

from tests.deploy.manifests import Json, documents

NAMESPACE = "tpu-node-group"
NAME = "tpu-node-group-controller"


def roles() -> list[Json]:
    return [document for document in documents("rbac.yaml") if document["kind"] in {"Role", "ClusterRole"}]


def rules() -> list[tuple[str, Json]]:
    """(namespace, rule); "" is the whole cluster."""
    return [(role["metadata"].get("namespace", ""), rule) for role in roles() for rule in role["rules"]]


def test_no_rule_has_a_wildcard() -> None:
    stars = [rule for _, rule in rules() if any("*" in value for values in rule.values() for value in values)]
    assert stars == []


def test_secrets_are_met_in_kube_system_alone_and_never_read() -> None:
    found = [(namespace, rule["verbs"]) for namespace, rule in rules() if "secrets" in rule["resources"]]
    assert found == [("kube-system", ["list", "create", "delete"])]


def test_config_maps_and_the_lease_are_named_one_by_one() -> None:
    found = {
        (namespace, tuple(rule.get("resourceNames", ()))): rule["verbs"]
        for namespace, rule in rules()
        if {"configmaps", "leases"} & set(rule["resources"])
    }
    assert found == {
        ("kube-system", ("kube-root-ca.crt",)): ["get"],
        ("kube-public", ("cluster-info",)): ["list", "watch"],
        (NAMESPACE, ()): ["create"],
        (NAMESPACE, (NAME,)): ["get", "update"],
    }


def test_nothing_gives_the_operator_more_rights_or_a_shell() -> None:
    risky = {"roles", "rolebindings", "clusterroles", "clusterrolebindings", "pods/exec", "serviceaccounts/token"}
    verbs = {"escalate", "bind", "impersonate", "deletecollection"}
    assert [rule for _, rule in rules() if risky & set(rule["resources"]) or verbs & set(rule["verbs"])] == []


def test_every_role_is_bound_to_the_operators_service_account_and_to_nobody_else() -> None:
    bindings = [document for document in documents("rbac.yaml") if document["kind"].endswith("Binding")]
    subject = {"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}
    bound = {
        (item["roleRef"]["kind"], item["metadata"].get("namespace", ""), item["roleRef"]["name"]) for item in bindings
    }
    assert bound == {
        (role["kind"], role["metadata"].get("namespace", ""), role["metadata"]["name"]) for role in roles()
    }
    assert [item["subjects"] for item in bindings] == [[subject]] * len(bindings)
