"""What is served, as clients find out: `/api`, `/apis` and versions, in the old form and in the aggregated one."""

from collections.abc import Iterator

from simulator.kube.resources import Registry, Resource
from simulator.seams import Json

AGGREGATED = "as=APIGroupDiscoveryList"
#: Sub-paths are not patched by listing or watching.
_SUBRESOURCE_VERBS = ["get", "patch", "update"]


def api_versions() -> Json:
    """`/api`."""
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}


def groups(registry: Registry) -> Json:
    """`/apis`."""
    return {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [_group(*item) for item in _grouped(registry) if item[0]],
    }


def group(registry: Registry, name: str) -> Json | None:
    """`/apis/<group>`; None if it is not served."""
    found = dict(_grouped(registry)).get(name)
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, found)} if found and name else None


def resources(registry: Registry, group_name: str, version: str) -> Json | None:
    """`/api/v1` or `/apis/<group>/<version>`; None if it is not served."""
    found = [item for item in registry if (item.group, item.version) == (group_name, version)]
    if not found:
        return None
    listed = [entry for item in found for entry in _entries(item)]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": found[0].api_version, "resources": listed}


def aggregated(registry: Registry, *, core: bool) -> Json:
    """`/api` or `/apis` in one document (apidiscovery.k8s.io/v2)."""
    items = [_aggregated_group(*item) for item in _grouped(registry) if (item[0] == "") is core]
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}


def _grouped(registry: Registry) -> Iterator[tuple[str, list[Resource]]]:
    names = dict.fromkeys(item.group for item in registry)
    for name in names:
        yield name, [item for item in registry if item.group == name]


def _versions(members: list[Resource]) -> list[str]:
    return list(dict.fromkeys(item.version for item in members))


def _group(name: str, members: list[Resource]) -> Json:
    versions = [{"groupVersion": f"{name}/{version}", "version": version} for version in _versions(members)]
    return {"name": name, "versions": versions, "preferredVersion": versions[0]}


def _entries(resource: Resource) -> Iterator[Json]:
    entry: Json = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    yield entry
    for name in resource.subresources:
        below = {"name": f"{resource.plural}/{name}", "singularName": "", "kind": resource.kind}
        yield {**below, "namespaced": resource.namespaced, "verbs": _SUBRESOURCE_VERBS}


def _aggregated_group(name: str, members: list[Resource]) -> Json:
    versions = [
        {
            "version": version,
            "freshness": "Current",
            "resources": [_aggregated_resource(item) for item in members if item.version == version],
        }
        for version in _versions(members)
    ]
    return {"metadata": {"name": name, "creationTimestamp": None} if name else {}, "versions": versions}


def _aggregated_resource(resource: Resource) -> Json:
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    entry: Json = {
        "resource": resource.plural,
        "responseKind": kind,
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    if resource.subresources:
        entry["subresources"] = [
            {"subresource": name, "responseKind": kind, "verbs": _SUBRESOURCE_VERBS} for name in resource.subresources
        ]
    return entry
