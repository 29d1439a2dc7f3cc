"""Cloud Logging on the wire, through the real client."""

import json

import aiohttp
import pytest
from aiohttp import web
from google.api_core import exceptions
from google.cloud.logging_v2.services.logging_service_v2 import LoggingServiceV2AsyncClient
from google.cloud.logging_v2.types import WriteLogEntriesPartialErrors
from google.logging.type.log_severity_pb2 import ERROR  # type: ignore[import-untyped]

from simulator.logging.face import LoggingFace
from tests.simulator.logging.conftest import Logs, audit

LOG = "projects/my-gcp-project/logs/tpu-node-group-actions"
GLOBAL = {"type": "global"}


def entry(text: str, **fields: object) -> dict[str, object]:
    return {"insert_id": text, "text_payload": text, "timestamp": {"seconds": 1_700_000_000}, **fields}


async def texts(client: LoggingServiceV2AsyncClient, query: str, **more: object) -> list[str]:
    request = {"resource_names": ["projects/my-gcp-project"], "filter": query, **more}
    return [found.text_payload async for found in await client.list_log_entries(request=request)]


async def test_written_entries_are_listed_by_filter_without_duplicates(client: LoggingServiceV2AsyncClient) -> None:
    entries = [entry("one"), entry("two", severity=ERROR), entry("one")]
    request = {"log_name": LOG, "resource": GLOBAL, "labels": {"a": "b"}, "entries": entries}
    await client.write_log_entries(request=request)
    assert await texts(client, 'log_id("tpu-node-group-actions")') == ["one", "two"]
    assert await texts(client, "severity>=ERROR labels.a=b") == ["two"]
    assert await texts(client, "", page_size=1, order_by="timestamp desc") == ["one", "two"]
    assert await texts(client, "", resource_names=["projects/other"]) == []


async def test_whole_numbers_of_a_payload_show_without_a_fraction(
    logs: Logs, client: LoggingServiceV2AsyncClient
) -> None:
    written = {"log_name": LOG, "json_payload": {"generation": 1, "latency": 0.5, "list": [2]}}
    await client.write_log_entries(request={"resource": GLOBAL, "entries": [written]})
    shown = logs.router.records.shown(full=True, last=1)[0]
    assert (shown["event"], json.dumps(shown["entry"]["jsonPayload"], sort_keys=True)) == (
        "",
        '{"generation": 1, "latency": 0.5, "list": [2]}',
    )


async def test_an_audit_entry_of_the_world_survives_the_way_through_protobuf(
    logs: Logs, client: LoggingServiceV2AsyncClient
) -> None:
    logs.router.write(audit("vm-1"))
    listed = [
        found
        async for found in await client.list_log_entries(
            request={"resource_names": ["projects/my-gcp-project"], "filter": "protoPayload.methodName:insert"}
        )
    ]
    assert [(found.insert_id, found.operation.last) for found in listed] == [("id-vm-1", True)]
    assert listed[0].proto_payload.type_url == "type.googleapis.com/google.cloud.audit.AuditLog"


async def test_one_bad_entry_refuses_all_unless_partial_success_is_asked_for(
    client: LoggingServiceV2AsyncClient,
) -> None:
    entries = [entry("good"), entry("bad", log_name="nonsense")]
    request = {"log_name": LOG, "resource": GLOBAL, "entries": entries}
    with pytest.raises(exceptions.InvalidArgument, match="is not of the form projects/<project>/logs/"):
        await client.write_log_entries(request=request)
    assert await texts(client, "") == []
    with pytest.raises(exceptions.InvalidArgument) as refusal:
        await client.write_log_entries(request=request | {"partial_success": True})
    assert await texts(client, "") == ["good"]
    errors = WriteLogEntriesPartialErrors.pb()()
    refusal.value.details[0].Unpack(errors)
    assert sorted(errors.log_entry_errors) == [1]
    with pytest.raises(exceptions.InvalidArgument):
        await client.write_log_entries(request={"log_name": LOG, "resource": GLOBAL})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"log_name": "projects/p/logs/cloudaudit.googleapis.com%2Factivity"}, "Audit logs cannot be written to"),
        ({"text_payload": "x" * 300_000}, "exceeds maximum size of 256.0K"),
    ],
)
async def test_what_cloud_logging_refuses_is_refused(
    client: LoggingServiceV2AsyncClient, changes: dict[str, object], message: str
) -> None:
    request = {"log_name": LOG, "resource": GLOBAL, "entries": [entry("x") | changes]}
    with pytest.raises(exceptions.InvalidArgument, match=message):
        await client.write_log_entries(request=request)


async def test_a_wrong_filter_is_refused(client: LoggingServiceV2AsyncClient) -> None:
    with pytest.raises(exceptions.InvalidArgument, match="a log entry has no field thud"):
        await texts(client, "thud=1")


async def test_a_planned_fault_hits_a_write(logs: Logs, client: LoggingServiceV2AsyncClient) -> None:
    logs.faults.plan({"method": "LoggingServiceV2.WriteLogEntries", "effect": "error-after", "code": 503})
    request = {"log_name": LOG, "resource": GLOBAL, "entries": [entry("x")]}
    with pytest.raises(exceptions.ServiceUnavailable):
        await client.write_log_entries(request=request, retry=None)
    assert await texts(client, "") == ["x"]
    row = {"caller": "anonymous", "api": "logging", "method": "LoggingServiceV2.WriteLogEntries"}
    assert row | {"code": "UNAVAILABLE", "effect": "changed", "count": 1} in logs.calls.rows()


async def test_a_vm_writes_over_rest(logs: Logs) -> None:
    application = web.Application()
    application.add_routes(LoggingFace(logs.router, logs.router.records, logs.calls, logs.faults).routes())
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/v2/entries:write"
    body = {
        "entries": [
            {
                "logName": "projects/my-gcp-project/logs/tpu-node-bootstrap",
                "resource": {"type": "gce_instance", "labels": {"instance_id": "1"}},
                "severity": "INFO",
                "jsonPayload": {"instance": "vm-1", "step": "booted"},
            }
        ]
    }
    async with aiohttp.ClientSession() as session:
        async with session.post(url, json=body, headers={"Authorization": "Bearer x"}) as answer:
            assert (answer.status, await answer.json()) == (200, {})
        for wrong in ('{"entries": [{"logName": "x"}]}', "nonsense", "[]", "{}"):
            async with session.post(url, data=wrong) as answer:
                assert (answer.status, (await answer.json())["error"]["status"]) == (400, "INVALID_ARGUMENT")
        logs.faults.plan({"method": "LoggingServiceV2.WriteLogEntries", "effect": "error-before", "code": 503})
        async with session.post(url, json=body) as answer:
            assert answer.status == 503
    await runner.cleanup()
    assert [record["event"] for record in logs.router.records.shown(full=False, last=5)] == ["instance.bootstrap"]
