"""The event path on the control face: seen, broken, mended."""

from aiohttp import web

from simulator.control import bodies
from simulator.event_path import EventPath, EventPathError

__all__ = ["event_path_routes"]


def event_path_routes(path: EventPath) -> tuple[web.RouteDef, ...]:
    """`GET` and `POST /control/event-path`."""

    async def show(_request: web.Request) -> web.Response:
        return web.json_response(path.shown())

    async def change(request: web.Request) -> web.Response:
        try:
            return web.json_response(path.change(await request.json()))
        except EventPathError as error:
            raise bodies.BodyError(str(error)) from None

    return (web.get("/control/event-path", show), web.post("/control/event-path", change))
