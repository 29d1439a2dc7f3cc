"""From a template's properties to a VM, and what the platform writes into its metadata around boot."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from simulator.seams import Json
from simulator.world.audit import Caller, Subject
from simulator.world.instance import Instance
from simulator.world.kernel import Kernel
from simulator.world.metadata import Metadata
from simulator.world.names import last_segment, link, project_number, region_of

__all__ = ["Build", "early_attributes", "instance_subject", "late_attributes", "make_instance", "member_link"]


@dataclass(frozen=True, slots=True)
class Build:
    """What to make a VM of, and who wants it. `group` and `group_id`: its MIG's path and id, "" if none."""

    project: str
    zone: str
    name: str
    properties: Json = field(repr=False)
    caller: Caller
    group: str = ""
    group_id: str = ""
    joins: bool = False
    #: Position in the group.
    index: int = 0
    metadata: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def machine_type(self) -> str:
        """The bare name."""
        return last_segment(str(self.properties["machineType"]))


def instance_subject(project: str, zone: str, name: str, instance_id: str) -> Subject:
    """What entries about a VM bear (facts: audit logs 1, resource labels)."""
    path = f"projects/{project}/zones/{zone}/instances/{name}"
    return Subject(project, "gce_instance", {"instance_id": instance_id, "zone": zone}, path, zone)


def member_link(build: Build) -> Json:
    """`request.links[0]` of a MIG-made VM's first entry: the one direct link from a VM to its MIG (sample 01)."""
    number = project_number(build.project)
    place = f"projects/{number}/locations/{build.zone}"
    return {
        "target": f"{place}/instances/{build.name}",
        "type": "MEMBER_OF",
        "source": f"{place}/instanceGroupManagers/{last_segment(build.group)}@{build.group_id}",
    }


def make_instance(build: Build, kernel: Kernel) -> Instance:
    """A VM in PENDING: TPU VMs of a group begin there (facts: GCE 2)."""
    properties = build.properties
    number = project_number(build.project)
    items = {item["key"]: item.get("value", "") for item in (properties.get("metadata") or {}).get("items", [])}
    items.update(build.metadata)
    if build.group:
        location = f"projects/{number}/zones/{build.zone}/instanceGroupManagers/{last_segment(build.group)}"
        items["created-by"] = location
    scheduling = dict(properties.get("scheduling") or {})
    spot = scheduling.get("provisioningModel", "STANDARD") == "SPOT"
    scheduling.setdefault("provisioningModel", "STANDARD")
    scheduling.setdefault("automaticRestart", not spot)
    scheduling["preemptible"] = spot
    return Instance(
        id=kernel.ids.numeric(),
        name=build.name,
        project=build.project,
        zone=build.zone,
        machine_type=build.machine_type,
        metadata=Metadata(items),
        created=kernel.now(),
        shape=_shape(build, kernel.dice.random),
        service_accounts=[
            {**account, "email": _account(str(account.get("email", "default")), number)}
            for account in properties.get("serviceAccounts") or []
        ],
        scheduling=scheduling,
        group=build.group,
        joins=build.joins,
        index=build.index,
    )


def early_attributes(instance: Instance) -> dict[str, str]:
    """Attributes of the platform that are there before RUNNING (facts: GCE 6.4; their values are not established)."""
    return {"accelerator-type": instance.machine_type, "worker-id": str(instance.index)}


def late_attributes(instance: Instance) -> dict[str, str]:
    """Attributes of the platform that appear while the VM boots: every one moves the fingerprint."""
    address = instance.shape["networkInterfaces"][0]["networkIP"]
    return {
        "tpu-env": f"WORKER_ID: '{instance.index}'\nZONE: '{instance.zone}'\n",
        "worker-network-endpoints": f"unknown:unknown:{address}",
    }


def _account(email: str, number: str) -> str:
    return f"{number}-compute@developer.gserviceaccount.com" if email == "default" else email


def _shape(build: Build, source: random.Random) -> Json:
    properties = build.properties
    wanted = properties.get("networkInterfaces") or [{"network": f"projects/{build.project}/global/networks/default"}]
    address = f"10.128.{source.randrange(256)}.{source.randrange(2, 255)}"
    region = region_of(build.zone)
    default_subnetwork = f"projects/{build.project}/regions/{region}/subnetworks/default"
    interfaces = [
        {"name": f"nic{index}", "networkIP": address, "subnetwork": link(default_subnetwork), **interface}
        for index, interface in enumerate(wanted)
    ]
    shape: Json = {
        "networkInterfaces": interfaces,
        "disks": [{**disk, "deviceName": disk.get("deviceName", build.name)} for disk in properties.get("disks") or []],
        "labels": dict(properties.get("labels") or {}),
        "tags": dict(properties.get("tags") or {}),
        "canIpForward": bool(properties.get("canIpForward", False)),
    }
    for key in ("reservationAffinity", "advancedMachineFeatures"):
        if key in properties:
            shape[key] = properties[key]
    return shape
