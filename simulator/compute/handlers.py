"""What each method does with the world. Reads answer with JSON, mutations with the operation they made."""

from collections import defaultdict
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

from simulator.compute.filters import matching
from simulator.compute.paging import page
from simulator.compute.place import Place
from simulator.seams import Json
from simulator.world import Caller, World
from simulator.world.catalog import Catalog
from simulator.world.errors import invalid_field
from simulator.world.names import link
from simulator.world.operations import Operation

__all__ = [
    "Answer",
    "Call",
    "aggregate",
    "apply_updates",
    "catalog_of",
    "delete_catalog",
    "delete_group",
    "delete_group_instances",
    "delete_instance",
    "get_catalog",
    "get_group",
    "get_instance",
    "get_operation",
    "insert_catalog",
    "insert_group",
    "list_catalog",
    "list_errors",
    "list_groups",
    "list_instances",
    "list_managed",
    "list_operations",
    "patch_group",
    "recreate_instances",
    "reset_instance",
    "resize_group",
    "set_labels",
    "set_metadata",
    "start_instance",
    "stop_instance",
    "wait_operation",
]

Answer = Json | Operation | Coroutine[Any, Any, Json]


@dataclass(frozen=True, slots=True)
class Call:
    """One call, read from the wire. The body may hold a join token: it is never in a repr."""

    world: World
    place: Place
    query: Mapping[str, str]
    body: Json = field(repr=False)
    caller: Caller
    request_id: str


def _listed(call: Call, kind: str, items: list[Json]) -> Json:
    shown, token = page(matching(items, call.query.get("filter", "")), call.query)
    out: Json = {"kind": kind, "id": call.place.path, "items": list(shown), "selfLink": link(call.place.path)}
    if token:
        out["nextPageToken"] = token
    return out


def catalog_of(world: World, collection: str) -> Catalog:
    """The policies or the templates."""
    return world.policies if collection == "resourcePolicies" else world.templates


def list_catalog(call: Call) -> Json:
    """resourcePolicies.list, instanceTemplates.list."""
    catalog = catalog_of(call.world, call.place.collection)
    kind = "compute#resourcePolicyList" if catalog is call.world.policies else "compute#instanceTemplateList"
    return _listed(call, kind, catalog.of_scope(call.place.scope_path))


def get_catalog(call: Call) -> Json:
    """resourcePolicies.get, instanceTemplates.get."""
    return catalog_of(call.world, call.place.collection).get(call.place.path)


def insert_catalog(call: Call) -> Operation:
    """resourcePolicies.insert, instanceTemplates.insert."""
    catalog = catalog_of(call.world, call.place.collection)
    return catalog.insert(call.place.scope_path, call.body, call.caller, call.request_id)


def delete_catalog(call: Call) -> Operation:
    """resourcePolicies.delete, instanceTemplates.delete."""
    return catalog_of(call.world, call.place.collection).delete(call.place.path, call.caller, call.request_id)


def list_groups(call: Call) -> Json:
    """instanceGroupManagers.list."""
    groups = call.world.groups
    found = [groups.body(group) for group in groups.of_zone(call.place.project, call.place.location)]
    return _listed(call, "compute#instanceGroupManagerList", found)


def get_group(call: Call) -> Json:
    """instanceGroupManagers.get."""
    return call.world.groups.body(call.world.groups.get(call.place.path))


def insert_group(call: Call) -> Operation:
    """instanceGroupManagers.insert."""
    place = call.place
    return call.world.groups.insert(place.project, place.location, call.body, call.caller, call.request_id)


def delete_group(call: Call) -> Operation:
    """instanceGroupManagers.delete."""
    return call.world.groups.delete(call.place.path, call.caller, call.request_id)


def list_managed(call: Call) -> Json:
    """listManagedInstances: PAGELESS groups ignore maxResults and pageToken (facts: GCE 1)."""
    group = call.world.groups.get(call.place.path)
    rows = matching(call.world.groups.managed(group), call.query.get("filter", ""))
    if not group.paginated:
        return {"managedInstances": rows}
    shown, token = page(rows, call.query)
    return {"managedInstances": list(shown), **({"nextPageToken": token} if token else {})}


def list_errors(call: Call) -> Json:
    """instanceGroupManagers.listErrors."""
    return {"items": call.world.groups.errors(call.world.groups.get(call.place.path))}


