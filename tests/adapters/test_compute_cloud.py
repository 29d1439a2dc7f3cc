"""The port `Cloud`, through the real google-cloud-compute client, against a server that answers REST JSON."""

import traceback
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import SecretStr

from controller.adapters.compute import ComputeCloud
from controller.core.failures import Bug, Conflict, Gone, NoCapacity, Rejected, Retry
from controller.core.model import Kind
from controller.core.observed import (
    Instance,
    ManagedInstance,
    Metadata,
    MigView,
    OperationError,
    OperationView,
    ResourceRef,
    ResourceView,
    TemplateView,
)
from tests.adapters.fakes import FakeClock, NoJitter
from tests.adapters.scripted_server import ScriptedServer

ROOT = "/compute/v1/projects/p"
ZONE = f"{ROOT}/zones/us-east5-a"
MIG = ResourceRef(Kind.MIG, "p", "us-east5-a", "slice-mig-01234567")
POLICY = ResourceRef(Kind.POLICY, "p", "us-east5", "slice-policy-01234567")
TEMPLATE = ResourceRef(Kind.TEMPLATE, "p", "global", "slice-template-01234567")
REGIONAL = ResourceRef(Kind.TEMPLATE, "p", "us-east5", "mine")
MIG_PATH = f"{ZONE}/instanceGroupManagers/{MIG.name}"
VM_PATH = f"{ZONE}/instances/vm-0"
REQUEST = "0b7e4b60-5d0f-4c9f-9e50-3a1a5a0b7f11"
TOKEN = "abcdef.0123456789abcdef"

OPERATION = {
    "kind": "compute#operation",
    "id": "4601850174529829561",
    "name": "operation-1",
    "operationType": "insert",
    "status": "RUNNING",
    "targetId": "7000000000000000001",
}
ACCEPTED = OperationView("operation-1", done=False, operation_type="insert", target_id="7000000000000000001")


@pytest.fixture
def calls() -> list[tuple[str, str]]:
    return []


@pytest.fixture
async def cloud(server: ScriptedServer, calls: list[tuple[str, str]]) -> AsyncIterator[ComputeCloud]:
    def observe(method: str, code: str, seconds: float) -> None:
        assert seconds >= 0
        calls.append((method, code))

    opened = ComputeCloud(FakeClock(), NoJitter(), endpoint=server.url, threads=2, timeout=30.0, observe=observe)
    await opened.open()
    yield opened
    await opened.close()


def refusal(code: int, reason: str, message: str) -> dict[str, Any]:
    """The error JSON of Compute Engine (facts: GCE 2, last point)."""
    errors = [{"message": message, "domain": "global", "reason": reason}]
    return {"error": {"code": code, "message": message, "errors": errors}}


def an_instance(items: dict[str, str]) -> Instance:
    created = datetime(2026, 12, 1, 12, 3, 2, tzinfo=UTC)
    return Instance("p", "us-east5-a", "vm-0", "1", "RUNNING", created, created, Metadata(items, "fp-1"))


async def test_a_policy_is_read_with_its_status(cloud: ComputeCloud, server: ScriptedServer) -> None:
    body = {"id": "12", "selfLink": "https://x/policy", "description": "mine", "status": "READY", "unheardOf": 1}
    server.answer("GET", f"{ROOT}/regions/us-east5/resourcePolicies/{POLICY.name}", body)
    assert await cloud.get(POLICY) == ResourceView(POLICY, "12", "mine", status="READY")


async def test_a_template_is_read_with_what_is_checked_of_a_brought_one(
    cloud: ComputeCloud, server: ScriptedServer
) -> None:
    properties = {
        "machineType": "tpu7x-standard-4t",
        "scheduling": {
            "provisioningModel": "SPOT",
            "onHostMaintenance": "TERMINATE",
            "instanceTerminationAction": "STOP",
        },
        "serviceAccounts": [{"email": "nodes@p.iam.gserviceaccount.com", "scopes": ["x"]}],
    }
    server.answer("GET", f"{ROOT}/global/instanceTemplates/{TEMPLATE.name}", {"id": "3", "properties": properties})
    view = TemplateView("tpu7x-standard-4t", "SPOT", "TERMINATE", "STOP", has_scheduling=True)
    assert await cloud.get(TEMPLATE) == ResourceView(TEMPLATE, "3", template=view)


