"""What a stream has brought and nobody has handled yet. Bounded, whatever the server sends."""

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from sinks.intake.delivery import Limits


class Held:
    """Received messages (google.pubsub.v1.ReceivedMessage) that wait for their turn."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._messages: deque[Any] = deque()
        self._bytes = 0
        self._something = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()

    def __len__(self) -> int:
        return len(self._messages)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._messages)

    def put(self, received: Iterable[Any]) -> None:
        """At the end of the line."""
        for message in received:
            self._messages.append(message)
            self._bytes += message.ByteSize()
        if self._messages:
            self._something.set()
        if not self._has_room():
            self._room.clear()

    def pop(self) -> Any:
        """The one whose turn it is."""
        message = self._messages.popleft()
        self._bytes -= message.ByteSize()
        if not self._messages:
            self._something.clear()
        if not self._room.is_set() and self._has_room():
            self._room.set()
        return message

    async def something(self) -> None:
        """Wait until there is one."""
        await self._something.wait()

    async def room(self) -> None:
        """Wait until more may come. The service minds the bounds by itself; Google's emulator does not."""
        await self._room.wait()

    def _has_room(self) -> bool:
        limits = self._limits
        return len(self._messages) < limits.max_outstanding_messages and self._bytes < limits.max_outstanding_bytes
