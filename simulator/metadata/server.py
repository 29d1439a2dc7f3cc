"""The metadata server on the wire (aiohttp): one for all VMs.

A real VM reaches its own server at http://metadata.google.internal/computeMetadata/v1 and can see no other VM's.
On loopback all VMs share one listener, so the VM is a prefix of the path: `/vm/<instance id>/computeMetadata/v1/...`.
A VM that is a real machine has a listener of its own in its network (`attach`), and sees what a real one would see.
Semantics of the hanging GET: facts, TPU 5.
"""

import asyncio
import contextlib
import json
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from aiohttp import web

from simulator.metadata import tree
from simulator.metadata.machines import Machine, Machines
from simulator.seams import CallFaults, CallLog

_FLAVOR = {"Metadata-Flavor": "Google", "Server": "Metadata Server for VM"}


@dataclass(frozen=True, slots=True)
class _Query:
    """The parameters of one GET."""

    recursive: bool
    as_json: bool
    wait: bool
    last_etag: str | None
    #: Seconds; None waits for ever.
    timeout: float | None


class MetadataServer:
    """Serves the metadata of every VM of the world; `url` is the base of one VM."""

    def __init__(self, machines: Machines, calls: CallLog, faults: CallFaults) -> None:
        self._machines = machines
        self._calls = calls
        self._faults = faults
        self._runner: web.AppRunner | None = None
        self._port = 0

    async def start(self, port: int = 0) -> None:
        """Listen on 127.0.0.1, on any free port unless one is given."""
        self._runner = await _runner("/vm/{vm}/computeMetadata/v1/{path:.*}", self._get)
        site = web.TCPSite(self._runner, "127.0.0.1", port)
        await site.start()
        self._port = int(self._runner.addresses[0][1])

    async def attach(self, instance_id: str, listener: socket.socket) -> web.AppRunner:
        """Serve one VM, and no other, on its own listener, until the runner is cleaned up."""

        async def get(request: web.Request) -> web.Response:
            return await self._get(request, instance_id)

        runner = await _runner("/computeMetadata/v1/{path:.*}", get)
        await web.SockSite(runner, listener).start()
        return runner

    async def stop(self) -> None:
        """Stop listening and drop all hanging GETs."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    @property
    def port(self) -> int:
        """The port that the server listens on, or listened on last."""
        return self._port

    def url(self, instance_id: str) -> str:
        """The base URL of one VM, as METADATA_URL of the startup script takes it."""
        return f"http://127.0.0.1:{self._port}/vm/{instance_id}/computeMetadata/v1"

    async def _get(self, request: web.Request, instance_id: str | None = None) -> web.Response:
        instance_id = instance_id or request.match_info["vm"]
        response = await self._answer(request, instance_id)
        response.headers.update(_FLAVOR)
        machine = self._machines.machine(instance_id)
        self._calls.record(
            caller=f"vm/{machine.name}" if machine else "vm",
            api="metadata",
            method="get",
            code=str(response.status),
            effect="none",
        )
        return response

    async def _answer(self, request: web.Request, instance_id: str) -> web.Response:
        if request.headers.get("Metadata-Flavor") != "Google" or "X-Forwarded-For" in request.headers:
            return web.Response(status=403, text="Missing Metadata-Flavor:Google header.\n")
        refused = await self._planned_fault()
        if refused is not None:
            return refused
        path = request.match_info["path"]
        machine = self._machines.machine(instance_id)
        if machine is None:
            return _not_found(path)
        if path.endswith("/token"):
            return _token(machine, path)
        try:
            query = _query_of(request)
        except ValueError as error:
            return web.Response(status=400, text=f"{error}\n")
        return await self._value(machine, path, query)

    async def _planned_fault(self) -> web.Response | None:
        fault = self._faults.next("metadata", "metadata.get")
        if fault is None:
            return None
        if fault.effect == "latency":
            await asyncio.sleep(fault.milliseconds / 1000)
            return None
        if fault.effect == "hold-after":
            await fault.release()
            return None
        return web.Response(status=int(fault.code), text="planned fault\n")

    async def _value(self, machine: Machine, path: str, query: _Query) -> web.Response:
        found = tree.find(tree.tree_of(machine), path)
        if found is not None and query.wait:
            found = await self._changed(machine, path, query.last_etag or tree.etag_of(found), query.timeout)
        if found is None:
            return _not_found(path)
        headers = {"ETag": tree.etag_of(found)}
        if query.as_json or query.recursive:
            return web.Response(text=tree.json_of(path, found), content_type="application/json", headers=headers)
        return web.Response(text=tree.text_of(found), content_type="application/text", headers=headers)

    async def _changed(
        self, machine: Machine, path: str, etag: str, timeout: float | None
    ) -> tree.Leaf | tree.Tree | None:
        """What is at the path once its ETag is another, or after the timeout; None when it is no longer there."""
        later: Machine | None = machine
        found: tree.Leaf | tree.Tree | None = None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                while later is not None:
                    found = tree.find(tree.tree_of(later), path)
                    if found is None or tree.etag_of(found) != etag:
                        return found
                    later = await self._machines.changed(later)
                found = None
        return found


async def _runner(path: str, get: Callable[..., Awaitable[web.Response]]) -> web.AppRunner:
    """A server of this path. A hanging GET ends with its client, and at once when the server stops."""
    application = web.Application()
    application.router.add_get(path, get)
    runner = web.AppRunner(application, handler_cancellation=True, shutdown_timeout=0.05, access_log=None)
    await runner.setup()
    return runner


def _query_of(request: web.Request) -> _Query:
    """Raises ValueError on what is not simulated, rather than guess."""
    query = request.query
    recursive = query.get("recursive", "false").lower() == "true"
    alt = query.get("alt", "json" if recursive else "text")
    if alt not in {"json", "text"} or (recursive and alt == "text"):
        raise ValueError(f"alt={alt} is not simulated here")
    seconds = float(query.get("timeout_sec", "0"))
    return _Query(
        recursive=recursive,
        as_json=alt == "json",
        wait=query.get("wait_for_change", "false").lower() == "true",
        last_etag=query.get("last_etag"),
        timeout=seconds if seconds > 0 else None,
    )


def _token(machine: Machine, path: str) -> web.Response:
    """An access token of the VM's account. It opens nothing: the simulator's faces tell callers apart otherwise."""
    if machine.service_account is None or path not in {
        "instance/service-accounts/default/token",
        f"instance/service-accounts/{machine.service_account.email}/token",
    }:
        return _not_found(path)
    token = {"access_token": f"simulated-{machine.id}", "expires_in": 3599, "token_type": "Bearer"}
    return web.Response(text=json.dumps(token), content_type="application/json")


def _not_found(path: str) -> web.Response:
    return web.Response(status=404, text=f"The requested URL /computeMetadata/v1/{path} was not found.\n")
