"""Records and entries to Cloud Logging, in the background: bounded buffer, batches, retries that do not duplicate.

It may lose entries (they are counted, and the JSON lines hold them), but it never holds up whoever writes.
"""

import asyncio
import logging
import random
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from google.api_core import exceptions
from google.auth.exceptions import GoogleAuthError
from google.cloud.logging_v2.services.logging_service_v2 import LoggingServiceV2AsyncClient
from google.cloud.logging_v2.services.logging_service_v2.transports import LoggingServiceV2GrpcAsyncIOTransport
from google.cloud.logging_v2.types import WriteLogEntriesRequest

from sinks.advice import Advice, advise
from sinks.audit.entries import to_message
from sinks.audit.record import AuditRecord, Outcome
from sinks.channel import gapic_clients

_LOG: Final = logging.getLogger(__name__)  # noqa: TID251 - sinks do not know how the program logs

ClientFactory = Callable[[], Awaitable[Any]]


def client_for(endpoint: str | None = None) -> ClientFactory:
    """A factory of logging clients: on loopback (`127.0.0.1:9000`) without TLS, otherwise with Google's credentials."""
    return gapic_clients(LoggingServiceV2AsyncClient, LoggingServiceV2GrpcAsyncIOTransport, endpoint)


@dataclass(frozen=True, slots=True)
class WriterLimits:
    """Bounds of the writer. Times in seconds."""

    #: Entries that may wait; more are dropped.
    buffer: int = 10_000
    #: Entries and bytes of one call (the service takes 10 MB).
    batch: int = 200
    batch_bytes: int = 4 * 1024 * 1024
    #: Entries wait this long for company.
    interval: float = 0.2
    timeout: float = 10.0
    backoff_min: float = 0.2
    backoff_max: float = 30.0


@dataclass(slots=True)
class WriterCounts:
    """What became of the entries, since the start."""

    written: int = 0
    #: Entries for which there was no room, or which could not be sent before the end.
    dropped: int = 0
    #: Calls that failed and were made again.
    failed_calls: int = 0
    #: Batches of which the service refused entries for good.
    refused_batches: int = 0


