"""The simulator's control face, as the demo uses it (docs/simulator.md)."""

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import aiohttp

from controller.api.base import Json

#: More log entries than the simulator keeps.
_ALL = 1_000_000


class Control:
    """A client of the control face. Use as a context manager."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10))

    async def __aenter__(self) -> Self:
        """Open."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close all connections."""
        await self._session.close()

    async def world(self) -> Json:
        """Everything that both APIs hold, and `history` with all log entries that are remembered."""
        return await self._call("GET", f"/control/world?logs=full&last={_ALL}")

    async def calls(self) -> Json:
        """Counts of all calls so far."""
        return await self._call("GET", "/control/calls")

    async def strike(self, instance: str, what: str) -> None:
        """Let something happen to a VM: `host-error`, `preempt`, ..."""
        await self._call("POST", f"/control/instances/{instance}/{what}")

    async def capacity(self, zone: str, machine_type: str, available: int | None) -> None:
        """So many more VMs can start in the zone; None is without limit."""
        body = {"zone": zone, "machineType": machine_type, "available": available}
        await self._call("POST", "/control/capacity", body)

    async def _call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Json:
        async with self._session.request(method, self._url + path, json=body) as response:
            response.raise_for_status()
            return dict(await response.json()) if response.content_type == "application/json" else {}