async def test_a_regional_template_without_scheduling_says_so(cloud: ComputeCloud, server: ScriptedServer) -> None:
    body = {"id": "3", "properties": {"machineType": "ct6e-standard-4t"}}
    server.answer("GET", f"{ROOT}/regions/us-east5/instanceTemplates/mine", body)
    view = TemplateView("ct6e-standard-4t", "", "", "", has_scheduling=False)
    assert await cloud.get(REGIONAL) == ResourceView(REGIONAL, "3", template=view)


async def test_a_mig_is_read_with_its_counts_its_bulk_request_and_its_topologies(
    cloud: ComputeCloud, server: ScriptedServer
) -> None:
    status = {
        "isStable": False,
        "currentInstanceStatuses": {"running": 1, "nonExistent": 3, "staging": 0},
        "bulkInstanceOperation": {
            "inProgress": True,
            "lastProgressCheck": {
                "error": {"errors": [{"code": "ZONE_RESOURCE_POOL_EXHAUSTED", "message": "none left"}]}
            },
        },
        "appliedAcceleratorTopologies": [{"acceleratorTopology": "2x2x2", "state": "ACTIVATING"}],
    }
    body = {
        "id": "5",
        "selfLink": "https://x/mig",
        "targetSize": 4,
        "targetSizePolicy": {"mode": "BULK"},
        "baseInstanceName": "slice-mig-01234567",
        "instanceTemplate": "https://x/template",
        "status": status,
    }
    server.answer("GET", MIG_PATH, body)
    view = MigView(
        target_size=4,
        is_stable=False,
        counts={"running": 1, "nonExistent": 3},
        bulk_in_progress=True,
        bulk_error=OperationError("ZONE_RESOURCE_POOL_EXHAUSTED", "none left"),
        topologies={"2x2x2": "ACTIVATING"},
        is_bulk=True,
    )
    assert await cloud.get(MIG) == ResourceView(MIG, "5", mig=view)


async def test_what_is_not_there_is_none(
    cloud: ComputeCloud, server: ScriptedServer, calls: list[tuple[str, str]]
) -> None:
    server.answer("GET", MIG_PATH, refusal(404, "notFound", "The resource was not found"), 404)
    server.answer("GET", VM_PATH, refusal(404, "notFound", "The resource was not found"), 404)
    server.answer("GET", f"{ZONE}/operations/o", refusal(404, "notFound", "The resource was not found"), 404)
    found = [
        await cloud.get(MIG),
        await cloud.get_instance("p", "us-east5-a", "vm-0"),
        await cloud.get_operation(MIG, "o"),
    ]
    assert found == [None, None, None]
    assert calls == [
        ("instanceGroupManagers.get", "404 notFound"),
        ("instances.get", "404 notFound"),
        ("zoneOperations.get", "404 notFound"),
    ]


@pytest.mark.parametrize(
    ("ref", "collection", "body"),
    [
        (
            POLICY,
            f"{ROOT}/regions/us-east5/resourcePolicies",
            {"name": "n", "workloadPolicy": {"type": "HIGH_THROUGHPUT"}},
        ),
        (
            TEMPLATE,
            f"{ROOT}/global/instanceTemplates",
            {"name": "n", "properties": {"machineType": "ct6e-standard-4t"}},
        ),
        (MIG, f"{ZONE}/instanceGroupManagers", {"name": "n", "targetSize": 2, "targetSizePolicy": {"mode": "BULK"}}),
    ],
)
async def test_an_insert_sends_the_body_as_it_is_with_the_request_id(
    ref: ResourceRef, collection: str, body: dict[str, Any], cloud: ComputeCloud, server: ScriptedServer
) -> None:
    server.answer("POST", collection, OPERATION)
    assert await cloud.insert(ref, body, REQUEST) == ACCEPTED
    [asked] = server.asked
    assert (asked.body, asked.query) == (body, {"requestId": REQUEST})