class CloudLogging:
    """Writes to one log (`projects/<project>/logs/<log>`), and entries to any. Used from one event loop only.

    `on_trouble` is told in one line when writing begins to fail or fails in another way, and "" when it works again.
    """

    def __init__(
        self,
        client_factory: ClientFactory,
        log_name: str,
        limits: WriterLimits,
        on_trouble: Callable[[str], None],
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._client_factory = client_factory
        self._log_name = log_name
        self._limits = limits
        self._on_trouble = on_trouble
        self._jitter = jitter
        self._buffer: deque[Any] = deque()
        self._pending = asyncio.Event()
        self._closing = asyncio.Event()
        self._client: Any = None
        self._trouble = ""
        self._worker: asyncio.Task[None] | None = None
        self.counts = WriterCounts()

    @property
    def trouble(self) -> str:
        """Why writing fails, in one line; "" while it works."""
        return self._trouble

    @property
    def waiting(self) -> int:
        """Entries that wait to be sent."""
        return len(self._buffer)

    def write(self, record: AuditRecord) -> None:
        """Take a record. Write-ahead lines (`begun`) are the JSON lines' business."""
        if record.outcome is not Outcome.BEGUN:
            self.write_entry(record.to_entry(self._log_name))

    def write_entry(self, entry: Mapping[str, Any]) -> None:
        """Take a LogEntry (REST JSON: logName, resource, jsonPayload, insertId, timestamp, severity). Never raises."""
        if len(self._buffer) >= self._limits.buffer or self._closing.is_set():
            self.counts.dropped += 1
            return
        try:
            self._buffer.append(to_message(entry))
        except (ValueError, TypeError, KeyError):
            self.counts.dropped += 1
            return
        self._pending.set()

    async def run(self) -> None:
        """Send until `close` or cancellation. Raises nothing else."""
        worker = self._working()
        try:
            await asyncio.wait({worker})
        finally:
            worker.cancel()
            await asyncio.gather(worker, return_exceptions=True)
        if not worker.cancelled():
            worker.result()

    async def close(self, grace: float) -> None:
        """Send what waits and end `run`, in at most `grace` seconds. What is left then is dropped and counted."""
        self._closing.set()
        self._pending.set()
        worker = self._working()
        await asyncio.wait({worker}, timeout=grace)
        worker.cancel()
        await asyncio.gather(worker, return_exceptions=True)
        self.counts.dropped += len(self._buffer)
        self._buffer.clear()

    def _working(self) -> asyncio.Task[None]:
        """The task that sends: one for all time, also when the end comes before the beginning."""
        if self._worker is None:
            self._worker = asyncio.create_task(self._send_all())
        return self._worker

    async def _send_all(self) -> None:
        try:
            while self._buffer or not self._closing.is_set():
                await self._pending.wait()
                await self._rest(self._limits.interval)
                await self._send_batch()
        finally:
            await self._drop_client()

    async def _send_batch(self) -> None:
        """Send the front of the buffer until it is settled. It leaves the buffer only then."""
        batch = self._front()
        failures = 0
        while batch and not await self._sent(batch):
            failures += 1
            doubled = self._limits.backoff_min * 2.0 ** min(failures - 1, 30)
            # A random half is taken off: many operators must not return in step.
            await self._rest(min(self._limits.backoff_max, doubled) * (1 - self._jitter() / 2))
            if self._closing.is_set():
                await asyncio.sleep(self._limits.backoff_min)
        for _ in batch:
            self._buffer.popleft()
        if not self._buffer and not self._closing.is_set():
            self._pending.clear()

    def _front(self) -> list[Any]:
        batch: list[Any] = []
        size = 0
        for message in self._buffer:
            size += message.ByteSize()
            if len(batch) >= self._limits.batch or (batch and size > self._limits.batch_bytes):
                break
            batch.append(message)
        return batch

    async def _sent(self, batch: list[Any]) -> bool:
        """Whether the batch is settled: written, or refused for good."""
        request = WriteLogEntriesRequest.wrap(WriteLogEntriesRequest.pb()(entries=batch, partial_success=True))
        try:
            await (await self._connected()).write_log_entries(request=request, retry=None, timeout=self._limits.timeout)
        except exceptions.InvalidArgument as error:
            # With partial_success the good ones of the batch are written; the others will never be.
            self.counts.refused_batches += 1
            self._tell(advise(error, _ADVICE, _OTHERWISE, log=self._log_name))
            return True
        except Exception as error:  # noqa: BLE001 - whatever it was, the entries are kept and sent again
            self.counts.failed_calls += 1
            self._tell(advise(error, _ADVICE, _OTHERWISE, log=self._log_name))
            await self._drop_client()
            return False
        self.counts.written += len(batch)
        self._tell("")
        return True

    async def _connected(self) -> Any:
        if self._client is None:
            self._client = await self._client_factory()
        return self._client

    async def _drop_client(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.transport.close()

    async def _rest(self, seconds: float) -> None:
        """Wait, unless the end comes."""
        try:
            async with asyncio.timeout(seconds):
                await self._closing.wait()
        except TimeoutError:
            return

    def _tell(self, trouble: str) -> None:
        if trouble == self._trouble:
            return
        self._trouble = trouble
        try:
            self._on_trouble(trouble)
        except Exception:  # noqa: BLE001 - whoever listens must not end the writing
            _LOG.exception("The listener to the trouble of %s failed.", self._log_name)


#: {log} is the log.
_ADVICE: Final[Advice] = {
    (GoogleAuthError,): (
        "no usable Google credentials to write {log} ({said}); give the operator's service account Workload Identity, "
        "or set GOOGLE_APPLICATION_CREDENTIALS"
    ),
    (exceptions.PermissionDenied,): (
        "not allowed to write {log} ({said}); grant roles/logging.logWriter to the operator's service account"
    ),
    (exceptions.NotFound,): "the project of {log} does not exist ({said}); correct the audit project",
    (exceptions.InvalidArgument,): "entries for {log} were refused for good ({said}); they are in the JSON lines",
    (exceptions.ServiceUnavailable, exceptions.DeadlineExceeded): (
        "Cloud Logging cannot be reached to write {log} ({said}); check the endpoint and the network"
    ),
}
_OTHERWISE: Final = "writing {log} failed ({said}); trying again"
