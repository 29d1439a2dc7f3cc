"""Operations: the record of every accepted mutation, its audit entries, and the replay of request ids."""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime

from simulator.callers import ANONYMOUS
from simulator.clock import log_time
from simulator.seams import Json
from simulator.world.audit import Caller, Subject, first_entry, last_entry, refused_entry, system_entry
from simulator.world.errors import ApiError, Fault, not_found
from simulator.world.kernel import Kernel
from simulator.world.metadata import Delta
from simulator.world.names import link, rest_time

__all__ = ["Operation", "Operations", "Task"]


@dataclass(frozen=True, slots=True)
class Task:
    """A mutation that was accepted: what the operation and its entries say of it."""

    #: Without version, as `compute.instances.insert`.
    method: str
    subject: Subject
    target_id: str
    caller: Caller
    permission: str
    request: Json = field(default_factory=dict, repr=False)
    request_id: str = ""
    delta: Delta | None = None

    @property
    def type(self) -> str:
        """`insert` of `compute.instances.insert`."""
        return self.method.rpartition(".")[2]


@dataclass(slots=True, eq=False)
class Operation:
    """One operation. `scope` is its collection's path: `projects/p/zones/z`, `.../regions/r`, `.../global`."""

    name: str
    id: str
    scope: str
    task: Task
    inserted: datetime
    #: The entries' label root_trigger_id: a UUID (samples 03, 06, 07).
    trigger: str
    status: str = "PENDING"
    started: datetime | None = None
    ended: datetime | None = None
    fault: Fault | None = None
    #: Known at acceptance to change nothing: it will fail, or there is nothing to change.
    futile: bool = False
    done: asyncio.Event = field(default_factory=asyncio.Event, repr=False)

    def body(self) -> Json:
        """The REST resource (facts: GCE 2, Operation)."""
        task = self.task
        out: Json = {
            "kind": "compute#operation",
            "id": self.id,
            "name": self.name,
            "operationType": task.type,
            "targetLink": link(task.subject.path),
            "targetId": task.target_id,
            "status": self.status,
            "progress": 100 if self.status == "DONE" else 0,
            "insertTime": rest_time(self.inserted),
            "selfLink": link(f"{self.scope}/operations/{self.name}"),
        }
        if task.caller.principal != ANONYMOUS:
            out["user"] = task.caller.principal
        if task.request_id:
            out["clientOperationId"] = task.request_id
        kind, _, place = self.scope.split("/", 2)[2].partition("/")
        if place:
            out["zone" if kind == "zones" else "region"] = link(self.scope)
        if self.started is not None:
            out["startTime"] = rest_time(self.started)
        if self.ended is not None:
            out["endTime"] = rest_time(self.ended)
        if self.fault is not None:
            out["error"] = {"errors": [self.fault.item()]}
            out["httpErrorStatusCode"] = self.fault.http_status
            out["httpErrorMessage"] = self.fault.http_message
        return out


class Operations:
    """All operations of the world, and the writer of all its audit entries."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._all: OrderedDict[tuple[str, str], Operation] = OrderedDict()
        self._by_request: dict[tuple[str, str, str, str], Operation] = {}

    def start(self, task: Task) -> Operation:
        """Accept a mutation: an operation, PENDING and soon RUNNING, and the `first` entry."""
        kernel = self._kernel
        at = kernel.now()
        subject = task.subject
        operation = Operation(
            kernel.ids.operation("operation", at),
            kernel.ids.numeric(),
            _scope(subject),
            task,
            inserted=at,
            trigger=kernel.ids.uuid(),
        )
        self._all[operation.scope, operation.name] = operation
        if task.request_id:
            self._by_request[subject.project, task.method, subject.path, task.request_id] = operation
        body = {key: value for key, value in operation.body().items() if key != "kind"}
        body["progress"] = "0"
        request = {**task.request, "requestId": task.request_id} if task.request_id else task.request
        entry = first_entry(task.method, subject, task.caller, body, request, task.permission, task.delta)
        self._write(entry, operation.trigger)
        kernel.spawn(self._run(operation))
        return operation

    def finish(self, operation: Operation, fault: Fault | None = None) -> None:
        """End an operation, well or with a fault, and write the `last` entry. Ending it twice changes nothing."""
        if operation.status == "DONE":
            return
        at = self._kernel.now()
        operation.started = operation.started or at
        operation.status, operation.ended, operation.fault = "DONE", at, fault
        operation.done.set()
        task = operation.task
        entry = last_entry(task.method, task.subject, task.caller, operation.name, fault, task.delta)
        self._write(entry, operation.trigger)
        self._forget()

    def replayed(self, project: str, method: str, path: str, request_id: str) -> Operation | None:
        """The operation that an earlier call with this request id, method and target made (facts: GCE 2, 6.4)."""
        return self._by_request.get((project, method, path, request_id)) if request_id else None

    def get(self, scope: str, name: str) -> Operation:
        """Raises ApiError 404."""
        found = self._all.get((scope, name))
        if found is None:
            raise not_found(f"{scope}/operations/{name}")
        return found

    def of_scope(self, scope: str) -> list[Operation]:
        """All that are remembered of one zone, region or global collection, oldest first."""
        return [operation for (where, _), operation in self._all.items() if where == scope]

    def everything(self) -> list[Operation]:
        """All that are remembered, oldest first."""
        return list(self._all.values())

    async def wait(self, operation: Operation) -> None:
        """Return at DONE, or near the API's own deadline with the operation as it is (facts: GCE 1, wait)."""
        try:
            await asyncio.wait_for(operation.done.wait(), self._kernel.settings.wait_seconds)
        except TimeoutError:
            return

    def refuse(self, method: str, subject: Subject, caller: Caller, error: ApiError) -> None:
        """Write the entry of a refused mutation."""
        self._write(refused_entry(method, subject, caller, error))

    def system_event(
        self, method: str, subject: Subject, message: str, metadata: Json | None = None, prefix: str = "systemevent"
    ) -> None:
        """Write an event of Compute Engine's own."""
        name = self._kernel.ids.operation(prefix, self._kernel.now())
        self._write(system_entry(method, subject, name, message, metadata))

    async def _run(self, operation: Operation) -> None:
        await self._kernel.pause(self._kernel.timings.operation_pending)
        if operation.status == "PENDING":
            operation.status, operation.started = "RUNNING", self._kernel.now()

    def _write(self, entry: Json, trigger: str = "") -> None:
        if self._kernel.closed:
            return
        if trigger:
            entry["labels"] = {"compute.googleapis.com/root_trigger_id": trigger}
        entry["insertId"] = self._kernel.ids.insert_id()
        entry["timestamp"] = log_time(self._kernel.now())
        self._kernel.log.write(entry)

    def _forget(self) -> None:
        while len(self._all) > self._kernel.settings.operations_kept:
            key, oldest = next(iter(self._all.items()))
            if oldest.status != "DONE":
                return
            del self._all[key]
            task = oldest.task
            self._by_request.pop((task.subject.project, task.method, task.subject.path, task.request_id), None)


def _scope(subject: Subject) -> str:
    """The path up to the collection: `projects/p/zones/z`, `projects/p/regions/r` or `projects/p/global`."""
    return subject.path.rsplit("/", 2)[0]
