"""The world as the control face shows it: comparable for equality, and without the value of any token."""

from collections.abc import Iterable

from controller.api.constants import KEY_JOIN_TOKEN
from simulator.seams import Json
from simulator.world.catalog import Catalog
from simulator.world.instance import Instance

__all__ = ["catalog_state", "instance_state"]


def instance_state(instance: Instance) -> Json:
    """An instance with the join token reduced to its public id."""
    items = dict(instance.metadata.view.items)
    if KEY_JOIN_TOKEN in items:
        items[KEY_JOIN_TOKEN] = instance.metadata.token_id
    return instance.body(items)


def catalog_state(catalogs: Iterable[Catalog]) -> dict[str, Json]:
    """Every entry by path."""
    return {path: catalog.entries[path].resource for catalog in catalogs for path in sorted(catalog.entries)}
