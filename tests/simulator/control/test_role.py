"""The operator's permissions: what it has, and how a test takes one away."""

from typing import Any

import aiohttp
from aiohttp import web

from simulator.control.face import _errors
from simulator.control.role import role_routes
from simulator.permissions import ACT_AS, Role, role_permissions
from simulator.seams import Json

GET, LIST = "compute.instances.get", "compute.instances.list"


async def ask(role: Role, *bodies: Any) -> list[tuple[int, Json]]:
    """What the control face answers to these changes, and then to a question."""
    application = web.Application(middlewares=[_errors])
    application.add_routes(role_routes(role))
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/control/role"
    found = []
    async with aiohttp.ClientSession() as session:
        for body in (*bodies, None):
            async with session.request("GET" if body is None else "POST", url, json=body) as answer:
                found.append((answer.status, await answer.json()))
    await runner.cleanup()
    return found


def test_the_operator_has_what_terraform_grants_and_may_act_as_the_nodes_account() -> None:
    role = Role(role_permissions())
    assert role.shown() == {"granted": sorted({*role_permissions(), ACT_AS}), "taken": []}
    assert role.allows("anonymous", GET)
    assert not Role((LIST,)).allows("anonymous", GET)


def test_who_names_a_principal_is_a_user_of_the_project_and_may_do_everything() -> None:
    assert Role(()).allows("somebody@example.com", GET)


async def test_a_permission_is_taken_and_given_back() -> None:
    changes = ({"permission": GET, "granted": False}, {"permission": GET, "granted": True})
    without, whole = {"granted": [LIST, ACT_AS], "taken": [GET]}, {"granted": [GET, LIST, ACT_AS], "taken": []}
    assert await ask(Role((GET, LIST)), *changes) == [(200, without), (200, whole), (200, whole)]


async def test_what_is_no_permission_of_the_role_is_refused_with_what_would_be() -> None:
    (unknown, unclear, _) = await ask(
        Role((GET,)), {"permission": "compute.disks.delete", "granted": False}, {"permission": GET}
    )
    wanted = f"'compute.disks.delete' is none of the operator's: {GET}, {ACT_AS}"
    assert unknown == (400, {"error": {"code": 400, "message": wanted}})
    assert unclear == (400, {"error": {"code": 400, "message": '"granted" is missing; needed are permission, granted'}})
