"""A subscription that runs, and everything that it told."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from sinks.intake.delivery import Answer, Delivery, Limits, StreamState
from sinks.intake.subscription import ClientFactory, Subscription, client_for
from tests.sinks.pubsub_server import SUBSCRIPTION

#: For a server that shares the test's event loop.
QUICK = Limits(
    backoff_min=0.01, backoff_max=0.05, reach_max=0.05, connect_timeout=0.5, probe_interval=0.1, probe_timeout=0.2
)


class LoopClock:
    """The event loop's time."""

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@dataclass
class Reader:
    """A subscription with everything that it told."""

    subscription: Subscription
    deliveries: list[Delivery]
    states: list[StreamState]
    told: asyncio.Event
    #: When each attempt at a stream began, in the event loop's time.
    attempts: list[float]

    @property
    def bodies(self) -> list[bytes]:
        """What was delivered, in its order."""
        return [delivery.data for delivery in self.deliveries]

    async def until(self, condition: Callable[[StreamState], bool], patience: float = 40) -> StreamState:
        """The state that fulfils the condition; the current one counts. Looked at with each state and delivery."""
        async with asyncio.timeout(patience):
            while not condition(self.subscription.state):
                self.told.clear()
                await self.told.wait()
        return self.subscription.state

    @property
    def intervals(self) -> list[float]:
        """From each attempt to the next, in seconds."""
        return [later - earlier for earlier, later in pairwise(self.attempts)]

    async def until_delivered(self, *bodies: bytes) -> None:
        """Wait until each of these has been delivered at least once, be it after the end of another stream's lease."""
        await self.until(lambda _: set(bodies) <= set(self.bodies), patience=90)


def acking(_: Delivery) -> Answer:
    return Answer.ACK


@asynccontextmanager
async def reading(
    endpoint: str | ClientFactory,
    clock: LoopClock,
    handle: Callable[[Delivery], Answer] = acking,
    limits: Limits = QUICK,
    path: str = SUBSCRIPTION,
) -> AsyncIterator[Reader]:
    """A subscription that runs, and is closed afterwards."""
    deliveries: list[Delivery] = []
    states: list[StreamState] = []
    told = asyncio.Event()

    def take(delivery: Delivery) -> Answer:
        deliveries.append(delivery)
        told.set()
        return handle(delivery)

    def listen(state: StreamState) -> None:
        states.append(state)
        told.set()

    factory = client_for(endpoint) if isinstance(endpoint, str) else endpoint
    attempts: list[float] = []

    def attempt() -> Awaitable[Any]:
        attempts.append(clock.monotonic())
        told.set()
        return factory()

    subscription = Subscription(attempt, path, take, listen, limits, clock, jitter=lambda: 0.5)
    running = asyncio.create_task(subscription.run())
    try:
        yield Reader(subscription, deliveries, states, told, attempts)
    finally:
        await subscription.close(5)
        await running
