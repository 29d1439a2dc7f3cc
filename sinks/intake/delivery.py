"""What a subscription hands over and is told back: the types between the stream and whoever handles its messages."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message of the subscription, as delivered once. The same message may be delivered again."""

    data: bytes
    message_id: str
    #: When the publisher's message reached Pub/Sub; aware, UTC.
    published: datetime
    #: How often it has been delivered; 0 where the subscription has no dead-letter policy.
    delivery_attempt: int


class Answer(StrEnum):
    """What Pub/Sub is told of a delivery."""

    #: The wake is safe: never deliver it again.
    ACK = "ack"
    #: Deliver it again now; so often nacked, the dead-letter policy takes it.
    NACK = "nack"


@dataclass(frozen=True, slots=True)
class StreamState:
    """How the stream stands, told on every change."""

    connected: bool
    #: Since when, in seconds of the monotonic clock that the subscription was given.
    since: float
    #: What broke the stream last and what to do about it; "" while nothing has.
    error: str = ""
    #: The gRPC status of it by name, as `NOT_FOUND`; "" where the service did not answer.
    code: str = ""
    #: How many times in a row connecting or the stream has failed; 0 while connected.
    failures: int = 0


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of a stream. Times in seconds."""

    max_outstanding_messages: int = 1000
    max_outstanding_bytes: int = 64 * 1024 * 1024
    #: How long Pub/Sub waits for an ack before it delivers again (10 to 600).
    ack_deadline: int = 60
    #: Acks wait for company this long, and no longer than `ack_batch` of them.
    ack_interval: float = 0.005
    ack_batch: int = 500
    #: A silent stream is probed this often, with this much time to answer.
    probe_interval: float = 20.0
    probe_timeout: float = 5.0
    #: The service drops a stream whose client says nothing for long.
    keep_alive: float = 30.0
    backoff_min: float = 0.1
    backoff_max: float = 10.0
    #: A stream that lived so long, or delivered something, was a good one: the back-off begins anew after it.
    steady: float = 10.0


@dataclass(slots=True)
class Counts:
    """What has come and gone, since the start."""

    deliveries: int = 0
    acked: int = 0
    nacked: int = 0
    #: Deliveries whose handling raised; they are nacked.
    handler_errors: int = 0
    #: Streams that were opened.
    streams: int = 0


class Clock(Protocol):
    """Time, and waiting for it."""

    def monotonic(self) -> float:
        """Seconds of a clock that never jumps."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...
