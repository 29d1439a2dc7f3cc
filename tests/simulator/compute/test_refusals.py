"""What Compute Engine refuses, in the words of the facts where they quote any, through the real client."""

import copy
import json
from typing import Any

import pytest
from google.api_core import exceptions
from google.cloud import compute_v1

from simulator.seams import Json
from simulator.world import ApiError, WorldSettings
from simulator.world.refusals import check_template
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


def _changed(**changes: Any) -> Json:
    properties = copy.deepcopy(PROPERTIES)
    properties.update(changes)
    return properties


def _disk(**params: str) -> list[Json]:
    return [{"boot": True, "initializeParams": params}]


IMAGE = "projects/i/global/images/x"
TEMPLATES = [
    (_changed(disks=[]), "No disks are specified."),
    (_changed(disks=_disk()), "a boot disk needs"),
    (_changed(networkInterfaces=[{"subnetwork": "default"}]), "The URL is malformed."),
    (
        _changed(machineType="ct6e-standard-4t", disks=_disk(sourceImage=IMAGE, diskType="pd-balanced")),
        "supports only Hyperdisk",
    ),
    (_changed(machineType="ct6e-standard-8t"), "needs 1 thread per core"),
    (
        _changed(scheduling={"provisioningModel": "STANDARD", "instanceTerminationAction": "STOP"}),
        "takes no termination",
    ),
    (_changed(scheduling={"provisioningModel": "RESERVATION_BOUND", "onHostMaintenance": "TERMINATE"}), "needs DELETE"),
    (
        _changed(scheduling={"provisioningModel": "RESERVATION_BOUND", "instanceTerminationAction": "DELETE"}),
        "needs TERMINATE",
    ),
    (_changed(scheduling={"provisioningModel": "FLEX_START"}), "needs maxRunDuration"),
    (_changed(machineType=""), "A machine type is required"),
]
GOOD_TEMPLATES = [
    PROPERTIES,
    _changed(
        scheduling={
            "provisioningModel": "RESERVATION_BOUND",
            "instanceTerminationAction": "DELETE",
            "onHostMaintenance": "TERMINATE",
        }
    ),
    _changed(scheduling={"provisioningModel": "SPOT", "instanceTerminationAction": "STOP"}),
    _changed(machineType="ct6e-standard-8t", advancedMachineFeatures={"threadsPerCore": 1}),
    _changed(disks=_disk(sourceImage=IMAGE, diskType="projects/p/zones/z/diskTypes/hyperdisk-balanced")),
    _changed(networkInterfaces=[{"subnetwork": "regions/us-central1/subnetworks/default"}]),
    _changed(networkInterfaces=[{"network": "global/networks/default"}]),
]


@pytest.mark.parametrize(("properties", "words"), TEMPLATES)
async def test_a_template_that_could_make_no_vm_is_refused(bench: Bench, properties: Json, words: str) -> None:
    template = compute_v1.InstanceTemplate.from_json(json.dumps({"name": "bad", "properties": properties}))
    with pytest.raises(exceptions.BadRequest) as caught:
        await bench.call(bench.templates.insert_unary, project=PROJECT, instance_template_resource=template)
    assert words in str(caught.value)
    (entry,) = bench.log.of("instanceTemplates.insert")
    assert (entry["severity"], "operation" in entry) == ("ERROR", False)


@pytest.mark.parametrize("properties", GOOD_TEMPLATES)
def test_a_template_that_can_make_vms_is_accepted(properties: Json) -> None:
    check_template(properties, WorldSettings())


def test_threads_per_core_is_a_setting() -> None:
    check_template(_changed(machineType="ct6e-standard-8t"), WorldSettings(require_threads_per_core=False))


