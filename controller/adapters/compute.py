"""Compute Engine over google-cloud-compute: the port `Cloud`.

The client is synchronous, so each call runs in a thread pool of its own. Every call passes `retry=None` and a timeout
(the library's default retry ignores the timeout and can block for ten minutes, facts: GCE 1, gotcha B): retries belong
to the mailbox. Mutations use the `*_unary` methods and return the accepted operation; nothing here waits for one.
The value of a token is unwrapped in `set_metadata` only, and goes nowhere but into the request.
"""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from typing import Any, Final

from google.protobuf import json_format
from pydantic import SecretStr

from controller.adapters.causes import cause_of
from controller.adapters.compute_clients import ComputeClients, Service, place_of
from controller.adapters.compute_errors import failure_of
from controller.adapters.compute_views import (
    instance_view,
    managed_instance,
    mig_view,
    operation_view,
    policy_view,
    template_view,
)
from controller.api.base import Json
from controller.core.failures import Bug, Failure, Gone, Rejected
from controller.core.model import Kind
from controller.core.observed import Instance, ManagedInstance, OperationView, ResourceRef, ResourceView
from controller.runtime.ports import Clock, Jitter

#: (method as in `instances.setMetadata`, "200" or the failure's code, seconds)
Observe = Callable[[str, str, float], None]

_PAGE: Final = 500
#: How long the end waits for calls under way, in seconds.
_LAST_MOMENT: Final = 2.0
_VIEWS: Final = {Kind.POLICY: policy_view, Kind.TEMPLATE: template_view, Kind.MIG: mig_view}


def _ignore(_method: str, _code: str, _seconds: float) -> None:
    """No metrics."""


