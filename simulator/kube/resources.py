"""What the API knows of each resource type, and the live table of them all (CRDs come and go).

A resource is named by its id: `secrets`, `leases.coordination.k8s.io`, `tpunodegroups.tpu.google.com`. Several versions
may serve one id; they share its objects.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from simulator.kube import errors
from simulator.kube.schema import StructuralSchema
from simulator.seams import Json

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True)
class Column:
    """A printer column: `source` is a JSONPath of kubectl's small dialect, or a function of the object and the time."""

    name: str
    type: str
    source: str | Callable[[Json, datetime], Any]
    format: str = ""
    description: str = ""
    #: 0 is always shown, 1 with `-o wide`.
    priority: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Resource:
    """One served version of one resource type. Equal only to itself, so that what is derived of it can be cached."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    singular: str = ""
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    #: `status`: writes to the object leave the status alone, and the other way round.
    subresources: tuple[str, ...] = ()
    #: Whether a created object keeps the status it came with (Nodes: the kubelet registers with its status).
    keeps_status: bool = False
    #: Whether metadata.generation counts the changes of everything but metadata and status.
    counts_generation: bool = False
    #: Custom resources have no strategic merge and need a resourceVersion to be replaced.
    custom: bool = False
    columns: tuple[Column, ...] = ()
    #: Fills what the server itself fills at creation; never mutates its argument.
    on_create: Callable[[Json], Json] | None = None
    #: Brings every written object of a built-in kind into its stored form; never mutates its argument.
    on_write: Callable[[Json], Json] | None = None
    #: Refuses what breaks the rules of a built-in kind: (new, old or None) -> causes.
    check: Callable[[Json, Json | None], Iterable[errors.Cause]] | None = None
    #: The id of the resource whose objects this one shows in another form (events.k8s.io shows core Events).
    stored_as: str = ""
    #: From the stored form to the served one, and back; None where they are the same but for the apiVersion.
    to_wire: Callable[[Json], Json] | None = None
    from_wire: Callable[[Json], Json] | None = None
    #: Pruning, defaulting and validation of custom resources; None where anything goes.
    schema: StructuralSchema | None = None
    #: The OpenAPI v3 schema, as the CRD has it.
    openapi: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The name that the store knows it by."""
        return self.stored_as or errors.qualified(self.group, self.plural)

    @property
    def api_version(self) -> str:
        """`v1`, or `tpu.google.com/v1alpha1`."""
        return f"{self.group}/{self.version}" if self.group else self.version


class Registry:
    """The resource types that are served now."""

    def __init__(self) -> None:
        self._served: dict[tuple[str, str, str], Resource] = {}
        self._by_id: dict[str, Resource] = {}
        self._by_kind: dict[tuple[str, str], Resource] = {}
        #: Grows with every change: what is derived from the table (discovery, OpenAPI) is cached by it.
        self.generation = 0

    def add(self, resource: Resource, *, storage: bool = True) -> None:
        """Serve a resource. `storage`: this version is the one that the store's objects bear."""
        self._served[resource.group, resource.version, resource.plural] = resource
        if storage or resource.id not in self._by_id:
            self._by_id[resource.id] = resource
            self._by_kind[resource.group, resource.kind] = resource
        self.generation += 1

    def remove(self, resource_id: str) -> None:
        """Stop serving every version of a resource."""
        self._served = {key: item for key, item in self._served.items() if item.id != resource_id}
        self._by_kind = {key: item for key, item in self._by_kind.items() if item.id != resource_id}
        self._by_id.pop(resource_id, None)
        self.generation += 1

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        """The resource at `/apis/<group>/<version>/.../<plural>`, if served."""
        return self._served.get((group, version, plural))

    def by_id(self, resource_id: str) -> Resource:
        """The storage version of a resource; ApiError 404 if there is none (its CRD is not installed)."""
        found = self._by_id.get(resource_id)
        if found is None:
            raise errors.no_such_path()
        return found

    def by_kind(self, api_version: str, kind: str) -> Resource | None:
        """The resource that an ownerReference's apiVersion and kind name; any version of its group will do."""
        group = api_version.rpartition("/")[0]
        return self._by_kind.get((group, kind))

    def storage(self) -> list[Resource]:
        """The storage version of every resource."""
        return list(self._by_id.values())

    def __iter__(self) -> Iterator[Resource]:
        """All served versions, in the order of their coming."""
        return iter(self._served.values())
