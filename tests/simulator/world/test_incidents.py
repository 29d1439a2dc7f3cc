"""What befalls VMs, what the log tells of it, and who brings them back."""

from collections.abc import Callable

import pytest

from simulator.timing import Span, Timings
from simulator.world import ApiError, UnknownInstanceError, WorldSettings
from tests.simulator.world.worlds import GROUP, OPERATOR, Lab

SPOT = {"provisioningModel": "SPOT", "instanceTerminationAction": "STOP"}


async def test_a_preempted_spot_vm_is_made_anew_by_a_group_that_repairs(lab: Lab) -> None:
    lab.add_template(**SPOT)
    lab.add_group(1)
    (old,) = await lab.all_running(1)
    lab.world.preempt(old.name)
    await lab.until(lambda: bool(lab.hosts) and lab.hosts[0].id != old.id)
    (new,) = await lab.all_running(1)
    assert (new.name, new.id != old.id) == (old.name, True)
    assert lab.log.methods(old.id) == [
        "instances.insert first",
        "instances.insert last",
        "instances.preempted only",
        "instances.repair.recreateInstance only",
        "instances.delete first",
        "instances.delete last",
    ]
    assert lab.log.methods(new.id) == ["instances.insert first", "instances.insert last"]
    assert lab.guests.power == [("on", old.id), ("off", old.id), ("on", new.id)]
    assert lab.world.instance(old.id) is None


async def test_a_preempted_spot_vm_stays_terminated_where_nothing_repairs(lab: Lab) -> None:
    lab.add_template(**SPOT)
    lab.add_group(2, bulk=True, on_failure="DO_NOTHING", policy=True)
    first, second = await lab.all_running(2)
    lab.world.preempt(first.name)
    await lab.until(lambda: first.status == "TERMINATED")
    assert second.status == "RUNNING"
    status = lab.group["status"]
    assert status["currentInstanceStatuses"] == {"running": 1, "terminated": 1}
    assert status["appliedAcceleratorTopologies"] == [{"acceleratorTopology": "2x2x2", "state": "INCOMPLETE"}]
    assert status["isStable"]
    await lab.settled()
    assert lab.log.methods(first.id)[-1] == "instances.preempted only"


async def test_a_vm_whose_termination_action_is_delete_is_gone_after_preemption(lab: Lab) -> None:
    lab.add_template(provisioningModel="SPOT", instanceTerminationAction="DELETE")
    lab.add_group(1, on_failure="DO_NOTHING")
    (host,) = await lab.all_running(1)
    lab.world.preempt(host.name)
    await lab.until(lambda: lab.hosts == [])
    assert lab.group["status"]["currentInstanceStatuses"] == {"nonExistent": 1}


@pytest.mark.parametrize("event", ["hostError", "terminateOnHostMaintenance"])
async def test_compute_engine_restarts_managed_capacity_under_the_same_id(lab: Lab, event: str) -> None:
    lab.add_template(provisioningModel="STANDARD")
    lab.add_group(2, bulk=True, on_failure="DO_NOTHING", policy=True)
    host, other = await lab.all_running(2)
    befall = lab.world.host_error if event == "hostError" else lab.world.terminate_on_maintenance
    before = host.last_start
    befall(host.name)
    await lab.until(lambda: host.status == "REPAIRING")
    assert lab.group["status"]["currentInstanceStatuses"] == {"repairing": 1, "running": 1}
    await lab.until(lambda: host.status == "RUNNING")
    assert host.last_start is not None
    assert before is not None
    assert host.last_start > before
    assert lab.log.methods(host.id)[2:] == [f"instances.{event} only", "instances.automaticRestart only"]
    assert lab.guests.power[2:] == [("off", host.id), ("on", host.id)]
    assert len(lab.world.compute_history()["instances"][host.id]["runningAt"]) == 2
    assert [vm.id for vm in lab.hosts] == [host.id, other.id]

    def topology() -> str:
        return str(lab.group["status"]["appliedAcceleratorTopologies"][0]["state"])

    await lab.until(lambda: topology() == "ACTIVE")


async def test_a_spot_vm_is_not_restarted_after_a_host_error(lab: Lab) -> None:
    lab.add_template(**SPOT)
    lab.add_group(1, on_failure="DO_NOTHING")
    (host,) = await lab.all_running(1)
    lab.world.host_error(host.name)
    await lab.until(lambda: host.status == "TERMINATED")
    await lab.settled()
    assert "instances.automaticRestart only" not in lab.log.methods()


