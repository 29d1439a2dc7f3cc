"""The life of policy, template, group and VMs as the real client sees it."""

from typing import Any

import pytest
from google.api_core import exceptions
from google.cloud import compute_v1

from simulator.timing import Timings
from simulator.world import WorldSettings
from tests.simulator.compute.bench import (
    BULK,
    POLICY,
    PROJECT,
    PROPERTIES,
    REGION,
    TEMPLATE,
    ZONE,
    Bench,
    Start,
    put_ready,
)


async def _make_parts(bench: Bench) -> None:
    policy = compute_v1.ResourcePolicy(
        {
            "name": "policy",
            "description": "ours",
            "workload_policy": {"type_": "HIGH_THROUGHPUT", "accelerator_topology": "2x2x2"},
        }
    )
    insert_policy = bench.policies.insert_unary
    made = await bench.call(insert_policy, project=PROJECT, region=REGION, resource_policy_resource=policy)
    scheduling = {"provisioning_model": "STANDARD", "on_host_maintenance": "TERMINATE"}
    disk = {"boot": True, "initialize_params": {"source_image": "projects/i/global/images/x"}}
    properties = {"machine_type": "tpu7x-standard-4t", "disks": [disk], "scheduling": scheduling}
    template = compute_v1.InstanceTemplate({"name": "template", "properties": properties})
    insert_template = bench.templates.insert_unary
    other = await bench.call(insert_template, project=PROJECT, instance_template_resource=template)
    for operation in (made, other):
        assert (await bench.done(operation)).status == compute_v1.Operation.Status.DONE


async def test_a_bulk_slice_lives_from_its_parts_to_running_hosts_and_leaves_nothing(start: Start) -> None:
    bench = await start()
    await _make_parts(bench)
    assert (await bench.call(bench.policies.get, project=PROJECT, region=REGION, resource_policy="policy")).status == (
        "READY"
    )
    operation = await bench.insert_group(**BULK)
    hosts = await bench.running(2)
    assert {host.status for host in hosts} == {"RUNNING"}
    done = await bench.done(operation)
    assert (done.operation_type, done.error.errors) == ("insert", [])

    async def active() -> bool:
        group = await bench.call(bench.groups.get, project=PROJECT, zone=ZONE, instance_group_manager="group")
        return [item.state for item in group.status.applied_accelerator_topologies] == ["ACTIVE"]

    await bench.until(active)
    group = await bench.call(bench.groups.get, project=PROJECT, zone=ZONE, instance_group_manager="group")
    assert group.target_size == group.status.current_instance_statuses.running == 2
    assert group.status.is_stable
    assert group.id == done.target_id
    request = {"project": PROJECT, "zone": ZONE, "instance_group_manager": "group"}
    rows = await bench.listed(bench.groups.list_managed_instances, request=request)
    assert {(row.name, row.id) for row in rows} == {(host.name, host.id) for host in hosts}
    await _delete_all(bench)
    assert bench.world.compute_state() == {}


async def _delete_all(bench: Bench) -> None:
    removed = await bench.call(bench.groups.delete_unary, project=PROJECT, zone=ZONE, instance_group_manager="group")
    await bench.done(removed)
    with pytest.raises(exceptions.NotFound):
        await bench.call(bench.groups.get, project=PROJECT, zone=ZONE, instance_group_manager="group")
    template = await bench.call(bench.templates.delete_unary, project=PROJECT, instance_template="template")
    policy = await bench.call(bench.policies.delete_unary, project=PROJECT, region=REGION, resource_policy="policy")
    for operation in (template, policy):
        assert (await bench.done(operation)).error.errors == []


async def test_an_instance_tells_who_made_it_and_what_it_runs_with(bench: Bench) -> None:
    await bench.insert_group()
    host = (await bench.running(2))[0]
    items = {item.key: item.value for item in host.metadata.items}
    assert items["created-by"] == f"projects/123456789012/zones/{ZONE}/instanceGroupManagers/group"
    assert items["startup-script"] == "#!/bin/bash\n"
    assert host.machine_type.endswith("/machineTypes/tpu7x-standard-4t")
    assert host.last_start_timestamp > host.creation_timestamp
    assert host.name.startswith("group-")
    assert host.id > 0


async def test_what_is_not_there_answers_404(bench: Bench) -> None:
    with pytest.raises(exceptions.NotFound) as caught:
        await bench.call(bench.instances.get, project=PROJECT, zone=ZONE, instance="nobody")
    assert caught.value.errors[0]["reason"] == "notFound"
    with pytest.raises(exceptions.NotFound):
        await bench.call(bench.instances.suspend_unary, project=PROJECT, zone=ZONE, instance="nobody")
    assert bench.calls.seen == [("instances.get", "404", "none"), ("unknown", "404", "none")]


