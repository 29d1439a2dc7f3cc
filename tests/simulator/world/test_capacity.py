"""A zone without room: what a bulk group shows, what an individual one logs, and how both go on."""

from collections.abc import Callable

from simulator.timing import Timings
from tests.simulator.world.worlds import GROUP, MACHINE, OPERATOR, ZONE, Lab

STOCKOUT = "ZONE_RESOURCE_POOL_EXHAUSTED"


async def test_a_bulk_group_waits_with_no_vm_and_proceeds_when_there_is_room_for_all(lab: Lab) -> None:
    lab.world.set_capacity(ZONE, MACHINE, 1)
    lab.add_template(provisioningModel="STANDARD")
    lab.add_group(2, bulk=True, on_failure="DO_NOTHING", policy=True)
    await lab.until(lambda: "lastProgressCheck" in lab.group["status"]["bulkInstanceOperation"])
    status = lab.group["status"]
    assert status["bulkInstanceOperation"]["inProgress"]
    assert [e["code"] for e in status["bulkInstanceOperation"]["lastProgressCheck"]["error"]["errors"]] == [STOCKOUT]
    assert (status["isStable"], status["currentInstanceStatuses"]) == (False, {"nonExistent": 2})
    assert lab.hosts == []
    assert [row["currentAction"] for row in lab.rows] == ["CREATING", "CREATING"]
    assert not any("id" in row or "instanceStatus" in row for row in lab.rows)
    assert "instances.insert first" not in lab.log.methods()
    lab.world.set_capacity(ZONE, MACHINE, 2)
    await lab.all_running(2)
    done = lab.group["status"]["bulkInstanceOperation"]
    assert (done["inProgress"], "error" in done["lastProgressCheck"]) == (False, False)
    assert lab.world.capacity.snapshot() == {f"{ZONE}/{MACHINE}": 0}


async def test_an_individual_group_tries_the_same_name_again_and_again(lab: Lab) -> None:
    lab.world.set_capacity(ZONE, MACHINE, 0)
    lab.add_template(provisioningModel="STANDARD")
    lab.add_group(1)
    await lab.until(lambda: lab.log.methods().count("instances.insert last ERROR") >= 2)
    (row,) = lab.rows
    assert [error["code"] for error in row["lastAttempt"]["errors"]["errors"]] == [STOCKOUT]
    failed = [entry for entry in lab.log.entries if entry["severity"] == "ERROR"]
    assert len({entry["protoPayload"]["resourceName"] for entry in failed}) == 1
    assert failed[0]["protoPayload"]["status"] == {"code": 8, "message": STOCKOUT}
    errors = lab.world.groups.errors(lab.world.groups.get(GROUP))
    assert {item["error"]["code"] for item in errors} == {STOCKOUT}
    lab.world.set_capacity(ZONE, MACHINE, None)
    (host,) = await lab.all_running(1)
    assert failed[0]["protoPayload"]["resourceName"].endswith(f"/{host.name}")
    assert "lastAttempt" not in lab.rows[0]


async def test_a_group_that_is_deleted_while_it_waits_leaves_nothing(lab: Lab) -> None:
    lab.world.set_capacity(ZONE, MACHINE, 0)
    lab.add_template(provisioningModel="STANDARD")
    lab.add_group(2, bulk=True, on_failure="DO_NOTHING")
    await lab.until(lambda: "lastProgressCheck" in lab.group["status"]["bulkInstanceOperation"])
    lab.world.groups.delete(GROUP, OPERATOR)
    await lab.settled()
    assert [path.rpartition("/")[2] for path in lab.world.compute_state()] == ["template"]


async def test_a_bulk_group_resized_to_nothing_while_it_waits_makes_nothing_later(make_lab: Callable[..., Lab]) -> None:
    lab = make_lab(None, Timings(scale=0))
    lab.world.set_capacity(ZONE, MACHINE, 0)
    lab.add_template(provisioningModel="STANDARD")
    lab.add_group(2, bulk=True, on_failure="DO_NOTHING")
    await lab.until(lambda: "lastProgressCheck" in lab.group["status"]["bulkInstanceOperation"])
    lab.world.groups.resize(GROUP, 0, OPERATOR)
    lab.world.set_capacity(ZONE, MACHINE, None)
    await lab.until(lambda: lab.group_stable)
    assert (lab.hosts, lab.group["targetSize"]) == ([], 0)
    assert "instances.insert first" not in lab.log.methods()


async def test_a_vm_that_stops_gives_its_place_to_another(lab: Lab) -> None:
    lab.world.set_capacity(ZONE, MACHINE, 1)
    lab.add_template(provisioningModel="SPOT", instanceTerminationAction="STOP")
    lab.add_group(2, on_failure="DO_NOTHING")
    await lab.until(lambda: [vm.status for vm in lab.hosts] == ["RUNNING"])
    (first,) = lab.hosts
    lab.world.preempt(first.name)
    await lab.until(lambda: sorted(vm.status for vm in lab.hosts) == ["RUNNING", "TERMINATED"])


async def test_resizing_recreating_and_deleting_members_is_the_groups_work(lab: Lab) -> None:
    lab.add_template(provisioningModel="STANDARD")
    lab.add_group(2)
    hosts = await lab.all_running(2)
    groups = lab.world.groups
    groups.recreate(GROUP, [hosts[0].path], OPERATOR)
    await lab.until(lambda: not lab.group["status"]["isStable"])
    again = await lab.all_running(2)
    assert [vm.name for vm in again] == [vm.name for vm in hosts]
    assert again[0].id != hosts[0].id
    groups.resize(GROUP, 3, OPERATOR)
    await lab.all_running(3)
    groups.delete_instances(GROUP, [hosts[1].path], OPERATOR)
    remaining = await lab.all_running(2)
    assert hosts[1].name not in {vm.name for vm in remaining}
    groups.resize(GROUP, 0, OPERATOR)
    await lab.all_running(0)
    assert lab.group["targetSize"] == 0
    methods = [m for m in lab.log.methods() if m.startswith("instanceGroupManagers")]
    await lab.settled()
    assert methods[:2] == ["instanceGroupManagers.insert first", "instanceGroupManagers.insert last"]