GROUPS: list[tuple[dict[str, Any], type[Exception], str]] = [
    (
        {**BULK, "target_size": 16},
        exceptions.BadRequest,
        "Requested invalid target size '16' for a Managed Instance Group",
    ),
    (
        {"resource_policies": BULK["resource_policies"]},
        exceptions.BadRequest,
        "MIGs with TPU accelerator topology require BULK mode in target size policy",
    ),
    ({"base_instance_name": "b" * 59}, exceptions.BadRequest, "baseInstanceName"),
    ({"name": "Upper"}, exceptions.BadRequest, "Must be a match of regex"),
    ({"target_size": 1001}, exceptions.BadRequest, "Must be between 0 and 1000"),
    ({"instance_template": "template"}, exceptions.BadRequest, "The URL is malformed."),
    ({**BULK, "resource_policies": {"workload_policy": "policy"}}, exceptions.BadRequest, "The URL is malformed."),
    ({"instance_template": TEMPLATE + "x"}, exceptions.NotFound, "templatex' was not found"),
    ({**BULK, "resource_policies": {"workload_policy": POLICY + "x"}}, exceptions.NotFound, "policyx' was not found"),
]


@pytest.mark.parametrize(("changes", "error", "words"), GROUPS)
async def test_a_group_that_could_never_be_is_refused(
    bench: Bench, changes: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error) as caught:
        await bench.insert_group(**changes)
    assert words in str(caught.value)
    assert bench.world.groups.everything() == []


async def test_a_placement_policy_is_refused_for_tpus(start: Start) -> None:
    bench = await start()
    put_ready(bench, _changed(resourcePolicies=["placement"]))
    with pytest.raises(exceptions.BadRequest) as caught:
        await bench.insert_group()
    assert "with placement policy is not supported. Use workload policy instead." in str(caught.value)


async def test_a_group_may_have_two_thousand_vms_when_its_list_is_paginated(bench: Bench) -> None:
    await bench.insert_group(target_size=0, list_managed_instances_results="PAGINATED")
    with pytest.raises(exceptions.BadRequest):
        await bench.insert_group(name="large", target_size=2001, list_managed_instances_results="PAGINATED")


async def test_a_group_on_a_policy_that_is_not_ready_is_refused(bench: Bench) -> None:
    body = {"name": "young", "workload_policy": {"accelerator_topology": "2x2x2"}}
    resource = compute_v1.ResourcePolicy(body)
    insert = bench.policies.insert_unary
    made = await bench.call(insert, project=PROJECT, region=REGION, resource_policy_resource=resource)
    url = f"projects/{PROJECT}/regions/{REGION}/resourcePolicies/young"
    young = {**BULK, "resource_policies": {"workload_policy": url}}
    bench.world.policies.entries[url].ready = False
    with pytest.raises(exceptions.BadRequest) as caught:
        await bench.insert_group(**young)
    assert caught.value.errors[0]["reason"] == "resourceNotReady"
    await bench.done(made)
    bench.world.policies.entries[url].ready = True
    await bench.insert_group(**young)


async def test_a_bad_topology_is_refused(bench: Bench) -> None:
    resource = compute_v1.ResourcePolicy({"name": "p", "workload_policy": {"accelerator_topology": "2 by 2"}})
    insert = bench.policies.insert_unary
    with pytest.raises(exceptions.BadRequest):
        await bench.call(insert, project=PROJECT, region=REGION, resource_policy_resource=resource)


async def test_what_is_being_deleted_is_not_ready(bench: Bench) -> None:
    await bench.insert_group(target_size=1)
    await bench.running(1)
    place = {"project": PROJECT, "zone": ZONE, "instance_group_manager": "group"}
    await bench.call(bench.groups.delete_unary, **place)
    with pytest.raises(exceptions.BadRequest) as caught:
        await bench.call(bench.groups.delete_unary, **place)
    assert caught.value.errors[0]["reason"] == "resourceNotReady"
    with pytest.raises(exceptions.Conflict):
        await bench.insert_group(target_size=1)


def test_an_error_carries_the_json_that_the_client_parses() -> None:
    body = ApiError(403, "rateLimitExceeded", "slow down", domain="usageLimits", details=({"reason": "X"},)).body()
    item = {"message": "slow down", "domain": "usageLimits", "reason": "rateLimitExceeded"}
    assert body == {"error": {"code": 403, "message": "slow down", "errors": [item], "details": [{"reason": "X"}]}}
