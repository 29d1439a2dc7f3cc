"""The Cloud Logging writer against a small service on loopback, through Google's client."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime

import grpc
import pytest

from sinks.audit.canary import canary_entry
from sinks.audit.record import AuditCause, AuditFailure, Outcome
from sinks.audit.writer import CloudLogging, WriterCounts, WriterLimits, client_for
from tests.sinks.logging_server import LoggingServer
from tests.sinks.reading import LoopClock
from tests.sinks.test_record import LOG, STARTED, make

#: LogSeverity.
NOTICE = 300
QUICK = WriterLimits(interval=0.02, backoff_min=0.01, backoff_max=0.05, timeout=5)


class Writer:
    """A writer with what it told."""

    def __init__(self, endpoint: str, limits: WriterLimits) -> None:
        self.troubles: list[str] = []
        self.told = asyncio.Event()
        self.sink = CloudLogging(client_for(endpoint), LOG, limits, self._listen, jitter=lambda: 0.5)

    def _listen(self, trouble: str) -> None:
        # Whoever is not told can ask.
        assert trouble == self.sink.trouble
        self.troubles.append(trouble)
        self.told.set()

    async def trouble(self) -> None:
        """Wait until the writer has told of trouble."""
        async with asyncio.timeout(10):
            await self.told.wait()


@asynccontextmanager
async def writing(endpoint: str, limits: WriterLimits = QUICK, grace: float = 5) -> AsyncIterator[Writer]:
    """A writer that runs, and is closed afterwards."""
    writer = Writer(endpoint, limits)
    running = asyncio.create_task(writer.sink.run())
    try:
        yield writer
    finally:
        await writer.sink.close(grace)
        await running


async def test_a_record_arrives_as_a_structured_entry(logs: LoggingServer) -> None:
    async with writing(logs.endpoint) as writer:
        writer.sink.write(make())
        await logs.until(lambda: len(logs.entries) == 1)
    (entry,) = logs.entries
    record = make()
    assert (entry.log_name, entry.insert_id, entry.severity, entry.resource.type) == (
        LOG, record.insert_id, NOTICE, "global",
    )  # fmt: skip
    assert dict(entry.json_payload)["action"] == "InjectToken"
    assert entry.timestamp == STARTED
    assert (entry.operation.id, entry.operation.first, entry.operation.last) == ("pass-1", True, False)
    assert logs.calls[0].partial_success
    assert writer.sink.counts == WriterCounts(written=1)


async def test_records_travel_together(logs: LoggingServer) -> None:
    async with writing(logs.endpoint, replace(QUICK, batch=40)) as writer:
        for number in range(100):
            writer.sink.write(make(request_id=str(number)))
        await logs.until(lambda: len(logs.entries) == 100)
    assert [len(call.entries) for call in logs.calls] == [40, 40, 20]


async def test_a_call_is_bounded_in_bytes(logs: LoggingServer) -> None:
    async with writing(logs.endpoint, replace(QUICK, batch_bytes=2_000)) as writer:
        for number in range(3):
            writer.sink.write(make(request_id=str(number), resource="x" * 1_000))
        await logs.until(lambda: len(logs.entries) == 3)
    assert [len(call.entries) for call in logs.calls] == [1, 1, 1]


async def test_b7_a_record_over_the_size_limit_is_trimmed_and_written(logs: LoggingServer) -> None:
    """B7: https://github.com/abcxyz/lumberjack/issues/128. An entry over 256 KiB would be refused, and lost."""
    long = "x" * 300_000
    record = make(outcome=Outcome.FAILED, cause=AuditCause("spec", detail=long), failure=AuditFailure("400", long))
    async with writing(logs.endpoint) as writer:
        writer.sink.write(record)
        await logs.until(lambda: len(logs.entries) == 1)
    (entry,) = logs.entries
    assert len(type(entry).serialize(entry)) < 256 * 1024
    assert (entry.insert_id, writer.sink.counts) == (record.insert_id, WriterCounts(written=1))
    assert entry.json_payload["failure"]["message"] == "x" * 4096 + "... (295904 more)"


async def test_a_lost_reply_repeats_the_entries_under_the_same_insert_ids(logs: LoggingServer) -> None:
    logs.failures = [grpc.StatusCode.UNAVAILABLE]
    logs.lose_replies = True
    async with writing(logs.endpoint) as writer:
        writer.sink.write(make())
        writer.sink.write(make(request_id="2"))
        await logs.until(lambda: len(logs.calls) == 2)
    first, second = ([(entry.insert_id, entry.timestamp) for entry in call.entries] for call in logs.calls)
    assert first == second
    assert writer.sink.counts == WriterCounts(written=2, failed_calls=1)


