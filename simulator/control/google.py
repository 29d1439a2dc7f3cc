"""Cloud Resource Manager and Service Usage over REST, as far as they are read; on the port of the control face.

Errors have the shape of Google's REST APIs: `{"error": {"code", "message", "status"}}`.
"""

from typing import Final

from aiohttp import web

from simulator.callers import principal_of
from simulator.faults import http_status
from simulator.permissions import Role
from simulator.project import Project
from simulator.rpc import RpcError, after, before
from simulator.seams import CallFaults, CallLog, Json
from simulator.world.names import project_number

__all__ = ["google_routes"]

#: services:batchGet takes so many names at most.
_MOST: Final = 30


def google_routes(project: Project, role: Role, calls: CallLog, faults: CallFaults) -> tuple[web.RouteDef, ...]:
    """`projects.get`, `projects.testIamPermissions` and `services.batchGet`."""
    face = _GoogleFace(project, role, calls, faults)
    return (
        web.get("/v1/projects/{project:[^/:]+}", face.get_project),
        web.post("/v1/projects/{project:[^/:]+}:testIamPermissions", face.test_permissions),
        web.get("/v1/projects/{project:[^/:]+}/services:batchGet", face.get_services),
    )


class _GoogleFace:
    def __init__(self, project: Project, role: Role, calls: CallLog, faults: CallFaults) -> None:
        self._project = project
        self._role = role
        self._calls = calls
        self._faults = faults

    async def get_project(self, request: web.Request) -> web.Response:
        name = request.match_info["project"]
        answer = {"projectId": name, "projectNumber": project_number(name), "lifecycleState": "ACTIVE"}
        return await self._answer(request, "cloudresourcemanager", "projects.get", answer)

    async def test_permissions(self, request: web.Request) -> web.Response:
        asked = (await request.json()).get("permissions") or []
        principal = principal_of(request.headers.get("Authorization", ""))
        held = [permission for permission in asked if self._role.allows(principal, permission)]
        answer: Json = {"permissions": held} if held else {}
        return await self._answer(request, "cloudresourcemanager", "projects.testIamPermissions", answer)

    async def get_services(self, request: web.Request) -> web.Response:
        names = request.query.getall("names", [])
        if not 1 <= len(names) <= _MOST:
            return _error(400, f"names must be 1 to {_MOST}")
        services = [
            {"name": name, "state": "ENABLED" if name.rpartition("/")[2] in self._project.services else "DISABLED"}
            for name in names
        ]
        return await self._answer(request, "serviceusage", "services.batchGet", {"services": services})

    async def _answer(self, request: web.Request, api: str, method: str, answer: Json) -> web.Response:
        fault = self._faults.next(api, method)
        status = 200
        try:
            await before(fault)
            await after(fault)
        except RpcError as error:
            status, answer = http_status(error.code), {}
        caller = principal_of(request.headers.get("Authorization", ""))
        self._calls.record(caller=caller, api=api, method=method, code=str(status), effect="none")
        return web.json_response(answer) if status == 200 else _error(status, "a planned fault")


def _error(code: int, message: str) -> web.Response:
    return web.json_response({"error": {"code": code, "message": message}}, status=code)