async def test_a_field_that_the_api_does_not_have_is_a_bug_and_no_call(
    cloud: ComputeCloud, server: ScriptedServer
) -> None:
    with pytest.raises(Bug, match='has no field named "targetsize"'):
        await cloud.insert(MIG, {"name": "n", "targetsize": 2}, REQUEST)
    assert server.asked == []


async def test_an_insert_that_refers_to_what_is_not_there_is_rejected(
    cloud: ComputeCloud, server: ScriptedServer
) -> None:
    message = "The resource 'projects/p/global/networks/nope' was not found"
    server.answer("POST", f"{ZONE}/instanceGroupManagers", refusal(404, "notFound", message), 404)
    with pytest.raises(Rejected, match=r"networks/nope.*What it refers to is not there"):
        await cloud.insert(MIG, {"name": "n"}, REQUEST)


async def test_a_delete_of_what_is_not_there_is_gone(cloud: ComputeCloud, server: ScriptedServer) -> None:
    server.answer("DELETE", MIG_PATH, refusal(404, "notFound", "The resource was not found"), 404)
    with pytest.raises(Gone):
        await cloud.delete(MIG, REQUEST)


async def test_a_delete_carries_its_request_id(cloud: ComputeCloud, server: ScriptedServer) -> None:
    server.answer(
        "DELETE", f"{ROOT}/global/instanceTemplates/{TEMPLATE.name}", {**OPERATION, "operationType": "delete"}
    )
    accepted = await cloud.delete(TEMPLATE, REQUEST)
    assert (accepted.operation_type, server.asked[0].query) == ("delete", {"requestId": REQUEST})


@pytest.mark.parametrize(
    ("ref", "path"),
    [
        (MIG, f"{ZONE}/operations/operation-1"),
        (POLICY, f"{ROOT}/regions/us-east5/operations/operation-1"),
        (REGIONAL, f"{ROOT}/regions/us-east5/operations/operation-1"),
        (TEMPLATE, f"{ROOT}/global/operations/operation-1"),
    ],
)
async def test_an_operation_is_read_where_its_resource_is(
    ref: ResourceRef, path: str, cloud: ComputeCloud, server: ScriptedServer
) -> None:
    server.answer("GET", path, {**OPERATION, "status": "DONE"})
    found = await cloud.get_operation(ref, "operation-1")
    assert found == OperationView("operation-1", done=True, operation_type="insert", target_id="7000000000000000001")


async def test_a_failed_operation_tells_its_first_error_or_else_its_status(
    cloud: ComputeCloud, server: ScriptedServer
) -> None:
    errors = [{"code": "QUOTA_EXCEEDED", "message": "Quota exceeded."}, {"code": "X", "message": "x"}]
    path = f"{ZONE}/operations/operation-1"
    server.answer("GET", path, {**OPERATION, "status": "DONE", "error": {"errors": errors}, "httpErrorStatusCode": 403})
    server.answer("GET", path, {**OPERATION, "status": "DONE", "httpErrorStatusCode": 412, "httpErrorMessage": "stale"})
    found = [await cloud.get_operation(MIG, "operation-1") for _ in range(2)]
    assert [view.error for view in found if view] == [
        OperationError("QUOTA_EXCEEDED", "Quota exceeded."),
        OperationError("412", "stale"),
    ]


