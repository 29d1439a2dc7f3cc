"""What an installation made in Google Cloud, on the control face: seen, and taken apart piece by piece."""

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from aiohttp import web

from simulator.control.bodies import BodyError
from simulator.event_path import EventPathError
from simulator.project import Project
from simulator.pubsub.broker import Broker, PubSubError
from simulator.pubsub.subscription import DeadLetterPolicy
from simulator.seams import Json

__all__ = ["installation_routes"]

_SINK = ("destination", "writer", "filter", "disabled")


def installation_routes(project: Project, broker: Broker | None) -> tuple[web.RouteDef, ...]:
    """`GET` and `POST /control/project`. Without a broker of ours, subscriptions are the emulator's."""

    async def show(_request: web.Request) -> web.Response:
        return web.json_response(_shown(project))

    async def change(request: web.Request) -> web.Response:
        body = await request.json()
        changes: dict[str, Callable[[Any], None]] = {
            "sink": lambda value: _change_sink(project, value),
            "services": lambda value: _change_services(project, value),
            "policies": lambda value: _change_policies(project, value),
            "subscription": lambda value: _change_subscription(broker, value),
        }
        if not isinstance(body, dict) or not body or not changes.keys() >= body.keys():
            raise BodyError(f"the body must be a JSON object with some of {', '.join(changes)}")
        for key, value in body.items():
            changes[key](value)
        return web.json_response(_shown(project))

    return (web.get("/control/project", show), web.post("/control/project", change))


def _shown(project: Project) -> Json:
    policies = {
        resource: {role: sorted(members) for role, members in roles.items()}
        for resource, roles in project.policies.items()
    }
    pieces = project.path.pieces
    own = {"filter": pieces.filter, "disabled": pieces.disabled}
    sink = None if project.sink is None else asdict(project.sink) | own
    return {"project": project.id, "sink": sink, "services": sorted(project.services), "policies": policies}


def _change_sink(project: Project, value: Any) -> None:
    if value is not None and (not isinstance(value, dict) or not {*_SINK} >= value.keys()):
        raise BodyError(f'"sink" is null, or an object with some of {", ".join(_SINK)}')
    try:
        project.change_sink(value)
    except EventPathError as error:
        raise BodyError(str(error)) from None


def _change_services(project: Project, value: Any) -> None:
    if not isinstance(value, dict) or not all(isinstance(on, bool) for on in value.values()):
        raise BodyError('"services" is an object: the name of a service, and true or false')
    for name, on in value.items():
        (project.services.add if on else project.services.discard)(name)


def _change_policies(project: Project, value: Any) -> None:
    if not isinstance(value, dict) or not all(isinstance(roles, dict) for roles in value.values()):
        raise BodyError('"policies" is an object: a resource, and its members by role')
    for resource, roles in value.items():
        project.set_policy(resource, roles)


def _change_subscription(broker: Broker | None, value: Any) -> None:
    fields = {"name", "topic", "expires", "deadLetter"}
    if broker is None or not isinstance(value, dict) or "name" not in value or not fields >= value.keys():
        raise BodyError(f'"subscription" is an object with name and some of {", ".join(sorted(fields))}')
    try:
        config = broker.subscription(value["name"]).config
        changes = {key: value[key] for key in ("topic", "expires") if key in value}
        if "deadLetter" in value:
            topic = value["deadLetter"]
            changes["dead_letter"] = None if topic is None else DeadLetterPolicy(str(topic))
        broker.update_subscription(replace(config, **changes))
    except PubSubError as error:
        raise BodyError(error.message) from None
