"""The wire: paging, filters, planned faults, quotas, permissions, operations, and who is said to call."""

import asyncio
from typing import Any

import aiohttp
import pytest
from google.api_core import exceptions
from google.cloud import compute_v1

from simulator.compute.filters import matching
from simulator.compute.quota import RateLimits, RateQuota
from simulator.seams import Json, PlannedFault
from simulator.world import ApiError
from tests.simulator.compute.bench import OPERATOR, PROJECT, PROPERTIES, TEMPLATE, ZONE, Bench, Start, put_ready, wall

GROUP: dict[str, Any] = {"project": PROJECT, "zone": ZONE, "instance_group_manager": "group"}


async def _no_release() -> None:
    """A fault that holds nothing."""


def _fault(effect: Any, code: str = "503") -> PlannedFault:
    return PlannedFault(effect, code, 1.0, _no_release)


async def test_lists_come_in_pages_and_the_client_walks_them(bench: Bench) -> None:
    await bench.insert_group(target_size=5)
    await bench.running(5)
    request = {"project": PROJECT, "zone": ZONE, "max_results": 2}
    names = [vm.name for vm in await bench.listed(bench.instances.list, request=request)]
    assert names == sorted(vm.name for vm in bench.world.machines.everything())
    assert [method for method, _, _ in bench.calls.seen].count("instances.list") == 4
    with pytest.raises(exceptions.BadRequest):
        await bench.call(bench.instances.list, request={**request, "max_results": 501})


@pytest.mark.parametrize(("mode", "calls"), [("PAGELESS", 1), ("PAGINATED", 3)])
async def test_managed_instances_are_paged_only_where_the_group_says_so(bench: Bench, mode: str, calls: int) -> None:
    await bench.insert_group(target_size=5, list_managed_instances_results=mode)
    rows = await bench.listed(bench.groups.list_managed_instances, request={**GROUP, "max_results": 2})
    assert len({row.name for row in rows}) == 5
    assert [method for method, _, _ in bench.calls.seen].count("instanceGroupManagers.listManagedInstances") == calls


ITEMS: list[Json] = [{"name": "a-1", "status": "RUNNING"}, {"name": "a-2", "status": "STAGING"}, {"name": "b-1"}]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ["a-1", "a-2", "b-1"]),
        ('name eq "a-.*"', ["a-1", "a-2"]),
        ("name eq a-.*", ["a-1", "a-2"]),
        ('name ne "a-.*"', ["b-1"]),
        ('name="a-1"', ["a-1"]),
        ("name = a-1", ["a-1"]),
        ('name != "a-1"', ["a-2", "b-1"]),
        ("name:a-*", ["a-1", "a-2"]),
        ("(name:a-*) AND (status = RUNNING)", ["a-1"]),
    ],
)
def test_a_filter_admits(text: str, names: list[str]) -> None:
    assert [item["name"] for item in matching(ITEMS, text)] == names


@pytest.mark.parametrize(
    "text", ["name", "labels.x=1", 'name eq "("', "name=a OR name=b", "scheduling.preemptible=true"]
)
def test_a_filter_that_is_not_supported_is_refused(text: str) -> None:
    with pytest.raises(ApiError) as caught:
        matching(ITEMS, text)
    assert (caught.value.code, caught.value.reason) == (400, "invalid")


async def test_a_filter_reaches_the_server(bench: Bench) -> None:
    await bench.insert_group(target_size=2)
    await bench.insert_group(name="other", target_size=1)
    await bench.running(3)
    request = {"project": PROJECT, "zone": ZONE, "filter": 'name eq "group-.*"'}
    assert len(await bench.listed(bench.instances.list, request=request)) == 2
    zones = await bench.listed(bench.instances.aggregated_list, project=PROJECT)
    assert {zone: len(scoped.instances) for zone, scoped in zones} == {f"zones/{ZONE}": 3}


async def test_an_error_before_changes_nothing_and_an_error_after_has_changed_it(bench: Bench) -> None:
    bench.faults.planned["instanceGroupManagers.insert"] = _fault("error-before")
    with pytest.raises(exceptions.ServiceUnavailable):
        await bench.insert_group()
    assert bench.world.groups.everything() == []
    bench.faults.planned["instanceGroupManagers.insert"] = _fault("error-after", "500")
    with pytest.raises(exceptions.InternalServerError):
        await bench.insert_group()
    assert [group.name for group in bench.world.groups.everything()] == ["group"]
    assert bench.calls.seen == [
        ("instanceGroupManagers.insert", "503", "none"),
        ("instanceGroupManagers.insert", "500", "changed"),
    ]