class ComputeCloud:
    """The port `Cloud`. `open()` before the first call, `close()` after the last.

    `endpoint`: see `ComputeClients`. `threads`: calls under way at once. `timeout`: seconds for one call.
    """

    def __init__(
        self,
        clock: Clock,
        jitter: Jitter,
        *,
        endpoint: str = "",
        threads: int = 8,
        timeout: float = 20.0,
        observe: Observe = _ignore,
    ) -> None:
        self._clock = clock
        self._jitter = jitter
        self._endpoint = endpoint
        self._timeout = timeout
        self._observe = observe
        self._pool = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="compute")
        self._under_way: set[Future[Any]] = set()
        self._opened: ComputeClients | None = None

    async def open(self) -> None:
        """Import the library and make its clients, in a thread. Raises Rejected where there are no credentials."""
        loop = asyncio.get_running_loop()
        try:
            self._opened = await loop.run_in_executor(self._pool, ComputeClients, self._endpoint)
        except Exception as error:  # noqa: BLE001 - it leaves as a Failure
            raise failure_of(error, "Opening the Compute Engine client", timedelta(0)) from cause_of(error)

    async def close(self) -> None:
        """Drop calls that wait for a thread, give those under way a moment, then close all sessions.

        A call that gets no answer keeps its thread until its timeout: who ends the process must not wait for that.
        """
        self._pool.shutdown(wait=False, cancel_futures=True)
        under_way = [asyncio.wrap_future(each) for each in tuple(self._under_way)]
        if under_way:
            await asyncio.wait(under_way, timeout=_LAST_MOMENT)
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    async def get(self, ref: ResourceRef) -> ResourceView | None:
        """The resource, None when it answers 404."""
        service = self._clients.of(ref)
        try:
            found = await self._call(service, "get", ref.path, **place_of(ref), **{service.noun: ref.name})
        except Gone:
            return None
        return _VIEWS[ref.kind](ref, found)

    async def insert(self, ref: ResourceRef, body: Json, request_id: str) -> OperationView:
        """Create it from the REST body. A 404 (a project, network or policy that is not there) is Rejected."""
        service = self._clients.of(ref)
        resource = {f"{service.noun}_resource": self._message(service, ref, body)}
        try:
            accepted = await self._call(service, "insert", ref.path, **place_of(ref), **resource, request_id=request_id)
        except Gone as gone:
            message = f"{gone.message} What it refers to is not there: correct the spec, or create it."
            raise Rejected(message, gone.code) from gone
        return operation_view(accepted)

    async def delete(self, ref: ResourceRef, request_id: str) -> OperationView:
        """Delete it; raises Gone when it is not there."""
        service = self._clients.of(ref)
        named = {service.noun: ref.name, "request_id": request_id}
        return operation_view(await self._call(service, "delete", ref.path, **place_of(ref), **named))

    async def get_operation(self, ref: ResourceRef, name: str) -> OperationView | None:
        """An operation on this resource, None when forgotten (404)."""
        service = self._clients.operations_of(ref)
        try:
            return operation_view(
                await self._call(service, "get", f"{name} on {ref.path}", **place_of(ref), operation=name)
            )
        except Gone:
            return None

    async def list_managed_instances(self, mig: ResourceRef) -> tuple[ManagedInstance, ...]:
        """All rows. A PAGELESS group ignores the page size and answers with all of them at once."""
        place = {**place_of(mig), "instance_group_manager": mig.name}
        rows = await self._pages(self._clients.migs, "list_managed_instances", mig.path, "managed_instances", place)
        return tuple(managed_instance(row) for row in rows)

    async def get_instance(self, project: str, zone: str, name: str) -> Instance | None:
        """One VM, None when it answers 404."""
        path = f"projects/{project}/zones/{zone}/instances/{name}"
        try:
            found = await self._call(self._clients.instances, "get", path, project=project, zone=zone, instance=name)
        except Gone:
            return None
        return instance_view(project, zone, found)

    async def list_instances(self, project: str, zone: str, *name_prefixes: str) -> tuple[Instance, ...]:
        """All VMs of a zone whose name begins as one of these does, by a filter of the server."""
        names = name_prefixes[0] if len(name_prefixes) == 1 else f"({'|'.join(name_prefixes)})"
        place = {"project": project, "zone": zone, "filter": f'name eq "{names}.*"'}
        path = f"projects/{project}/zones/{zone}/instances/{'*,'.join(name_prefixes)}*"
        rows = await self._pages(self._clients.instances, "list", path, "items", place)
        return tuple(instance_view(project, zone, row) for row in rows)

    async def set_metadata(
        self, instance: Instance, changes: Mapping[str, SecretStr | str | None]
    ) -> OperationView | None:
        """Merge changes into the metadata that this view holds, under its fingerprint; None if nothing would change."""
        items = dict(instance.metadata)
        for key, value in changes.items():
            if value is None:
                items.pop(key, None)
            else:
                items[key] = value.get_secret_value() if isinstance(value, SecretStr) else value
        if items == dict(instance.metadata):
            return None
        types = self._clients.types
        body = types.Metadata(
            fingerprint=instance.metadata.fingerprint,
            items=[types.Items(key=key, value=value) for key, value in items.items()],
        )
        path = f"projects/{instance.project}/zones/{instance.zone}/instances/{instance.name}"
        place = {"project": instance.project, "zone": instance.zone, "instance": instance.name}
        accepted = await self._call(self._clients.instances, "set_metadata", path, **place, metadata_resource=body)
        return operation_view(accepted)

    @property
    def _clients(self) -> ComputeClients:
        if self._opened is None:
            raise Bug("Compute Engine was called before its client was opened (or after it was closed).")
        return self._opened

    def _message(self, service: Service, ref: ResourceRef, body: Json) -> Any:
        """The REST body as a message. A field that the API does not have is our bug, never silently dropped."""
        kind = getattr(self._clients.types, service.message)
        message = kind()
        try:
            json_format.ParseDict(body, kind.pb(message))
        except json_format.ParseError as error:
            raise Bug(f"The body for {ref.path} is no {service.message}: {str(error).splitlines()[0]}") from error
        return message

    async def _pages(self, service: Service, method: str, path: str, field: str, place: Mapping[str, str]) -> list[Any]:
        rows: list[Any] = []
        token = ""
        while True:
            page = await self._call(service, method, path, **place, max_results=_PAGE, page_token=token)
            rows.extend(getattr(page, field))
            token = page.next_page_token
            if not token:
                return rows

    async def _call(self, service: Service, method: str, path: str, **fields: Any) -> Any:
        """One HTTP call in the pool; the answer as raw protobuf. Raises a Failure and nothing else."""
        name = f"{service.name}.{_rest_name(method)}"
        loop = asyncio.get_running_loop()
        begun = loop.time()
        code = "cancelled"
        try:
            sent = self._pool.submit(self._send, service, method, fields)
            self._under_way.add(sent)
            sent.add_done_callback(self._under_way.discard)
            answer = await asyncio.wrap_future(sent)
        except Exception as error:  # noqa: BLE001 - it leaves as a Failure
            failure = self._failure(error, f"{name} of {path}")
            code = failure.code or type(failure).__name__
            raise failure from cause_of(error)
        else:
            code = "200"
            return answer
        finally:
            self._observe(name, code, loop.time() - begun)

    def _send(self, service: Service, method: str, fields: Mapping[str, Any]) -> Any:
        """In a thread of the pool: the one place where the library is called."""
        mutation = method in {"insert", "delete", "set_metadata"}
        call = getattr(service.client, f"{method}_unary" if mutation else method)
        answer = call(request=fields, retry=None, timeout=self._timeout)
        if method in {"list", "list_managed_instances"}:
            answer = next(iter(answer.pages))
        return type(answer).pb(answer)

    def _failure(self, error: Exception, what: str) -> Failure:
        second = self._clock.now().second
        window = timedelta(seconds=60 - second) + self._jitter.around(timedelta(seconds=3), 1.0)
        return failure_of(error, what, window)


def _rest_name(method: str) -> str:
    """`set_metadata` -> `setMetadata`."""
    first, *others = method.split("_")
    return first + "".join(part.capitalize() for part in others)
