"""Entries have the shape of the published ones: the same keys where those have them, nested alike."""

import json
from pathlib import Path
from typing import Any

from simulator.seams import Json
from tests.simulator.world.worlds import PROJECT, ZONE, Lab

SAMPLES = Path(__file__).parents[2] / "data" / "audit-log"


def _sample(prefix: str) -> Json:
    (path,) = SAMPLES.glob(f"{prefix}-*.json")
    loaded: Json = json.loads(path.read_text())
    return loaded


def _entry(lab: Lab, method: str, flag: str) -> Json:
    return next(
        entry
        for entry in lab.log.entries
        if entry["protoPayload"]["methodName"].endswith(method) and entry.get("operation", {}).get(flag)
    )


def _missing(sample: Any, entry: Any, where: str = "") -> list[str]:
    """Paths of keys (lists looked into at their first item) that a sample has and an entry lacks."""
    if isinstance(sample, dict) and isinstance(entry, dict):
        found = [f"{where}.{key}" for key in sample if key not in entry]
        return found + [
            path for key in sample if key in entry for path in _missing(sample[key], entry[key], f"{where}.{key}")
        ]
    if isinstance(sample, list) and isinstance(entry, list) and sample and entry:
        return _missing(sample[0], entry[0], where)
    return []


#: What a sample has that a simulated entry need not: the router stamps receiveTimestamp; the rest is of that VM alone.
ALLOWED = {
    ".receiveTimestamp",
    ".protoPayload.requestMetadata.requestAttributes",
    ".protoPayload.requestMetadata.destinationAttributes",
    ".protoPayload.request.requestId",
    ".protoPayload.request.displayDevice",
    ".protoPayload.request.canIpForward",
    ".protoPayload.request.networkInterfaces",
    ".protoPayload.request.disks",
    ".protoPayload.request.serviceAccounts",
    ".protoPayload.request.scheduling.onHostMaintenance",
    ".protoPayload.request.scheduling.automaticRestart",
    ".protoPayload.request.scheduling.preemptible",
    ".protoPayload.request.scheduling.nodeAffinitys",
    ".protoPayload.response.clientOperationId",
    ".protoPayload.response.startTime",
    ".protoPayload.response.selfLinkWithId",
}


async def _lived(lab: Lab) -> None:
    lab.add_template(provisioningModel="STANDARD")
    lab.add_group(1)
    (host,) = await lab.all_running(1)
    lab.world.host_error(host.name)
    await lab.until(lambda: host.status == "REPAIRING")
    await lab.until(lambda: host.status == "RUNNING")
    lab.world.repair(host.name)
    await lab.until(lambda: bool(lab.hosts) and lab.hosts[0].id != host.id)
    await lab.settled()


async def test_entries_have_every_key_that_the_samples_have(lab: Lab) -> None:
    await _lived(lab)
    pairs = [
        ("01", "instances.insert", "first"),
        ("02", "instances.insert", "first"),
        ("05", "instances.insert", "last"),
        ("07", "instances.insert", "last"),
        ("08", "instances.delete", "first"),
        ("09", "instances.delete", "last"),
        ("11", "instanceGroupManagers.insert", "last"),
        ("15", "instances.hostError", "first"),
        ("16", "instances.automaticRestart", "last"),
        ("19", "instances.repair.recreateInstance", "first"),
    ]
    for prefix, method, flag in pairs:
        entry = _entry(lab, method, flag)
        lacking = set(_missing(_sample(prefix), entry)) - ALLOWED
        # People's calls bear their address; a group's do not (sample 02).
        assert lacking <= {
            ".protoPayload.requestMetadata.callerIp",
            ".protoPayload.authenticationInfo.principalSubject",
        }
        assert set(entry["resource"]["labels"]) == set(_sample(prefix)["resource"]["labels"]), prefix


async def test_a_vm_of_a_group_is_named_by_project_number_and_linked_to_its_group(lab: Lab) -> None:
    await _lived(lab)
    first, last = (_entry(lab, "instances.insert", flag) for flag in ("first", "last"))
    payload = first["protoPayload"]
    name = payload["request"]["name"]
    assert payload["resourceName"] == f"projects/123456789012/zones/{ZONE}/instances/{name}"
    assert payload["authenticationInfo"] == {"principalEmail": "123456789012@cloudservices.gserviceaccount.com"}
    assert payload["requestMetadata"] == {"callerSuppliedUserAgent": "GCE Managed Instance Group"}
    group_id = lab.group["id"]
    place = f"projects/123456789012/locations/{ZONE}"
    assert payload["request"]["links"] == [
        {
            "target": f"{place}/instances/{name}",
            "type": "MEMBER_OF",
            "source": f"{place}/instanceGroupManagers/group@{group_id}",
        }
    ]
    assert payload["response"]["status"] == "RUNNING"
    assert first["resource"]["labels"]["project_id"] == PROJECT
    assert last["protoPayload"]["request"] == {"@type": "type.googleapis.com/compute.instances.insert"}
    assert {"response", "authorizationInfo", "resourceLocation", "status"} & last["protoPayload"].keys() == set()
    assert first["operation"]["id"] == last["operation"]["id"]


async def test_a_system_event_is_one_entry_by_the_system(lab: Lab) -> None:
    await _lived(lab)
    entry = _entry(lab, "instances.hostError", "first")
    assert entry["operation"]["last"] is True
    assert entry["operation"]["producer"] == "compute.instances.hostError"
    assert entry["operation"]["id"].startswith("systemevent-")
    assert _entry(lab, "recreateInstance", "first")["operation"]["id"].startswith("repair-")
    assert (entry["severity"], entry["logName"]) == (
        "INFO",
        f"projects/{PROJECT}/logs/cloudaudit.googleapis.com%2Fsystem_event",
    )
    assert entry["protoPayload"]["authenticationInfo"] == {"principalEmail": "system@google.com"}
    assert entry["protoPayload"]["status"] == {"message": "Instance terminated by Compute Engine."}


async def test_no_two_entries_share_an_insert_id_and_every_one_is_stamped(lab: Lab) -> None:
    await _lived(lab)
    assert len({entry["insertId"] for entry in lab.log.entries}) == len(lab.log.entries)
    assert all(entry["timestamp"].endswith("Z") and len(entry["timestamp"]) == 27 for entry in lab.log.entries)