async def test_hold_after_takes_effect_and_withholds_the_reply_until_released(bench: Bench) -> None:
    let_go = asyncio.Event()

    async def release() -> None:
        await let_go.wait()

    bench.faults.planned["instanceGroupManagers.insert"] = PlannedFault("hold-after", "200", 0.0, release)
    waiting = asyncio.create_task(bench.insert_group())
    await bench.until(lambda: len(bench.world.groups.everything()) == 1)
    assert not waiting.done()
    let_go.set()
    assert (await waiting).operation_type == "insert"


async def test_latency_delays_and_then_answers(bench: Bench) -> None:
    bench.faults.planned["instances.list"] = _fault("latency")
    assert await bench.listed(bench.instances.list, project=PROJECT, zone=ZONE) == []


async def test_over_its_quota_a_call_answers_403_rate_limit_exceeded(start: Start) -> None:
    bench = await start(quota=RateQuota(lambda: OPENING, RateLimits(reads=1)))
    await bench.listed(bench.instances.list, project=PROJECT, zone=ZONE)
    with pytest.raises(exceptions.Forbidden) as caught:
        await bench.listed(bench.instances.list, project=PROJECT, zone=ZONE)
    assert caught.value.errors[0]["reason"] == "rateLimitExceeded"
    assert caught.value.errors[0]["domain"] == "usageLimits"


OPENING = wall()


async def test_a_missing_permission_is_named_and_leaves_one_entry(start: Start) -> None:
    def allowed(_principal: str, permission: str) -> bool:
        return permission != "compute.instanceGroups.delete"

    bench = await start(allowed=allowed)
    put_ready(bench)
    await bench.insert_group(target_size=0)
    with pytest.raises(exceptions.Forbidden) as caught:
        await bench.call(bench.groups.delete_unary, **GROUP)
    assert "Required 'compute.instanceGroups.delete' permission" in str(caught.value)
    (entry,) = bench.log.of("instanceGroupManagers.delete")
    assert (entry["severity"], entry["protoPayload"]["status"]["code"], "operation" in entry) == ("ERROR", 7, False)


async def test_an_operation_is_read_while_it_runs_and_after(bench: Bench) -> None:
    made = await bench.insert_group(target_size=0)
    client = bench.client(compute_v1.ZoneOperationsClient)
    place = {"project": PROJECT, "zone": ZONE}
    early = await bench.call(client.get, operation=made.name, **place)
    assert early.status != compute_v1.Operation.Status.DONE
    late = await bench.done(made)
    assert (late.status, late.progress) == (compute_v1.Operation.Status.DONE, 100)
    assert late.end_time > late.insert_time
    with pytest.raises(exceptions.NotFound):
        await bench.call(client.get, operation="operation-unknown", **place)


async def test_the_bearer_tokens_principal_is_the_caller_and_no_other_token_is_shown(bench: Bench) -> None:
    url = f"{bench.url}/compute/v1/projects/{PROJECT}/zones/{ZONE}/instanceGroupManagers"
    body = {"name": "group", "targetSize": 0, "instanceTemplate": TEMPLATE}
    async with aiohttp.ClientSession() as session:
        for token, name in ((OPERATOR.principal, "group"), ("opaque-secret", "other")):
            headers = {"Authorization": f"Bearer {token}"}
            async with session.post(url, json={**body, "name": name}, headers=headers) as answer:
                assert answer.status == 200
    assert bench.calls.callers == {OPERATOR.principal, "anonymous"}
    principals = [entry["protoPayload"]["authenticationInfo"] for entry in bench.log.of("instanceGroupManagers.insert")]
    assert {"principalEmail": OPERATOR.principal} in principals
    assert {} in principals
    assert "opaque-secret" not in str(bench.log.entries)


@pytest.mark.parametrize("path", ["/", "/compute/v1/projects", f"/compute/v1/projects/{PROJECT}/zones/{ZONE}/disks"])
async def test_an_unknown_path_answers_404_as_json(bench: Bench, path: str) -> None:
    async with aiohttp.ClientSession() as session, session.get(bench.url + path) as answer:
        assert answer.status == 404
        body = await answer.json()
    assert body["error"]["errors"][0]["reason"] == "notFound"


async def test_a_body_that_is_not_json_is_refused(bench: Bench) -> None:
    url = f"{bench.url}/compute/v1/projects/{PROJECT}/zones/{ZONE}/instanceGroupManagers"
    async with aiohttp.ClientSession() as session:
        for data in (b"{", b"[]"):
            async with session.post(url, data=data) as answer:
                assert answer.status == 400
    assert PROPERTIES["machineType"] in str(bench.world.compute_state())
