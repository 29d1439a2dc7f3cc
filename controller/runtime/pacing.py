"""Budgets for calls of Compute Engine: two token buckets that all groups share, fairly, what matters first.

Whoever waits is served by priority, then the group that was served least lately, then in order. A group's name comes
along in a context variable, so the calls themselves need not know of it.
"""

import asyncio
import heapq
from collections.abc import Mapping
from contextvars import ContextVar
from itertools import count
from typing import Final

from pydantic import SecretStr

from controller.api.base import Json
from controller.core.observed import Instance, ManagedInstance, OperationView, ResourceRef, ResourceView
from controller.runtime.ports import Clock, Cloud

#: Whose look is calling; "" outside of looks.
calling_group: ContextVar[str] = ContextVar("calling_group", default="")
#: Calls that give or withdraw tokens go before reads of a resync; smaller first.
calling_priority: ContextVar[int] = ContextVar("calling_priority", default=2)
#: What sums of floats may lack of a whole token: a wait for that would not end, where it is too short to be a wait.
_ROUNDING: Final = 1e-9


class Bucket:
    """A token bucket of `per_minute`, filled evenly, holding at most `burst`."""

    def __init__(self, clock: Clock, per_minute: float, burst: float) -> None:
        self._clock = clock
        self._rate = per_minute / 60.0
        self._burst = burst
        self._level = burst
        self._filled = clock.monotonic()
        self._waiting: list[tuple[int, int, int, asyncio.Future[None]]] = []
        self._served: dict[str, int] = {}
        self._round: Final = count(1)
        self._server: asyncio.Task[None] | None = None

    async def take(self) -> None:
        """Wait for one token."""
        group = calling_group.get()
        if not self._waiting and self._refilled() >= 1:
            self._level -= 1
            self._served[group] = next(self._round)
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        order = next(self._round)
        heapq.heappush(self._waiting, (calling_priority.get(), self._served.get(group, 0), order, turn))
        self._served[group] = order
        if self._server is None:
            self._server = asyncio.get_running_loop().create_task(self._serve(), name="call budget")
        await turn

    async def _serve(self) -> None:
        while self._waiting:
            missing = 1 - self._refilled()
            if missing > _ROUNDING:
                await asyncio.sleep(missing / self._rate)
                continue
            *_, turn = heapq.heappop(self._waiting)
            if not turn.done():
                self._level -= 1
                turn.set_result(None)
        self._server = None

    def _refilled(self) -> float:
        now = self._clock.monotonic()
        self._level = min(self._burst, self._level + (now - self._filled) * self._rate)
        self._filled = now
        return self._level

    def close(self) -> None:
        """Serve nobody any more."""
        if self._server is not None:
            self._server.cancel()
        for *_, turn in self._waiting:
            turn.cancel()
        self._waiting.clear()


class PacedCloud:
    """The port `Cloud`, within its budgets. listManagedInstances shares the budget of writes (facts: GCE 4)."""

    def __init__(self, cloud: Cloud, clock: Clock, *, reads_per_minute: int, writes_per_minute: int) -> None:
        self._cloud = cloud
        # Quota is per minute, refilled at once (facts: GCE 4): half a minute's worth may go in a burst.
        self._reads = Bucket(clock, reads_per_minute, reads_per_minute / 2)
        self._writes = Bucket(clock, writes_per_minute, writes_per_minute / 2)

    def close(self) -> None:
        """Serve nobody any more."""
        self._reads.close()
        self._writes.close()

    async def get(self, ref: ResourceRef) -> ResourceView | None:
        """See `Cloud`."""
        await self._reads.take()
        return await self._cloud.get(ref)

    async def insert(self, ref: ResourceRef, body: Json, request_id: str) -> OperationView:
        """See `Cloud`."""
        await self._writes.take()
        return await self._cloud.insert(ref, body, request_id)

    async def delete(self, ref: ResourceRef, request_id: str) -> OperationView:
        """See `Cloud`."""
        await self._writes.take()
        return await self._cloud.delete(ref, request_id)

    async def get_operation(self, ref: ResourceRef, name: str) -> OperationView | None:
        """See `Cloud`. Operations have a quota of their own (facts: GCE 4)."""
        return await self._cloud.get_operation(ref, name)

    async def list_managed_instances(self, mig: ResourceRef) -> tuple[ManagedInstance, ...]:
        """See `Cloud`."""
        await self._writes.take()
        return await self._cloud.list_managed_instances(mig)

    async def get_instance(self, project: str, zone: str, name: str) -> Instance | None:
        """See `Cloud`."""
        await self._reads.take()
        return await self._cloud.get_instance(project, zone, name)

    async def list_instances(self, project: str, zone: str, *name_prefixes: str) -> tuple[Instance, ...]:
        """See `Cloud`."""
        await self._reads.take()
        return await self._cloud.list_instances(project, zone, *name_prefixes)

    async def set_metadata(
        self, instance: Instance, changes: Mapping[str, SecretStr | str | None]
    ) -> OperationView | None:
        """See `Cloud`."""
        await self._writes.take()
        return await self._cloud.set_metadata(instance, changes)