async def test_trouble_is_told_once_with_what_to_do_and_so_is_its_end(logs: LoggingServer) -> None:
    logs.failures = [grpc.StatusCode.PERMISSION_DENIED] * 3
    async with writing(logs.endpoint) as writer:
        writer.sink.write(make())
        await logs.until(lambda: len(logs.entries) == 1)
    trouble, end = writer.troubles
    assert trouble == (
        f"not allowed to write {LOG} (as the test wants it); grant roles/logging.logWriter to the operator's service "
        "account"
    )
    assert end == ""


async def test_what_is_refused_for_good_is_not_sent_again(logs: LoggingServer) -> None:
    logs.failures = [grpc.StatusCode.INVALID_ARGUMENT]
    async with writing(logs.endpoint) as writer:
        writer.sink.write(make())
        await writer.trouble()
        writer.sink.write(make(request_id="2"))
        await logs.until(lambda: len(logs.entries) == 1)
    assert [entry.insert_id for entry in logs.entries] == [make(request_id="2").insert_id]
    assert writer.sink.counts == WriterCounts(written=1, refused_batches=1)


async def test_a_full_buffer_drops_and_counts_and_never_blocks() -> None:
    writer = Writer("127.0.0.1:1", replace(QUICK, buffer=3))
    for number in range(5):
        writer.sink.write(make(request_id=str(number)))
    assert (writer.sink.waiting, writer.sink.counts.dropped) == (3, 2)
    await writer.sink.close(1)
    assert (writer.sink.waiting, writer.sink.counts.dropped) == (0, 5)


async def test_an_absent_service_is_waited_for(logs: LoggingServer) -> None:
    await logs.stop()
    async with writing(logs.endpoint) as writer:
        writer.sink.write(make())
        await writer.trouble()
        await logs.start()
        await logs.until(lambda: len(logs.entries) == 1)
    assert writer.troubles[0].startswith(f"Cloud Logging cannot be reached to write {LOG} (")


async def test_close_sends_what_waits(logs: LoggingServer) -> None:
    async with writing(logs.endpoint, replace(QUICK, interval=60)) as writer:
        for number in range(500):
            writer.sink.write(make(request_id=str(number)))
    assert len(logs.entries) == 500
    assert writer.sink.counts == WriterCounts(written=500)


async def test_close_is_bounded_and_counts_what_it_must_leave(logs: LoggingServer, clock: LoopClock) -> None:
    logs.mute = True
    began = clock.monotonic()
    async with writing(logs.endpoint, grace=0.2) as writer:
        writer.sink.write(make())
    assert clock.monotonic() - began < 1
    assert writer.sink.counts == WriterCounts(dropped=1)
    writer.sink.write(make())
    assert writer.sink.counts == WriterCounts(dropped=2)


async def test_a_write_ahead_line_is_not_sent(logs: LoggingServer) -> None:
    async with writing(logs.endpoint) as writer:
        writer.sink.write(make(outcome=Outcome.BEGUN))
        writer.sink.write(make())
    assert [entry.insert_id for entry in logs.entries] == [make().insert_id]


async def test_the_canary_goes_to_its_own_log(logs: LoggingServer) -> None:
    at = datetime(2026, 1, 2, tzinfo=UTC)
    async with writing(logs.endpoint) as writer:
        writer.sink.write_entry(canary_entry("example-project", "prod-1", "operator-0", at))
    (entry,) = logs.entries
    assert (entry.log_name, dict(entry.json_payload), entry.resource.type, entry.timestamp) == (
        "projects/example-project/logs/tpu-node-group-canary",
        {"cluster": "prod-1", "instance": "operator-0"},
        "global",
        at,
    )


@pytest.mark.parametrize(
    "entry", [{}, {"logName": "x", "resource": {"type": "global"}, "jsonPayload": {"a": object()}}]
)
async def test_an_entry_that_is_none_is_dropped_and_counted(entry: dict[str, object]) -> None:
    writer = Writer("127.0.0.1:1", QUICK)
    writer.sink.write_entry(entry)
    assert (writer.sink.waiting, writer.sink.counts) == (0, WriterCounts(dropped=1))
