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
    #: On connecting again: for how many seconds nothing could be heard before. What was sent meanwhile may come late.
    gap: float = 0.0


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of a stream. Times in seconds. What the service does on its side is known (facts: Pub/Sub 1).

    A connection that dies without a word is found within `probe_interval + probe_timeout`; a service that can be
    reached again is found within `reach_max`, plus what it takes to connect.
    """

    max_outstanding_messages: int = 1000
    max_outstanding_bytes: int = 64 * 1024 * 1024
    #: How long Pub/Sub waits for an ack before it delivers again (10 to 600). Acks leave within milliseconds: what a
    #: dead connection has swallowed should come again soon.
    ack_deadline: int = 10
    #: Acks wait for company this long, and no longer than `ack_batch` of them.
    ack_interval: float = 0.005
    ack_batch: int = 500
    #: Credentials are found within this time; on Compute Engine the metadata server is asked for them.
    client_timeout: float = 15.0
    #: A connection stands within this time, or another is tried.
    connect_timeout: float = 3.0
    #: A silent stream is probed this often, with this much time to answer.
    probe_interval: float = 5.0
    probe_timeout: float = 4.0
    #: The service drops a stream whose client says nothing for long.
    keep_alive: float = 30.0
    #: A service that answers signs of life does so within this time.
    pong_timeout: float = 15.0
    #: A stream that brought nothing for so long is replaced: some fall silent while the connection still answers.
    quiet: float = 360.0
    backoff_min: float = 0.1
    #: The longest back-off after a refusal: whoever mends a permission or a name does not need it at once.
    backoff_max: float = 10.0
    #: The longest time between two attempts to reach a service that cannot be reached.
    reach_max: float = 4.0
    #: A stream that lived so long was a good one: the back-off begins anew after it.
    steady: float = 10.0
    #: So was one that delivered something, if it lived so long.
    brief: float = 1.0


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
