"""What users do to running things: stop and start, labels, patches, and applying a group's configuration."""

from typing import Any

import pytest
from google.api_core import exceptions
from google.cloud import compute_v1

from tests.simulator.compute.bench import PROJECT, TEMPLATE, ZONE, Bench

KEEP: dict[str, Any] = {"instance_lifecycle_policy": {"default_action_on_failure": "DO_NOTHING"}}
PLACE = {"project": PROJECT, "zone": ZONE}


async def test_a_vm_that_is_stopped_and_started_keeps_its_id(bench: Bench) -> None:
    await bench.insert_group(target_size=1, **KEEP)
    (host,) = await bench.running(1)
    stopped = await bench.done(await bench.call(bench.instances.stop_unary, instance=host.name, **PLACE))
    assert (stopped.operation_type, stopped.target_id) == ("stop", host.id)
    found = await bench.call(bench.instances.get, instance=host.name, **PLACE)
    assert (found.status, found.id) == ("TERMINATED", host.id)
    with pytest.raises(exceptions.BadRequest):
        await bench.call(bench.instances.stop_unary, instance=host.name, **PLACE)
    await bench.done(await bench.call(bench.instances.start_unary, instance=host.name, **PLACE))
    again = await bench.call(bench.instances.get, instance=host.name, **PLACE)
    assert (again.status, again.id) == ("RUNNING", host.id)
    assert again.last_start_timestamp > host.last_start_timestamp
    assert [entry["operation"].get("last", False) for entry in bench.log.of("instances.start")] == [False, True]


async def test_a_start_without_room_fails_in_its_operation(bench: Bench) -> None:
    await bench.insert_group(target_size=1, **KEEP)
    (host,) = await bench.running(1)
    await bench.done(await bench.call(bench.instances.stop_unary, instance=host.name, **PLACE))
    bench.world.set_capacity(ZONE, "tpu7x-standard-4t", 0)
    ended = await bench.done(await bench.call(bench.instances.start_unary, instance=host.name, **PLACE))
    assert [error.code for error in ended.error.errors] == ["ZONE_RESOURCE_POOL_EXHAUSTED"]


async def test_labels_are_replaced_under_their_fingerprint(bench: Bench) -> None:
    await bench.insert_group(target_size=1)
    (host,) = await bench.running(1)
    request = {"labels": {"team": "research"}, "label_fingerprint": host.label_fingerprint}
    body = compute_v1.InstancesSetLabelsRequest(request)
    set_labels = bench.instances.set_labels_unary
    await bench.call(set_labels, instance=host.name, instances_set_labels_request_resource=body, **PLACE)
    found = await bench.call(bench.instances.get, instance=host.name, **PLACE)
    assert dict(found.labels) == {"team": "research"}
    with pytest.raises(exceptions.PreconditionFailed):
        await bench.call(set_labels, instance=host.name, instances_set_labels_request_resource=body, **PLACE)


async def test_shared_metadata_is_patched_into_a_group_and_applied_to_its_vms(bench: Bench) -> None:
    await bench.insert_group(target_size=1)
    (host,) = await bench.running(1)
    patch = compute_v1.InstanceGroupManager({"all_instances_config": {"properties": {"metadata": {"key": "value"}}}})
    group = {"instance_group_manager": "group", **PLACE}
    patched = await bench.call(bench.groups.patch_unary, instance_group_manager_resource=patch, **group)
    await bench.done(patched)
    assert "key" not in bench.world.instance_metadata(str(host.id)).items
    request = compute_v1.InstanceGroupManagersApplyUpdatesRequest({"all_instances": True})
    apply = bench.groups.apply_updates_to_instances_unary
    argument = {"instance_group_managers_apply_updates_request_resource": request}
    await bench.done(await bench.call(apply, **argument, **group))
    assert bench.world.instance_metadata(str(host.id)).items["key"] == "value"


async def test_a_field_that_cannot_be_patched_is_named(bench: Bench) -> None:
    await bench.insert_group(target_size=1)
    patch = compute_v1.InstanceGroupManager({"instance_template": TEMPLATE})
    group = {"instance_group_manager": "group", **PLACE}
    with pytest.raises(exceptions.BadRequest) as caught:
        await bench.call(bench.groups.patch_unary, instance_group_manager_resource=patch, **group)
    assert "resource.instanceTemplate" in str(caught.value)
