"""Which calls there are: HTTP verb and place to method, permissions and handler (facts: GCE 1 and 6.3)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from simulator.compute import handlers as on
from simulator.compute.place import Place

__all__ = ["Route", "find_route"]


@dataclass(frozen=True, slots=True)
class Route:
    """One method. `permissions` are those of facts/GCE 6.3; a mutation's handler answers with an Operation."""

    method: str
    handler: Callable[[on.Call], on.Answer]
    permissions: tuple[str, ...]
    mutates: bool = False
    #: Rate bucket: reads, writes or operation_reads.
    bucket: str = "reads"


def _read(method: str, handler: Callable[[on.Call], on.Answer], permission: str) -> Route:
    bucket = "operation_reads" if "Operations." in method else "reads"
    # listManagedInstances and listErrors share the quota of the mutations (facts: GCE 4).
    if method.endswith((".listManagedInstances", ".listErrors")):
        bucket = "writes"
    return Route(method, handler, (f"compute.{permission}",), bucket=bucket)


def _write(method: str, handler: Callable[[on.Call], on.Answer], *permissions: str) -> Route:
    return Route(method, handler, tuple(f"compute.{name}" for name in permissions), mutates=True, bucket="writes")


_GROUP_INSERT: Final = (
    "instanceGroupManagers.create",
    "instances.create",
    "instances.setMetadata",
    "disks.create",
    "images.useReadOnly",
    "subnetworks.use",
)
#: (HTTP verb, scope, collection, what: "" the collection, "*" an item, else the verb behind it)
_Key = tuple[str, str, str, str]


def _catalog(scope: str, collection: str, api: str, permission: str) -> dict[_Key, Route]:
    return {
        ("GET", scope, collection, ""): _read(f"{api}.list", on.list_catalog, f"{permission}.list"),
        ("POST", scope, collection, ""): _write(f"{api}.insert", on.insert_catalog, f"{permission}.create"),
        ("GET", scope, collection, "*"): _read(f"{api}.get", on.get_catalog, f"{permission}.get"),
        ("DELETE", scope, collection, "*"): _write(f"{api}.delete", on.delete_catalog, f"{permission}.delete"),
    }


def _operations(scope: str, api: str) -> dict[_Key, Route]:
    return {
        ("GET", scope, "operations", ""): _read(f"{api}.list", on.list_operations, f"{api}.list"),
        ("GET", scope, "operations", "*"): _read(f"{api}.get", on.get_operation, f"{api}.get"),
        ("POST", scope, "operations", "wait"): _read(f"{api}.wait", on.wait_operation, f"{api}.get"),
    }


def _groups() -> dict[_Key, Route]:
    api, update = "instanceGroupManagers", "instanceGroupManagers.update"
    zonal: dict[tuple[str, str], Route] = {
        ("GET", ""): _read(f"{api}.list", on.list_groups, f"{api}.list"),
        ("POST", ""): _write(f"{api}.insert", on.insert_group, *_GROUP_INSERT),
        ("GET", "*"): _read(f"{api}.get", on.get_group, f"{api}.get"),
        ("DELETE", "*"): _write(f"{api}.delete", on.delete_group, f"{api}.delete", "instanceGroups.delete"),
        ("POST", "listManagedInstances"): _read(f"{api}.listManagedInstances", on.list_managed, f"{api}.get"),
        ("GET", "listErrors"): _read(f"{api}.listErrors", on.list_errors, f"{api}.get"),
        ("POST", "resize"): _write(f"{api}.resize", on.resize_group, update),
        ("PATCH", "*"): _write(f"{api}.patch", on.patch_group, update),
        ("POST", "applyUpdatesToInstances"): _write(f"{api}.applyUpdatesToInstances", on.apply_updates, update),
        ("POST", "recreateInstances"): _write(f"{api}.recreateInstances", on.recreate_instances, update),
        ("POST", "deleteInstances"): _write(f"{api}.deleteInstances", on.delete_group_instances, update),
    }
    routes = {(http, "zones", api, what): route for (http, what), route in zonal.items()}
    aggregated = _read(f"{api}.aggregatedList", on.aggregate, f"{api}.list")
    return {**routes, ("GET", "aggregated", api, ""): aggregated}


def _instances() -> dict[_Key, Route]:
    api = "instances"
    return {
        ("GET", "zones", api, "*"): _read("instances.get", on.get_instance, "instances.get"),
        ("GET", "zones", api, ""): _read("instances.list", on.list_instances, "instances.list"),
        ("GET", "aggregated", api, ""): _read("instances.aggregatedList", on.aggregate, "instances.list"),
        ("DELETE", "zones", api, "*"): _write("instances.delete", on.delete_instance, "instances.delete"),
        ("POST", "zones", api, "reset"): _write("instances.reset", on.reset_instance, "instances.reset"),
        ("POST", "zones", api, "start"): _write("instances.start", on.start_instance, "instances.start"),
        ("POST", "zones", api, "stop"): _write("instances.stop", on.stop_instance, "instances.stop"),
        ("POST", "zones", api, "setLabels"): _write("instances.setLabels", on.set_labels, "instances.setLabels"),
        ("POST", "zones", api, "setMetadata"): _write(
            "instances.setMetadata", on.set_metadata, "instances.setMetadata"
        ),
    }


_ROUTES: Final[dict[_Key, Route]] = {
    **_instances(),
    **_groups(),
    **_catalog("regions", "resourcePolicies", "resourcePolicies", "resourcePolicies"),
    **_catalog("global", "instanceTemplates", "instanceTemplates", "instanceTemplates"),
    **_catalog("regions", "instanceTemplates", "regionInstanceTemplates", "instanceTemplates"),
    **_operations("zones", "zoneOperations"),
    **_operations("regions", "regionOperations"),
    **_operations("global", "globalOperations"),
}


def find_route(http: str, place: Place) -> Route | None:
    """None when the API has no such method here."""
    what = place.verb or ("*" if place.name else "")
    return _ROUTES.get((http, place.scope, place.collection, what))
