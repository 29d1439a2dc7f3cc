"""One subscription: its backlog, its leases and who takes from it. At least once, no order promised.

Pushes a message the moment it is published: there is no coalescing delay here. Everything runs in one event loop.
"""

import asyncio
import heapq
import itertools
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

#: What waits at most; older messages fall out, so that a subscription nobody reads cannot eat the memory.
MAX_BACKLOG = 100_000


@dataclass(frozen=True, slots=True)
class Message:
    """A published message."""

    data: bytes
    attributes: Mapping[str, str]
    id: str
    published: datetime


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Back-off before a nacked or expired message comes again, in seconds; doubles from minimum to maximum."""

    minimum: float = 10.0
    maximum: float = 600.0


@dataclass(frozen=True, slots=True)
class DeadLetterPolicy:
    """Where a message goes after so many delivery attempts."""

    topic: str
    attempts: int = 5


@dataclass(frozen=True, slots=True)
class SubscriptionConfig:
    """What a subscription was created with. No retry policy means at once; durations are seconds."""

    name: str
    topic: str
    ack_deadline: int = 10
    retry: RetryPolicy | None = None
    dead_letter: DeadLetterPolicy | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    #: Seconds without a subscriber after which it is deleted: 31 days unless stated; None is never. Shown, not done.
    expires: float | None = 31 * 86400.0


@dataclass(slots=True)
class _Pending:
    message: Message
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message on its way to one consumer. `attempt` is 0 without a dead-letter policy."""

    ack_id: str
    message: Message
    attempt: int


class Consumer:
    """One stream or pull: what it may hold unacknowledged (0: no limit), and what waits to be sent to it."""

    def __init__(self, *, max_messages: int = 0, max_bytes: int = 0, ack_deadline: int = 0) -> None:
        self._max_messages = max_messages
        self._max_bytes = max_bytes
        #: Seconds of a lease of this consumer; 0 is the subscription's own.
        self.ack_deadline = ack_deadline
        self.messages = 0
        self.bytes = 0
        self._unsent: list[Delivery] = []
        self._something = asyncio.Event()
        self.gone = False

    def has_room(self) -> bool:
        """Whether one more message may be leased to it."""
        if self._max_messages > 0 and self.messages >= self._max_messages:
            return False
        return not (self._max_bytes > 0 and self.bytes >= self._max_bytes)

    def hand(self, delivery: Delivery) -> None:
        """Queue a delivery to be sent."""
        self._unsent.append(delivery)
        self._something.set()

    def close(self) -> None:
        """The subscription is deleted: `take` returns nothing from now on."""
        self.gone = True
        self._something.set()

    def ping(self) -> None:
        """A sign of life came: `take` returns, with nothing if nothing waits."""
        self._something.set()

    async def take(self) -> list[Delivery]:
        """All deliveries that wait, at least one; empty only after `ping` or `close`."""
        await self._something.wait()
        return self.drain()

    def drain(self) -> list[Delivery]:
        """All deliveries that wait now."""
        taken, self._unsent = self._unsent, []
        if not self.gone:
            self._something.clear()
        return taken


@dataclass(slots=True)
class _Lease:
    pending: _Pending
    consumer: Consumer
    deadline: float


