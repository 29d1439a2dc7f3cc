"""The Pub/Sub subscription, pulled for ever: whatever ends a stream, another one follows, and the state says why.

It must never lose a message (only an answer that was given is sent), never stop by itself, and leave nothing behind
when it is closed.
"""

import asyncio
import logging
import random
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import fields
from typing import Any, Final

from google.api_core import exceptions
from google.pubsub_v1.services.subscriber import SubscriberAsyncClient
from google.pubsub_v1.services.subscriber.transports import SubscriberGrpcAsyncIOTransport

from sinks.channel import connect, gapic_clients
from sinks.intake.delivery import Clock, Counts, Limits, StreamState
from sinks.intake.outbox import Outbox
from sinks.intake.stream import Handler, Stream
from sinks.intake.trouble import (
    NoConnectionError,
    NoTokenError,
    QuietStreamError,
    code_of,
    describe,
    is_refusal,
    let_go,
)

_LOG: Final = logging.getLogger(__name__)  # noqa: TID251 - sinks do not know how the program logs

#: A server that refuses a stream has so long to say so before it is asked whether it is there, in seconds; and longer,
#: up to the second figure, when the streams before this one were refused.
_SETTLE: Final = (0.25, 2.0)

ClientFactory = Callable[[], Awaitable[Any]]


def client_for(endpoint: str | None = None) -> ClientFactory:
    """A factory of subscriber clients: on loopback (`127.0.0.1:8085`) without TLS, otherwise with Google's credentials.

    `endpoint` None is Google's own. Each call makes a client with a connection of its own.
    """
    return gapic_clients(SubscriberAsyncClient, SubscriberGrpcAsyncIOTransport, endpoint)