async def test_all_pages_of_managed_instances_are_read(cloud: ComputeCloud, server: ScriptedServer) -> None:
    path = f"{MIG_PATH}/listManagedInstances"
    first = {"name": "vm-0", "id": "11", "instanceStatus": "RUNNING", "currentAction": "NONE"}
    errors = {"errors": [{"code": "QUOTA_EXCEEDED", "message": "no"}]}
    second = {
        "instance": "https://x/zones/us-east5-a/instances/vm-1",
        "currentAction": "CREATING",
        "lastAttempt": {"errors": errors},
    }
    server.answer("POST", path, {"managedInstances": [first], "nextPageToken": "t2"})
    server.answer("POST", path, {"managedInstances": [second]})
    assert await cloud.list_managed_instances(MIG) == (
        ManagedInstance("vm-0", "11", "RUNNING"),
        ManagedInstance("vm-1", "", "", (OperationError("QUOTA_EXCEEDED", "no"),)),
    )
    assert [dict(asked.query) for asked in server.asked] == [
        {"maxResults": "500", "pageToken": ""},
        {"maxResults": "500", "pageToken": "t2"},
    ]


async def test_instances_are_listed_by_prefix_page_by_page_with_their_metadata(
    cloud: ComputeCloud, server: ScriptedServer
) -> None:
    vm = {
        "id": "18446744073709551615",
        "name": "vm-0",
        "status": "RUNNING",
        "creationTimestamp": "2026-12-01T04:03:02.123-08:00",
        "lastStartTimestamp": "2026-12-01T04:05:00.000-08:00",
        "fingerprint": "not-this-one",
        "metadata": {"fingerprint": "fp-1", "items": [{"key": "kubeadm-join-token", "value": TOKEN}]},
        "serviceAccounts": [{"email": "nodes@p.iam.gserviceaccount.com"}],
    }
    other = {"id": "2", "name": "vm-1", "status": "PENDING", "creationTimestamp": "2026-12-01T12:00:00Z"}
    server.answer("GET", f"{ZONE}/instances", {"items": [vm], "nextPageToken": "t2"})
    server.answer("GET", f"{ZONE}/instances", {"items": [other]})
    created = datetime(2026, 12, 1, 12, 3, 2, 123000, tzinfo=UTC)
    started = datetime(2026, 12, 1, 12, 5, tzinfo=UTC)
    noon = datetime(2026, 12, 1, 12, tzinfo=UTC)
    found = await cloud.list_instances("p", "us-east5-a", "slice-mig")
    assert found == (
        Instance("p", "us-east5-a", "vm-0", "18446744073709551615", "RUNNING", created, started, found[0].metadata),
        Instance("p", "us-east5-a", "vm-1", "2", "PENDING", noon, None, found[1].metadata),
    )
    assert (dict(found[0].metadata), found[0].metadata.fingerprint) == ({"kubeadm-join-token": TOKEN}, "fp-1")
    assert (dict(found[1].metadata), found[1].metadata.fingerprint) == ({}, "")
    assert [asked.query for asked in server.asked] == [
        {"filter": 'name eq "slice-mig.*"', "maxResults": "500", "pageToken": ""},
        {"filter": 'name eq "slice-mig.*"', "maxResults": "500", "pageToken": "t2"},
    ]


async def test_metadata_is_merged_under_its_fingerprint(cloud: ComputeCloud, server: ScriptedServer) -> None:
    server.answer("POST", f"{VM_PATH}/setMetadata", {**OPERATION, "operationType": "setMetadata"})
    changes: dict[str, SecretStr | str | None] = {
        "kubeadm-join-token": SecretStr(TOKEN),
        "kubeadm-ca-hash": "sha256:1",
        "old": None,
    }
    vm = an_instance({"tpu-env": "X", "old": "gone soon", "kubeadm-ca-hash": "sha256:0"})
    accepted = await cloud.set_metadata(vm, changes)
    assert accepted is not None
    assert accepted.target_id == "7000000000000000001"
    assert server.asked[0].body == {
        "fingerprint": "fp-1",
        "items": [
            {"key": "tpu-env", "value": "X"},
            {"key": "kubeadm-ca-hash", "value": "sha256:1"},
            {"key": "kubeadm-join-token", "value": TOKEN},
        ],
    }


