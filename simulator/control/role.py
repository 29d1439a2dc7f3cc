"""The operator's permissions on the control face: seen, taken away, given back."""

from aiohttp import web

from simulator.control import bodies
from simulator.permissions import Role, UnknownPermissionError

__all__ = ["role_routes"]


def role_routes(role: Role) -> tuple[web.RouteDef, ...]:
    """`GET` and `POST /control/role`."""

    async def show(_request: web.Request) -> web.Response:
        return web.json_response(role.shown())

    async def change(request: web.Request) -> web.Response:
        permission, granted = bodies.permission(await request.json())
        try:
            role.set(permission, granted=granted)
        except UnknownPermissionError as error:
            raise bodies.BodyError(str(error)) from None
        return web.json_response(role.shown())

    return (web.get("/control/role", show), web.post("/control/role", change))