class Subscription:
    """One subscription (`projects/p/subscriptions/s`) and its handler.

    `handle` is called in the event loop for each delivery, must be quick, and returns the answer; when it raises, that
    message alone is nacked. `on_state` is told each change of the stream's state.
    """

    def __init__(
        self,
        client_factory: ClientFactory,
        path: str,
        handle: Handler,
        on_state: Callable[[StreamState], None],
        limits: Limits,
        clock: Clock,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._client_factory = client_factory
        self._path = path
        self._handle = handle
        self._on_state = on_state
        self._limits = limits
        self._clock = clock
        self._jitter = jitter
        self._outbox = Outbox(path, str(uuid.uuid4()), limits)
        self._stream: Stream | None = None
        self._past = Counts()
        self._failures = 0
        self._delivered = False
        #: When the last stream that was alive was last heard; None before the first.
        self._heard: float | None = None
        self._closing = False
        self._worker: asyncio.Task[None] | None = None
        self.state = StreamState(connected=False, since=clock.monotonic())

    @property
    def counts(self) -> Counts:
        """What has come and gone, over all streams."""
        return _sum(self._past, self._stream.counts) if self._stream else self._past

    async def run(self) -> None:
        """Pull until `close` or cancellation. Raises nothing else."""
        if self._closing:
            return
        self._worker = asyncio.create_task(self._supervise())
        try:
            await asyncio.wait({self._worker})
        finally:
            self._worker.cancel()
            await asyncio.gather(self._worker, return_exceptions=True)
        if not self._worker.cancelled():
            self._worker.result()

    async def close(self, grace: float) -> None:
        """Hand back what is not handled, send the answers that are out, and end `run`, in at most `grace` seconds."""
        self._closing = True
        worker = self._worker
        if worker is None:
            return
        if self._stream is not None and self.state.connected:
            self._stream.drain(patience=grace / 2)
            await asyncio.wait({worker}, timeout=grace)
        worker.cancel()
        await asyncio.gather(worker, return_exceptions=True)

    async def _supervise(self) -> None:
        while not self._closing:
            started, pause = self._clock.monotonic(), 0.0
            try:
                await self._one_stream()
            except QuietStreamError:
                _LOG.info("%s brought nothing for %g s; its stream is replaced.", self._path, self._limits.quiet)
            except (Exception, asyncio.CancelledError) as error:
                if _is_cancelled(error):
                    raise
                lived = self._clock.monotonic() - started
                self._note_failure(error, lived)
                pause = self._pause(error, lived)
                let_go(error)
            if not self._closing:
                await self._clock.sleep(pause)

    async def _one_stream(self) -> None:
        self._delivered = False
        client = await self._make_client()
        try:
            await self._connect(client)
            self._stream = Stream(client, self._path, self._outbox, self._handle, self._note_alive, self._limits)
            await self._stream.run(min(_SETTLE[1], _SETTLE[0] * 2.0 ** min(self._failures, 30)))
            await self._flush(client)
        finally:
            if self._stream is not None:
                self._delivered = self._stream.counts.deliveries > 0
                self._past = _sum(self._past, self._stream.counts)
                if self.state.connected:
                    self._heard = self._clock.monotonic() - self._stream.pulse.silence
                self._stream = None
            await client.transport.close()

    async def _make_client(self) -> Any:
        seconds = self._limits.client_timeout
        try:
            async with asyncio.timeout(seconds):
                return await self._client_factory()
        except TimeoutError as error:
            raise NoTokenError(f"nothing came within {seconds:g} s") from error

    async def _connect(self, client: Any) -> None:
        seconds = self._limits.connect_timeout
        try:
            async with asyncio.timeout(seconds):
                await connect(client.transport.grpc_channel)
        except TimeoutError as error:
            raise NoConnectionError(f"no connection within {seconds:g} s") from error

    async def _flush(self, client: Any) -> None:
        """Send by single calls what came too late for the drained stream. Best effort: a lost one is redelivered."""
        acks, deadlines = self._outbox.take()
        while acks or deadlines:
            nacks = [ack_id for ack_id, seconds in deadlines if seconds == 0]
            try:
                if acks:
                    await client.acknowledge(
                        request={"subscription": self._path, "ack_ids": acks},
                        retry=None,
                        timeout=self._limits.probe_timeout,
                    )
                if nacks:
                    await client.modify_ack_deadline(
                        request={"subscription": self._path, "ack_ids": nacks, "ack_deadline_seconds": 0},
                        retry=None,
                        timeout=self._limits.probe_timeout,
                    )
            except exceptions.GoogleAPICallError as error:
                _LOG.warning("%s: the last acks were not sent, their messages come again: %s", self._path, error)
                return
            acks, deadlines = self._outbox.take()

    def _note_alive(self) -> None:
        if not self.state.connected:
            now = self._clock.monotonic()
            gap = 0.0 if self._heard is None else now - self._heard
            self._tell(StreamState(connected=True, since=now, gap=gap))

    def _note_failure(self, error: BaseException, lived: float) -> None:
        limits = self._limits
        good = lived >= (limits.brief if self._delivered else limits.steady)
        self._failures = 1 if good else self._failures + 1
        if isinstance(error, exceptions.NotFound):
            self._outbox.forget()
        since = self._clock.monotonic() if self.state.connected else self.state.since
        self._tell(
            StreamState(
                connected=False,
                since=since,
                error=describe(error, self._path),
                code=code_of(error),
                failures=self._failures,
            )
        )

    def _pause(self, error: BaseException, lived: float) -> float:
        """Back-off that doubles, of which a random half is taken off: many operators must not return in step.

        It counts from the start of what failed: an attempt that took its time has been a pause by itself.
        """
        limits = self._limits
        doubled = limits.backoff_min * 2.0 ** min(self._failures - 1, 30)
        longest = min(limits.backoff_max if is_refusal(error) else limits.reach_max, doubled)
        off = 1 - self._jitter() / 2
        return max(longest * off - lived, limits.backoff_min * off)

    def _tell(self, state: StreamState) -> None:
        self.state = state
        try:
            self._on_state(state)
        except Exception:  # noqa: BLE001 - whoever listens must not end the pulling
            _LOG.exception("The listener to the state of %s failed.", self._path)


def _is_cancelled(error: BaseException) -> bool:
    """Whether we are to end. gRPC raises the same of a call that somebody else has cancelled."""
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0


def _sum(one: Counts, other: Counts) -> Counts:
    return Counts(*(getattr(one, field.name) + getattr(other, field.name) for field in fields(Counts)))
