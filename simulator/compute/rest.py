"""The Compute Engine API on the wire, as the real google-cloud-compute client speaks it (facts: GCE 1).

Counts every call, asks for planned faults, replays request ids, writes the entry of every refused mutation. Never puts
a request's body or a bearer token into a text.
"""

import asyncio
import json
import uuid
from collections.abc import Callable, Coroutine
from typing import Final

from aiohttp import web

from simulator.callers import principal_of
from simulator.compute.handlers import Call, catalog_of
from simulator.compute.place import Place, read_place
from simulator.compute.quota import RateQuota
from simulator.compute.routes import Route, find_route
from simulator.permissions import ACT_AS
from simulator.seams import CallFaults, CallLog, Effect, Json, PlannedFault
from simulator.world import ApiError, Caller, World
from simulator.world.audit import Subject
from simulator.world.build import instance_subject
from simulator.world.errors import forbidden, invalid, invalid_field, may_not_act_as
from simulator.world.operations import Operation

__all__ = ["Allowed", "compute_app"]

#: Whether this principal has this permission.
Allowed = Callable[[str, str], bool]
_REASONS: Final = {
    400: ("badRequest", "global"),
    403: ("rateLimitExceeded", "usageLimits"),
    404: ("notFound", "global"),
    409: ("conflict", "global"),
    412: ("conditionNotMet", "global"),
    429: ("rateLimitExceeded", "usageLimits"),
}


def compute_app(
    world: World,
    calls: CallLog,
    faults: CallFaults,
    *,
    quota: RateQuota | None = None,
    allowed: Allowed | None = None,
) -> web.Application:
    """The application; its client_max_size admits the largest metadata (512 KiB). Rate quotas and permissions are
    off unless given."""
    app = web.Application(client_max_size=4 * 1024 * 1024)
    face = _Face(world, calls, faults, quota, allowed)
    app.router.add_route("*", "/{path:.*}", face.serve)
    return app


class _Face:
    def __init__(
        self, world: World, calls: CallLog, faults: CallFaults, quota: RateQuota | None, allowed: Allowed | None
    ) -> None:
        self._world = world
        self._calls = calls
        self._faults = faults
        self._quota = quota
        self._allowed = allowed

    async def serve(self, request: web.Request) -> web.Response:
        """Every request: find its route, let planned faults have their turn, count it."""
        caller = _caller(request)
        place = read_place(request.path)
        route = None if place is None else find_route(request.method, place)
        if place is None or route is None:
            error = ApiError(404, "notFound", f"The Compute API has no {request.method} {request.path}")
            self._count(caller, "unknown", error.code, "none")
            return _answer(error.body(), error.code)
        fault = self._faults.next("compute", route.method)
        if fault is not None and fault.effect == "latency":
            await asyncio.sleep(fault.milliseconds / 1000)
        if fault is not None and fault.effect == "error-before":
            return self._planned(fault, caller, route, "none")
        body, code, effect = await self._perform(request, route, place, caller)
        if fault is not None and fault.effect == "error-after":
            return self._planned(fault, caller, route, effect)
        self._count(caller, route.method, code, effect)
        if fault is not None and fault.effect == "hold-after":
            await fault.release()
        return _answer(body, code)

    async def _perform(
        self, request: web.Request, route: Route, place: Place, caller: Caller
    ) -> tuple[Json, int, Effect]:
        call: Call | None = None
        try:
            if self._quota is not None:
                self._quota.spend(place.project, route.bucket)
            call = Call(self._world, place, request.query, await _body(request), caller, _request_id(request))
            self._check_permissions(route, call)
            return await self._run(route, call)
        except ApiError as error:
            if route.mutates and call is not None:
                subject = _subject(self._world, place, call.body)
                self._world.operations.refuse(f"compute.{route.method}", subject, caller, error)
            return error.body(), error.code, "none"

    async def _run(self, route: Route, call: Call) -> tuple[Json, int, Effect]:
        if route.mutates:
            target = _target(call.place, call.body)
            method = f"compute.{route.method}"
            known = self._world.operations.replayed(call.place.project, method, target, call.request_id)
            if known is not None:
                return known.body(), 200, "replayed"
        answer = route.handler(call)
        if isinstance(answer, Operation):
            return answer.body(), 200, "none" if answer.futile else "changed"
        if isinstance(answer, Coroutine):
            answer = await answer
        return answer, 200, "none"

    def _check_permissions(self, route: Route, call: Call) -> None:
        if self._allowed is None:
            return
        principal = call.caller.principal
        for permission in route.permissions:
            if not self._allowed(principal, permission):
                raise forbidden(permission, _target(call.place, call.body))
        for account in _lent(route, call):
            if not self._allowed(principal, ACT_AS):
                raise may_not_act_as(account, principal)

    def _planned(self, fault: PlannedFault, caller: Caller, route: Route, effect: Effect) -> web.Response:
        code = int(fault.code)
        reason, domain = _REASONS.get(code, ("backendError", "global"))
        error = ApiError(code, reason, f"Planned fault of {route.method}.", domain=domain)
        self._count(caller, route.method, code, effect)
        return _answer(error.body(), code)

    def _count(self, caller: Caller, method: str, code: int, effect: Effect) -> None:
        self._calls.record(caller=caller.principal, api="compute", method=method, code=str(code), effect=effect)


def _answer(body: Json, code: int) -> web.Response:
    return web.Response(body=json.dumps(body).encode(), status=code, content_type="application/json")


def _caller(request: web.Request) -> Caller:
    principal = principal_of(request.headers.get("Authorization", ""))
    return Caller(principal, request.headers.get("User-Agent", ""), request.remote or "")


async def _body(request: web.Request) -> Json:
    raw = await request.read()
    if not raw:
        return {}
    try:
        body = json.loads(raw)
    except ValueError as error:
        raise invalid("The request body is not JSON.") from error
    if not isinstance(body, dict):
        raise invalid("The request body is not a JSON object.")
    return body


def _request_id(request: web.Request) -> str:
    """A UUID that is not zero (facts: GCE 2), or none."""
    text = request.query.get("requestId", "")
    if not text:
        return ""
    try:
        if uuid.UUID(text).int:
            return text
    except ValueError:
        pass
    raise invalid_field("requestId", text, "Must be a UUID that is not zero.")


def _lent(route: Route, call: Call) -> list[str]:
    """Service accounts that a call lends to a VM, or under which a VM runs that it writes to (facts: GCE 6.3)."""
    if route.method.endswith("nstanceTemplates.insert"):
        given = (call.body.get("properties") or {}).get("serviceAccounts") or []
    elif route.method == "instances.setMetadata":
        given = call.world.machines.get(call.place.path).service_accounts
    else:
        given = []
    return [str(account.get("email", "")) for account in given]


def _target(place: Place, body: Json) -> str:
    """The path of the resource that a call is about; an insert names it in its body."""
    return place.path if place.name else f"{place.path}/{body.get('name', '')}"


def _subject(world: World, place: Place, body: Json) -> Subject:
    path = _target(place, body)
    if place.collection == "instances":
        found = next((vm for vm in world.machines.of_zone(place.project, place.location) if vm.path == path), None)
        return instance_subject(place.project, place.location, place.name, "" if found is None else found.id)
    if place.collection == "instanceGroupManagers":
        group = next((group for group in world.groups.everything() if group.path == path), None)
        return world.groups.subject(path, "" if group is None else group.id)
    catalog = catalog_of(world, place.collection)
    entry = catalog.find(path)
    return catalog.subject(path, "" if entry is None else entry.id)