def resize_group(call: Call) -> Operation:
    """instanceGroupManagers.resize: the size is a query parameter."""
    size = call.query.get("size", "")
    if not size.isdigit():
        raise invalid_field("size", size, "Must be a number.")
    return call.world.groups.resize(call.place.path, int(size), call.caller, call.request_id)


def recreate_instances(call: Call) -> Operation:
    """instanceGroupManagers.recreateInstances."""
    urls = [str(url) for url in call.body.get("instances") or []]
    return call.world.groups.recreate(call.place.path, urls, call.caller, call.request_id)


def delete_group_instances(call: Call) -> Operation:
    """instanceGroupManagers.deleteInstances."""
    urls = [str(url) for url in call.body.get("instances") or []]
    return call.world.groups.delete_instances(call.place.path, urls, call.caller, call.request_id)


def patch_group(call: Call) -> Operation:
    """instanceGroupManagers.patch."""
    return call.world.updates.patch(call.place.path, call.body, call.caller, call.request_id)


def apply_updates(call: Call) -> Operation:
    """instanceGroupManagers.applyUpdatesToInstances: it has no requestId (facts: GCE 6.4)."""
    return call.world.updates.apply(call.place.path, call.body, call.caller)


def get_instance(call: Call) -> Json:
    """instances.get."""
    return call.world.machines.get(call.place.path).body()


def list_instances(call: Call) -> Json:
    """instances.list: full resources, metadata with them (facts: GCE 4)."""
    found = [vm.body() for vm in call.world.machines.of_zone(call.place.project, call.place.location)]
    return _listed(call, "compute#instanceList", found)


def delete_instance(call: Call) -> Operation:
    """instances.delete."""
    return call.world.machines.delete(call.place.path, call.caller, call.request_id)


def reset_instance(call: Call) -> Operation:
    """instances.reset."""
    return call.world.machines.reset(call.place.path, call.caller, call.request_id)


def start_instance(call: Call) -> Operation:
    """instances.start."""
    return call.world.machines.start(call.place.path, call.caller, call.request_id)


def stop_instance(call: Call) -> Operation:
    """instances.stop."""
    return call.world.machines.stop(call.place.path, call.caller, call.request_id)


def set_labels(call: Call) -> Operation:
    """instances.setLabels."""
    return call.world.machines.set_labels(call.place.path, call.body, call.caller, call.request_id)


def set_metadata(call: Call) -> Operation:
    """instances.setMetadata."""
    return call.world.machines.set_metadata(call.place.path, call.body, call.caller, call.request_id)


def aggregate(call: Call) -> Json:
    """An aggregatedList of instances or groups: one page, by zone."""
    world, collection = call.world, call.place.collection
    found: dict[str, Json] = defaultdict(lambda: {collection: []})
    if collection == "instances":
        bodies = [(vm.zone, vm.body()) for vm in world.machines.everything() if vm.project == call.place.project]
    else:
        groups = [group for group in world.groups.everything() if group.project == call.place.project]
        bodies = [(group.zone, world.groups.body(group)) for group in groups]
    admitted = {id(body) for body in matching([body for _, body in bodies], call.query.get("filter", ""))}
    for zone, body in bodies:
        if id(body) in admitted:
            found[f"zones/{zone}"][collection].append(body)
    kind = (
        "compute#instanceAggregatedList" if collection == "instances" else "compute#instanceGroupManagerAggregatedList"
    )
    return {"kind": kind, "id": call.place.path, "items": dict(found), "selfLink": link(call.place.path)}


def list_operations(call: Call) -> Json:
    """zoneOperations.list and its like."""
    found = sorted((op.body() for op in call.world.operations.of_scope(call.place.scope_path)), key=_name)
    return _listed(call, "compute#operationList", found)


def get_operation(call: Call) -> Json:
    """zoneOperations.get and its like."""
    return call.world.operations.get(call.place.scope_path, call.place.name).body()


async def wait_operation(call: Call) -> Json:
    """zoneOperations.wait and its like: returns at DONE or near the deadline (facts: GCE 1)."""
    operation = call.world.operations.get(call.place.scope_path, call.place.name)
    await call.world.operations.wait(operation)
    return operation.body()


def _name(item: Json) -> str:
    return str(item["name"])
