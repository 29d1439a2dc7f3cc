"""Resource policies and instance templates: the two resources that only stand there and are referred to."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from simulator.seams import Json
from simulator.world.audit import Caller, Subject
from simulator.world.errors import Fault, already_exists, in_use, not_found, not_ready
from simulator.world.kernel import Kernel
from simulator.world.names import last_segment, link, partial, rest_time
from simulator.world.operations import Operation, Operations, Task
from simulator.world.refusals import check_name, check_policy, check_template

__all__ = ["Catalog", "Entry", "policies", "templates"]

#: Answers with the path of a group that uses the resource at this path, "" if none.
UsedBy = Callable[[str], str]


@dataclass(slots=True, eq=False)
class Entry:
    """One resource. `joins` marks a brought template whose VMs join by themselves."""

    id: str
    path: str
    resource: Json
    joins: bool = False
    ready: bool = False
    deleting: bool = False


@dataclass(frozen=True, slots=True)
class _Kind:
    collection: str
    api: str
    rest_kind: str
    log_type: str
    in_use_name: str
    check: Callable[[Json], None]
    #: The field that says CREATING, READY or DELETING; "" for templates, which have none.
    status_field: str


class Catalog:
    """All resources of one of the two kinds."""

    def __init__(self, kernel: Kernel, operations: Operations, kind: _Kind) -> None:
        self._kernel = kernel
        self._operations = operations
        self._kind = kind
        self._all: dict[str, Entry] = {}
        #: Set by the world: who uses what.
        self.used_by: UsedBy = lambda _path: ""

    @property
    def entries(self) -> Mapping[str, Entry]:
        """By path."""
        return self._all

    def subject(self, path: str, resource_id: str) -> Subject:
        """What entries about this resource bear (facts: audit logs 1, resource labels)."""
        scope = path.split("/")
        labels: dict[str, str]
        if self._kind.log_type == "gce_resource_policy":
            labels = {"resource_policy_id": resource_id, "region": scope[3]}
        else:
            labels = {"instance_template_id": resource_id, "instance_template_name": scope[-1]}
        location = "global" if scope[2] == "global" else scope[3]
        service = f"compute.{self._kind.collection}"
        return Subject(scope[1], self._kind.log_type, labels, path, location, service)

    def method(self, path: str, verb: str) -> str:
        """`compute.instanceTemplates.insert`; regional templates have an API of their own."""
        if self._kind.log_type == "gce_instance_template" and path.split("/")[2] == "regions":
            return f"compute.regionInstanceTemplates.{verb}"
        return f"{self._kind.api}.{verb}"

    def find(self, url: str) -> Entry | None:
        """By full or partial URL."""
        return self._all.get(partial(url))

    def get(self, path: str) -> Json:
        """The REST resource; raises 404."""
        return self._entry(path).resource

    def of_scope(self, scope: str) -> list[Json]:
        """All of `projects/p/regions/r` or `projects/p/global`, by name."""
        prefix = f"{scope}/{self._kind.collection}/"
        return [self._all[path].resource for path in sorted(self._all) if path.startswith(prefix)]

    def insert(self, scope: str, body: Json, caller: Caller, request_id: str = "") -> Operation:
        """Create; raises 400 and 409."""
        name = check_name(body)
        path = f"{scope}/{self._kind.collection}/{name}"
        self._kind.check(body)
        if path in self._all:
            raise already_exists(path)
        entry = self._put(path, body)
        operation = self._operations.start(self._task("insert", entry, caller, body, request_id))
        self._kernel.spawn(self._create(entry, operation))
        return operation

    def put(self, path: str, body: Json, *, joins: bool) -> Entry:
        """Put a resource into the world without a call; raises 409."""
        if path in self._all:
            raise already_exists(path)
        entry = self._put(path, {**body, "name": last_segment(path)})
        entry.joins = joins
        self._set_ready(entry)
        return entry

    def delete(self, path: str, caller: Caller, request_id: str = "") -> Operation:
        """Delete; raises 404, 400 resourceNotReady, 400 resourceInUseByAnotherResource.

        In use can also be the end of an accepted operation (facts: GCE 3).
        """
        entry = self._entry(path)
        if not entry.ready or entry.deleting:
            raise not_ready(path)
        fault: Fault | None = None
        if user := self.used_by(path):
            error = in_use(self._kind.in_use_name, path, user)
            if self._kernel.first_of_two("in-use", self._kernel.settings.in_use, "refuse"):
                raise error
            fault = Fault("RESOURCE_IN_USE_BY_ANOTHER_RESOURCE", error.message, grpc=9)
        operation = self._operations.start(self._task("delete", entry, caller, {}, request_id))
        entry.deleting, operation.futile = fault is None, fault is not None
        if entry.deleting:
            self._show(entry, "DELETING")
        self._kernel.spawn(self._delete(entry, operation, fault))
        return operation

    def _task(self, verb: str, entry: Entry, caller: Caller, request: Json, request_id: str) -> Task:
        method = self.method(entry.path, verb)
        permission = f"{self._kind.api}.{'create' if verb == 'insert' else verb}"
        return Task(method, self.subject(entry.path, entry.id), entry.id, caller, permission, request, request_id)

    def _put(self, path: str, body: Json) -> Entry:
        parts = path.split("/")
        resource: Json = {
            **body,
            "kind": self._kind.rest_kind,
            "id": self._kernel.ids.numeric(),
            "creationTimestamp": rest_time(self._kernel.now()),
            "selfLink": link(path),
        }
        if parts[2] == "regions":
            resource["region"] = link("/".join(parts[:4]))
        entry = Entry(resource["id"], path, resource)
        self._show(entry, "CREATING")
        self._all[path] = entry
        return entry

    def _show(self, entry: Entry, status: str) -> None:
        if self._kind.status_field:
            entry.resource[self._kind.status_field] = status

    def _set_ready(self, entry: Entry) -> None:
        entry.ready = True
        self._show(entry, "READY")

    async def _create(self, entry: Entry, operation: Operation) -> None:
        await self._kernel.pause(self._kernel.timings.operation_running)
        self._set_ready(entry)
        self._operations.finish(operation)

    async def _delete(self, entry: Entry, operation: Operation, fault: Fault | None) -> None:
        await self._kernel.pause(self._kernel.timings.operation_running)
        if fault is None:
            del self._all[entry.path]
        self._operations.finish(operation, fault)

    def _entry(self, path: str) -> Entry:
        found = self._all.get(path)
        if found is None:
            raise not_found(path)
        return found


def policies(kernel: Kernel, operations: Operations) -> Catalog:
    """The resource policies; a policy shows CREATING until its operation is DONE."""
    kind: Final = _Kind(
        "resourcePolicies",
        "compute.resourcePolicies",
        "compute#resourcePolicy",
        "gce_resource_policy",
        "resource_policy",
        check_policy,
        "status",
    )
    return Catalog(kernel, operations, kind)


def templates(kernel: Kernel, operations: Operations) -> Catalog:
    """The instance templates, global and regional in one: their paths tell them apart."""

    def check(body: Json) -> None:
        check_template(body.get("properties") or {}, kernel.settings)

    kind: Final = _Kind(
        "instanceTemplates",
        "compute.instanceTemplates",
        "compute#instanceTemplate",
        "gce_instance_template",
        "instance_template",
        check,
        "",
    )
    return Catalog(kernel, operations, kind)
