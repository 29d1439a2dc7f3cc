"""The built-in resource types that the operator, its manifests and kubectl lean on, and what the server fills in them.

They are basic: objects are kept and shown, no pod runs. Names, short names, scopes and defaults are those of
k8s.io/api.
"""

from collections.abc import Iterator
from typing import Any

from simulator.kube import columns, events, secrets
from simulator.kube.edit import dig, put
from simulator.kube.errors import Cause
from simulator.kube.resources import Registry, Resource
from simulator.kube.store import Store
from simulator.seams import Json

DEFAULT_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
CRDS = "customresourcedefinitions.apiextensions.k8s.io"


def _namespace(body: Json) -> Json:
    body = put(body, ("metadata", "labels", "kubernetes.io/metadata.name"), body["metadata"]["name"])
    return {**body, "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}


def _pod(body: Json) -> Json:
    return {**body, "status": {"phase": "Pending", "qosClass": "BestEffort"}}


def _deployment(body: Json) -> Json:
    return body if dig(body, ("spec", "replicas")) is not None else put(body, ("spec", "replicas"), 1)


def _subjects(body: Json) -> Json:
    subjects = [
        {"apiGroup": "" if item["kind"] == "ServiceAccount" else "rbac.authorization.k8s.io", **item}
        for item in body.get("subjects") or ()
    ]
    subjects = [{key: value for key, value in item.items() if value != ""} for item in subjects]
    return {**body, "subjects": subjects} if subjects else body


def _check_binding(new: Json, old: Json | None) -> Iterator[Cause]:
    for key in ("kind", "name"):
        if not dig(new, ("roleRef", key)):
            yield Cause(f"roleRef.{key}", "FieldValueRequired", "Required value")
    if old is not None and new.get("roleRef") != old.get("roleRef"):
        yield Cause("roleRef", "FieldValueInvalid", "Invalid value: cannot change roleRef")


def _core(plural: str, kind: str, *, namespaced: bool = True, **more: Any) -> Resource:
    return Resource(group="", version="v1", plural=plural, kind=kind, namespaced=namespaced, **_named(kind), **more)


def _in(group: str, plural: str, kind: str, *, namespaced: bool = True, **more: Any) -> Resource:
    return Resource(group=group, version="v1", plural=plural, kind=kind, namespaced=namespaced, **_named(kind), **more)


def _named(kind: str) -> Json:
    return {"singular": kind.lower(), "list_kind": f"{kind}List"}


RBAC = "rbac.authorization.k8s.io"
BUILTINS = (
    _core(
        "namespaces",
        "Namespace",
        namespaced=False,
        short_names=("ns",),
        subresources=("finalize", "status"),
        on_create=_namespace,
        columns=columns.NAMESPACES,
    ),
    _core(
        "nodes",
        "Node",
        namespaced=False,
        short_names=("no",),
        subresources=("status",),
        keeps_status=True,
        columns=columns.NODES,
    ),
    _core(
        "secrets",
        "Secret",
        on_create=secrets.completed,
        on_write=secrets.encoded,
        check=secrets.check,
        columns=columns.SECRETS,
    ),
    _core("configmaps", "ConfigMap", short_names=("cm",), columns=columns.CONFIG_MAPS),
    _core("events", "Event", short_names=("ev",), check=events.check, columns=columns.EVENTS),
    _in(
        "events.k8s.io",
        "events",
        "Event",
        short_names=("ev",),
        stored_as="events",
        to_wire=events.to_new,
        from_wire=events.to_core,
        columns=columns.EVENTS,
    ),
    _core("serviceaccounts", "ServiceAccount", short_names=("sa",), columns=columns.SERVICE_ACCOUNTS),
    _core(
        "pods",
        "Pod",
        short_names=("po",),
        categories=("all",),
        subresources=("status",),
        on_create=_pod,
        columns=columns.PODS,
    ),
    _in("coordination.k8s.io", "leases", "Lease", columns=columns.LEASES),
    _in(
        "apps",
        "deployments",
        "Deployment",
        short_names=("deploy",),
        categories=("all",),
        subresources=("status",),
        counts_generation=True,
        on_create=_deployment,
        columns=columns.DEPLOYMENTS,
    ),
    _in(
        "apps",
        "daemonsets",
        "DaemonSet",
        short_names=("ds",),
        categories=("all",),
        subresources=("status",),
        counts_generation=True,
        columns=columns.DAEMON_SETS,
    ),
    _in(RBAC, "roles", "Role", columns=columns.CREATED),
    _in(RBAC, "rolebindings", "RoleBinding", on_create=_subjects, check=_check_binding, columns=columns.BINDINGS),
    _in(RBAC, "clusterroles", "ClusterRole", namespaced=False, columns=columns.CREATED),
    _in(
        RBAC,
        "clusterrolebindings",
        "ClusterRoleBinding",
        namespaced=False,
        on_create=_subjects,
        check=_check_binding,
        columns=columns.BINDINGS,
    ),
    _in(
        "apiextensions.k8s.io",
        "customresourcedefinitions",
        "CustomResourceDefinition",
        namespaced=False,
        short_names=("crd", "crds"),
        categories=("api-extensions",),
        subresources=("status",),
        counts_generation=True,
        columns=columns.CREATED,
    ),
    _in(
        "authorization.k8s.io",
        "selfsubjectaccessreviews",
        "SelfSubjectAccessReview",
        namespaced=False,
        verbs=("create",),
    ),
)


def builtin_registry() -> Registry:
    """A registry that serves the built-in types."""
    registry = Registry()
    for resource in BUILTINS:
        registry.add(resource, storage=not resource.stored_as)
    return registry


def create_default_namespaces(store: Store) -> None:
    """Make the namespaces that every cluster begins with."""
    for name in DEFAULT_NAMESPACES:
        if store.find("namespaces", None, name) is None:
            store.create("namespaces", {"metadata": {"name": name}})