async def test_metadata_that_is_there_already_is_not_written(cloud: ComputeCloud, server: ScriptedServer) -> None:
    vm = an_instance({"kubeadm-join-token": TOKEN})
    assert await cloud.set_metadata(vm, {"kubeadm-join-token": SecretStr(TOKEN), "absent": None}) is None
    assert server.asked == []


@pytest.mark.parametrize(
    ("status", "reason", "message"),
    [
        (412, "conditionNotMet", "Supplied fingerprint does not match current metadata fingerprint."),
        (400, "invalid", "Invalid fingerprint."),
    ],
)
async def test_a_stale_fingerprint_is_a_conflict_in_each_of_its_shapes(
    status: int, reason: str, message: str, cloud: ComputeCloud, server: ScriptedServer
) -> None:
    server.answer("POST", f"{VM_PATH}/setMetadata", refusal(status, reason, message), status)
    with pytest.raises(Conflict, match=r"instances.setMetadata of projects/p/zones/us-east5-a/instances/vm-0"):
        await cloud.set_metadata(an_instance({}), {"a": "b"})


async def test_no_token_is_in_the_message_of_a_refused_injection(cloud: ComputeCloud, server: ScriptedServer) -> None:
    message = f"Invalid value for field 'metadata.items[0].value': '{TOKEN}'."
    server.answer("POST", f"{VM_PATH}/setMetadata", refusal(400, "invalid", message), 400)
    with pytest.raises(Rejected) as refused:
        await cloud.set_metadata(an_instance({}), {"kubeadm-join-token": SecretStr(TOKEN)})
    assert TOKEN not in "".join(traceback.format_exception(refused.value))


async def test_an_unavailable_service_is_not_retried_by_the_library(
    cloud: ComputeCloud, server: ScriptedServer
) -> None:
    server.answer("GET", MIG_PATH, refusal(503, "backendError", "Backend Error"), 503)
    with pytest.raises(Retry):
        await cloud.get(MIG)
    assert len(server.asked) == 1


async def test_a_rate_limit_waits_until_the_next_minute(cloud: ComputeCloud, server: ScriptedServer) -> None:
    server.answer("GET", MIG_PATH, refusal(403, "rateLimitExceeded", "Quota exceeded for reads"), 403)
    with pytest.raises(Retry) as refused:
        await cloud.get(MIG)
    # The clock stands at 10:00:50; three seconds are the jitter's base.
    assert refused.value.after.total_seconds() == 13


async def test_a_stockout_in_an_answer_is_no_capacity(cloud: ComputeCloud, server: ScriptedServer) -> None:
    message = "The zone 'us-east5-a' does not have enough resources available to fulfill the request."
    server.answer("POST", f"{ZONE}/instanceGroupManagers", refusal(503, "backendError", message), 503)
    with pytest.raises(NoCapacity):
        await cloud.insert(MIG, {"name": "n"}, REQUEST)


async def test_no_server_is_a_retry_that_says_why() -> None:
    cloud = ComputeCloud(FakeClock(), NoJitter(), endpoint="http://127.0.0.1:1", threads=1, timeout=5.0)
    await cloud.open()
    with pytest.raises(Retry, match=r"got no answer: .*Connection refused"):
        await cloud.get(MIG)
    await cloud.close()


async def test_a_call_before_opening_is_our_bug() -> None:
    with pytest.raises(Bug, match="before its client was opened"):
        await ComputeCloud(FakeClock(), NoJitter()).get(MIG)


async def test_missing_credentials_are_rejected_with_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "nowhere.json"))
    cloud = ComputeCloud(FakeClock(), NoJitter(), threads=1)
    with pytest.raises(Rejected, match="Check the credentials of the operator"):
        await cloud.open()
    await cloud.close()