async def test_a_taken_name_answers_409_and_a_used_template_or_policy_stays(bench: Bench) -> None:
    await bench.insert_group(**BULK)
    with pytest.raises(exceptions.Conflict) as conflict:
        await bench.insert_group(**BULK)
    assert conflict.value.errors[0]["reason"] == "alreadyExists"
    for delete, arguments in (
        (bench.templates.delete_unary, {"instance_template": "template"}),
        (bench.policies.delete_unary, {"region": REGION, "resource_policy": "policy"}),
    ):
        with pytest.raises(exceptions.BadRequest) as used:
            await bench.call(delete, project=PROJECT, **arguments)
        assert used.value.errors[0]["reason"] == "resourceInUseByAnotherResource"


async def test_the_delete_of_what_is_in_use_can_also_fail_in_its_operation(start: Start) -> None:
    bench = await start(WorldSettings(in_use="fail-operation"))
    put_ready(bench)
    await bench.insert_group()
    accepted = await bench.call(bench.templates.delete_unary, project=PROJECT, instance_template="template")
    ended = await bench.done(accepted)
    assert [error.code for error in ended.error.errors] == ["RESOURCE_IN_USE_BY_ANOTHER_RESOURCE"]
    assert TEMPLATE in bench.world.compute_state()


async def test_a_repeated_request_id_makes_nothing_new_and_returns_the_first_operation(bench: Bench) -> None:
    body = {"name": "group", "target_size": 1, "instance_template": TEMPLATE}
    request: dict[str, Any] = {
        "project": PROJECT,
        "zone": ZONE,
        "instance_group_manager_resource": compute_v1.InstanceGroupManager(body),
        "request_id": "11111111-2222-4333-8444-555555555555",
    }
    first = await bench.call(bench.groups.insert_unary, request=request)
    again = await bench.call(bench.groups.insert_unary, request=request)
    await bench.done(first)
    late = await bench.call(bench.groups.insert_unary, request=request)
    assert first.name == again.name == late.name
    assert [effect for method, _, effect in bench.calls.seen if method == "instanceGroupManagers.insert"] == [
        "changed",
        "replayed",
        "replayed",
    ]
    zero = {**request, "request_id": "00000000-0000-0000-0000-000000000000"}
    with pytest.raises(exceptions.BadRequest):
        await bench.call(bench.groups.insert_unary, request=zero)


async def test_a_regional_template_is_made_used_and_removed(bench: Bench) -> None:
    client = bench.client(compute_v1.RegionInstanceTemplatesClient)
    disk = {"boot": True, "initialize_params": {"source_image": "projects/i/global/images/x"}}
    properties = {"machine_type": "tpu7x-standard-4t", "disks": [disk]}
    template = compute_v1.InstanceTemplate({"name": "regional", "properties": properties})
    made = await bench.call(client.insert_unary, project=PROJECT, region=REGION, instance_template_resource=template)
    await bench.done(made)
    url = f"projects/{PROJECT}/regions/{REGION}/instanceTemplates/regional"
    await bench.insert_group(instance_template=url, target_size=1)
    assert len(await bench.running(1)) == 1
    names = [item.name for item in await bench.listed(client.list, project=PROJECT, region=REGION)]
    assert names == ["regional"]
    assert bench.log.of("regionInstanceTemplates.insert")


async def test_a_group_names_its_parts_by_full_urls_whatever_form_they_were_given_in(bench: Bench) -> None:
    policy = {"workload_policy": f"regions/{REGION}/resourcePolicies/policy"}
    await bench.insert_group(
        **{**BULK, "instance_template": "global/instanceTemplates/template", "resource_policies": policy}
    )
    group = await bench.call(bench.groups.get, project=PROJECT, zone=ZONE, instance_group_manager="group")
    root = "https://www.googleapis.com/compute/v1/"
    assert group.instance_template == group.versions[0].instance_template == root + TEMPLATE
    assert group.resource_policies.workload_policy == root + POLICY


async def test_every_state_on_the_way_to_running_can_be_seen(start: Start) -> None:
    bench = await start(timings=Timings(scale=0.2))
    bench.world.add_template("template", PROPERTIES, joins=False)
    await bench.insert_group(target_size=1)
    seen: list[str] = []

    def running() -> bool:
        for vm in bench.world.machines.everything():
            if vm.status not in seen:
                seen.append(vm.status)
        return "RUNNING" in seen

    await bench.until(running)
    assert seen == ["PENDING", "PROVISIONING", "STAGING", "RUNNING"]


async def test_sixty_four_hosts_of_a_bulk_group_run_within_two_seconds_of_each_other(start: Start) -> None:
    timings = Timings()
    spread = sum(span.high - span.low for span in (timings.pending, timings.provisioning, timings.staging))
    assert spread <= 2.0
    bench = await start()
    bench.world.add_template("template", PROPERTIES, joins=False)
    await bench.insert_group(target_size=64, target_size_policy={"mode": "BULK"})
    assert len(await bench.running(64)) == 64
    assert POLICY not in bench.world.compute_state()