async def test_a_guest_that_powers_off_stays_off_unless_its_group_repairs(lab: Lab) -> None:
    lab.add_template(provisioningModel="STANDARD")
    lab.add_group(1, on_failure="DO_NOTHING")
    (host,) = await lab.all_running(1)
    lab.world.guest_terminate(host.name)
    await lab.until(lambda: host.status == "TERMINATED")
    assert lab.log.methods(host.id)[-1] == "instances.guestTerminate only"


async def test_a_repair_and_a_users_delete_lead_to_a_new_incarnation(lab: Lab) -> None:
    lab.add_template(provisioningModel="STANDARD")
    lab.add_group(1)
    names, ids = set(), []
    for befall in (lab.world.repair, lab.world.delete, lambda _name: None):
        (host,) = await lab.all_running(1)
        names.add(host.name)
        ids.append(host.id)
        befall(host.name)
        await lab.until(lambda: len(ids) == 3 or (bool(lab.hosts) and lab.hosts[0].id != ids[-1]))
    assert (len(names), len(set(ids))) == (1, 3)
    repairs = [e for e in lab.log.entries if e["protoPayload"]["methodName"].endswith("recreateInstance")]
    assert [e["protoPayload"]["status"]["message"].rpartition("Reason: ")[2] for e in repairs] == [
        "health status is TIMEOUT.",
        "it doesn't exist.",
    ]
    assert [e["resource"]["labels"]["instance_id"] for e in repairs] == [ids[0], ids[1]]


async def test_a_reset_starts_the_guest_anew_and_the_vm_keeps_running(lab: Lab) -> None:
    lab.add_template(provisioningModel="STANDARD")
    lab.add_group(1)
    (host,) = await lab.all_running(1)
    lab.world.reset(host.name)
    await lab.settled()
    assert host.status == "RUNNING"
    assert lab.log.methods(host.id)[-2:] == ["instances.reset first", "instances.reset last"]
    assert lab.guests.power == [("on", host.id), ("off", host.id), ("on", host.id)]


async def test_what_befalls_an_unknown_or_stopped_vm_is_refused(lab: Lab) -> None:
    lab.add_template(**SPOT)
    lab.add_group(1, on_failure="DO_NOTHING")
    (host,) = await lab.all_running(1)
    with pytest.raises(UnknownInstanceError, match="no VM is named 'nobody'"):
        lab.world.preempt("nobody")
    lab.world.preempt(host.name)
    await lab.until(lambda: host.status == "TERMINATED")
    with pytest.raises(ApiError, match="is TERMINATED"):
        lab.world.host_error(host.name)


async def test_nothing_else_befalls_a_vm_that_is_being_deleted(lab: Lab) -> None:
    lab.add_template(**SPOT)
    lab.add_group(1, on_failure="DO_NOTHING")
    (host,) = await lab.all_running(1)
    lab.world.delete(host.name)
    with pytest.raises(ApiError, match="is being deleted"):
        lab.world.preempt(host.name)
    await lab.until(lambda: lab.hosts == [])
    await lab.settled()


async def test_a_group_deleted_while_its_vms_boot_leaves_nothing(make_lab: Callable[..., Lab]) -> None:
    lab = make_lab(None, Timings(scale=0.03, staging=Span(100, 100)))
    lab.add_template(provisioningModel="STANDARD")
    lab.add_group(3)
    await lab.until(lambda: [vm.status for vm in lab.hosts] == ["STAGING"] * 3)
    before = lab.world.compute_state()
    assert len(before) == 5
    lab.world.groups.delete(GROUP, OPERATOR)
    await lab.settled()
    assert list(lab.world.compute_state()) == [path for path in before if path.endswith("/template")]
    assert lab.guests.power == []


@pytest.mark.parametrize(("choice", "before"), [("before", 4), ("after", 0), ("alternate", 2)])
async def test_the_insert_ends_before_running_or_after_it(
    make_lab: Callable[..., Lab], choice: str, before: int
) -> None:
    lab = make_lab(WorldSettings(insert_last=choice))  # type: ignore[arg-type]
    lab.add_template(provisioningModel="STANDARD")
    lab.add_group(4)
    hosts = await lab.all_running(4)
    ends = {
        op.task.target_id: op.ended
        for op in lab.world.operations.everything()
        if op.task.method == "compute.instances.insert"
    }
    early = [vm for vm in hosts if (end := ends[vm.id]) and vm.last_start and end < vm.last_start]
    assert len(early) == before
