"""The control face over HTTP, as docs/simulator.md documents it: it alone bends the world, and is not counted."""

from collections.abc import Awaitable, Callable, Sequence
from json import JSONDecodeError
from typing import Any

from aiohttp import web

from simulator.calls import CallCounts
from simulator.control import bodies
from simulator.faults import FaultError, Faults
from simulator.logging.records import LogRecords
from simulator.seams import KubernetesView
from simulator.world import ApiError, UnknownInstanceError, World

__all__ = ["ControlFace"]

#: Log records that `GET /control/world` shows unless `?last=` says otherwise.
_SHOWN_LOGS = 5_000


class ControlFace:
    """Routes of the control face. `failures` are errors of the simulator itself: there should be none."""

    def __init__(
        self,
        world: World,
        kubernetes: KubernetesView,
        records: LogRecords,
        calls: CallCounts,
        faults: Faults,
        failures: Callable[[], Sequence[BaseException]],
    ) -> None:
        self._world = world
        self._failures = failures
        self._kubernetes = kubernetes
        self._records = records
        self._calls = calls
        self._faults = faults
        self._verbs: dict[str, Callable[[str], None]] = {
            "preempt": world.preempt,
            "host-error": world.host_error,
            "terminate-on-maintenance": world.terminate_on_maintenance,
            "guest-terminate": world.guest_terminate,
            "repair": world.repair,
            "delete": world.delete,
            "reset": world.reset,
        }

    def application(self, *more: web.RouteDef) -> web.Application:
        """The application, with further routes on the same port."""
        application = web.Application(middlewares=[_errors])
        application.add_routes(
            [
                web.get("/control/world", self._show_world),
                web.get("/control/calls", self._show_calls),
                web.post("/control/instances/{name}/{verb}", self._happen),
                web.post("/control/templates", self._add_template),
                web.post("/control/capacity", self._set_capacity),
                web.get("/control/faults", self._list_faults),
                web.post("/control/faults", self._plan_fault),
                web.delete("/control/faults", self._delete_faults),
                web.delete("/control/faults/{id}", self._delete_fault),
                *more,
            ]
        )
        return application

    async def _show_world(self, request: web.Request) -> web.Response:
        full = _choice(request, "logs", ("keys", "full")) == "full"
        last = request.query.get("last", str(_SHOWN_LOGS))
        if not last.isdigit():
            raise bodies.BodyError(f'"last" is {last!r}; it must be a whole number of log records')
        history = {
            **self._world.compute_history(),
            **await self._kubernetes.history(),
            "logs": self._records.shown(full=full, last=int(last)),
            "failures": [repr(failure) for failure in self._failures()],
        }
        return web.json_response(
            {
                "compute": self._world.compute_state(),
                "kubernetes": await self._kubernetes.objects(),
                "history": history,
            }
        )

    async def _show_calls(self, _request: web.Request) -> web.Response:
        return web.json_response({"calls": self._calls.rows()})

    async def _happen(self, request: web.Request) -> web.Response:
        name, verb = request.match_info["name"], request.match_info["verb"]
        happen = self._verbs.get(verb)
        if happen is None:
            raise bodies.BodyError(f"an instance cannot {verb!r} here; it can {', '.join(self._verbs)}")
        happen(name)
        return web.json_response({"instance": name, "done": verb})

    async def _add_template(self, request: web.Request) -> web.Response:
        name, properties, joins, project = bodies.template(await request.json())
        path = self._world.add_template(name, properties, joins=joins, project=project)
        return web.json_response({"template": path}, status=201)

    async def _set_capacity(self, request: web.Request) -> web.Response:
        zone, machine_type, available = bodies.capacity(await request.json())
        self._world.set_capacity(zone, machine_type, available)
        return web.json_response({"zone": zone, "machineType": machine_type, "available": available})

    async def _list_faults(self, _request: web.Request) -> web.Response:
        return web.json_response({"faults": self._faults.listed()})

    async def _plan_fault(self, request: web.Request) -> web.Response:
        return web.json_response(self._faults.plan(await request.json()), status=201)

    async def _delete_faults(self, _request: web.Request) -> web.Response:
        return web.json_response({"deleted": self._faults.clear()})

    async def _delete_fault(self, request: web.Request) -> web.Response:
        fault_id = request.match_info["id"]
        if not self._faults.delete(fault_id):
            known = ", ".join(fault["id"] for fault in self._faults.listed()) or "none"
            return _error(404, f"there is no fault {fault_id!r}; planned now: {known}")
        return web.json_response({"deleted": 1})


def _choice(request: web.Request, key: str, allowed: tuple[str, ...]) -> str:
    value = request.query.get(key, allowed[0])
    if value not in allowed:
        raise bodies.BodyError(f'"{key}" is {value!r}; it must be one of {", ".join(allowed)}')
    return value


@web.middleware
async def _errors(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Every error as JSON that says what to do."""
    try:
        return await handler(request)
    except JSONDecodeError as error:
        return _error(400, f"the body is not JSON: {error}")
    except (FaultError, bodies.BodyError) as error:
        return _error(400, str(error))
    except UnknownInstanceError as error:
        return _error(404, str(error))
    except ApiError as error:
        return _error(error.code, error.message)
    except web.HTTPException as error:
        routes = sorted({f"{r.method} {_path(r)}" for r in request.app.router.routes() if r.method != "HEAD"})
        return _error(error.status, f"no {request.method} {request.path} here; there is {', '.join(routes)}")


def _path(route: web.AbstractRoute) -> str:
    info: Any = route.resource.get_info() if route.resource else {}
    return str(info.get("formatter") or info.get("path"))


def _error(code: int, message: str) -> web.Response:
    return web.json_response({"error": {"code": code, "message": message}}, status=code)