class Subscription:
    """See the module. `dead_letter` publishes to the dead-letter topic; False when that topic is not there."""

    def __init__(
        self,
        config: SubscriptionConfig,
        dead_letter: Callable[[SubscriptionConfig, Message, int], bool],
    ) -> None:
        self.config = config
        self._dead_letter = dead_letter
        self._backlog: deque[_Pending] = deque(maxlen=MAX_BACKLOG)
        self._leases: dict[str, _Lease] = {}
        self._deadlines: list[tuple[float, str]] = []
        self._consumers: deque[Consumer] = deque()
        self._ids = itertools.count(1)
        self._expiry: asyncio.TimerHandle | None = None
        self._retries: set[asyncio.TimerHandle] = set()

    @property
    def outstanding(self) -> int:
        """Messages that are leased: delivered, and neither acknowledged nor given back."""
        return len(self._leases)

    def add(self, message: Message) -> None:
        """Take a published message and push it to a consumer that has room."""
        self._backlog.append(_Pending(message))
        self._pump()

    def attach(self, consumer: Consumer) -> None:
        """Deliver to this consumer from now on."""
        self._consumers.append(consumer)
        self._pump()

    def detach(self, consumer: Consumer) -> None:
        """Its stream ended. What was sent stays leased until its deadline; what was not comes back at once."""
        self._consumers.remove(consumer)
        for delivery in reversed(consumer.drain()):
            if lease := self._leases.pop(delivery.ack_id, None):
                lease.pending.attempts -= 1
                self._backlog.appendleft(lease.pending)
        self._pump()

    def acknowledge(self, ack_ids: list[str]) -> None:
        """Forget the messages. An unknown or expired ack id is ignored: the ack came too late."""
        for ack_id in ack_ids:
            self._release(ack_id)
        self._pump()

    def extend(self, ack_id: str, seconds: int) -> None:
        """Set the lease to end so many seconds from now; 0 is a nack. An unknown ack id is ignored."""
        if seconds == 0:
            if pending := self._release(ack_id):
                self._again(pending)
            self._pump()
        elif lease := self._leases.get(ack_id):
            lease.deadline = asyncio.get_running_loop().time() + seconds
            self._watch(ack_id, lease.deadline)

    def close(self) -> None:
        """Stop every timer and let go of every consumer."""
        for timer in [*self._retries, *([self._expiry] if self._expiry else [])]:
            timer.cancel()
        self._retries.clear()
        for consumer in self._consumers:
            consumer.close()

    def _pump(self) -> None:
        passed_over = 0
        while self._backlog and passed_over < len(self._consumers):
            consumer = self._consumers[0]
            self._consumers.rotate(-1)
            if consumer.has_room():
                passed_over = 0
                self._lease(self._backlog.popleft(), consumer)
            else:
                passed_over += 1

    def _lease(self, pending: _Pending, consumer: Consumer) -> None:
        ack_id = f"{self.config.name.rpartition('/')[2]}:{next(self._ids)}"
        seconds = consumer.ack_deadline or self.config.ack_deadline
        deadline = asyncio.get_running_loop().time() + seconds
        pending.attempts += 1
        self._leases[ack_id] = _Lease(pending, consumer, deadline)
        self._watch(ack_id, deadline)
        consumer.messages += 1
        consumer.bytes += len(pending.message.data)
        attempt = pending.attempts if self.config.dead_letter else 0
        consumer.hand(Delivery(ack_id, pending.message, attempt))

    def _release(self, ack_id: str) -> _Pending | None:
        lease = self._leases.pop(ack_id, None)
        if lease is None:
            return None
        lease.consumer.messages -= 1
        lease.consumer.bytes -= len(lease.pending.message.data)
        return lease.pending

    def _again(self, pending: _Pending) -> None:
        """Nacked or expired: to the dead-letter topic, or back into the backlog after the back-off."""
        config = self.config
        spent = config.dead_letter is not None and pending.attempts >= config.dead_letter.attempts
        # Where the dead-letter topic is not there, real Pub/Sub keeps delivering.
        if spent and self._dead_letter(config, pending.message, pending.attempts):
            return
        if config.retry is None:
            self._backlog.append(pending)
            return
        seconds = min(config.retry.maximum, config.retry.minimum * 2 ** min(pending.attempts - 1, 32))

        def come_back() -> None:
            self._retries.discard(timer)
            self._backlog.append(pending)
            self._pump()

        timer = asyncio.get_running_loop().call_later(seconds, come_back)
        self._retries.add(timer)

    def _watch(self, ack_id: str, deadline: float) -> None:
        heapq.heappush(self._deadlines, (deadline, ack_id))
        if self._expiry is None or deadline < self._expiry.when():
            self._arm(deadline)

    def _arm(self, deadline: float) -> None:
        if self._expiry:
            self._expiry.cancel()
        self._expiry = asyncio.get_running_loop().call_at(deadline, self._expire)

    def _expire(self) -> None:
        self._expiry = None
        now = asyncio.get_running_loop().time()
        while self._deadlines:
            deadline, ack_id = self._deadlines[0]
            lease = self._leases.get(ack_id)
            # Acknowledged, or extended since: the heap still holds the old deadline.
            stale = lease is None or lease.deadline != deadline
            if not stale and deadline > now:
                self._arm(deadline)
                break
            heapq.heappop(self._deadlines)
            if not stale and (pending := self._release(ack_id)):
                self._again(pending)
        self._pump()
