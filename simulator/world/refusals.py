"""What Compute Engine refuses in a template or a group before it makes anything (facts: GCE 6.1 to 6.3, TPU 1.4).

Texts that a fact quotes are kept word by word; the others only have the shape of Compute Engine's words.
"""

import math
import re
from typing import Final

from simulator.seams import Json
from simulator.world.errors import ApiError, invalid, invalid_field
from simulator.world.names import last_segment, valid_name
from simulator.world.settings import WorldSettings

__all__ = ["check_group", "check_name", "check_policy", "check_template", "chips_of", "gang_size", "is_tpu"]

_TPU: Final = re.compile(r"^(tpu7x?|ct6e|ct5lp|ct5p|ct4p|ct5l)-")
_TOPOLOGY: Final = re.compile(r"^[1-9]\d*(x[1-9]\d*){1,2}$")
_BASE_NAME: Final = re.compile(r"[a-z]([-a-z0-9]{0,57})")
_MALFORMED: Final = "The URL is malformed."


def is_tpu(machine_type: str) -> bool:
    """Whether it is a TPU machine type."""
    return _TPU.match(last_segment(machine_type)) is not None


def chips_of(machine_type: str) -> int:
    """Chips per VM by the suffix (-1t, -4t, -8t), 0 for others."""
    found = re.search(r"-(\d+)t$", machine_type)
    return int(found.group(1)) if found else 0


def gang_size(topology: str, machine_type: str) -> int:
    """Hosts of a slice of this topology."""
    chips = math.prod(int(part) for part in topology.split("x"))
    return max(1, chips // max(1, chips_of(last_segment(machine_type))))


def check_name(body: Json) -> str:
    """The resource's name; raises 400."""
    name = str(body.get("name", ""))
    if not valid_name(name):
        why = "Must be a match of regex '(?:[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?)'"
        raise invalid_field("resource.name", name, why)
    return name


def check_policy(body: Json) -> None:
    """Raises 400 for a workload policy whose topology is no topology."""
    policy = body.get("workloadPolicy") or {}
    topology = policy.get("acceleratorTopology", "")
    if topology and not _TOPOLOGY.match(topology):
        raise invalid_field("resource.workloadPolicy.acceleratorTopology", topology, "Not a topology.")
    kind = policy.get("type", "")
    if kind and kind not in {"HIGH_AVAILABILITY", "HIGH_THROUGHPUT"}:
        raise invalid_field("resource.workloadPolicy.type", kind, "Not a workload policy type.")


def check_template(properties: Json, settings: WorldSettings) -> None:
    """Raises 400 for the first thing that Compute Engine would refuse in an instance template."""
    machine_type = last_segment(str(properties.get("machineType", "")))
    if not machine_type:
        raise invalid_field("resource.properties.machineType", "", "A machine type is required.")
    _check_disks(properties.get("disks") or [], machine_type)
    for index, interface in enumerate(properties.get("networkInterfaces") or []):
        for key in ("subnetwork", "network"):
            url = interface.get(key, "")
            if url and "/" not in url:
                where = f"resource.properties.networkInterfaces[{index}].{key}"
                raise invalid_field(where, url, _MALFORMED)
    _check_scheduling(properties.get("scheduling") or {})
    threads = (properties.get("advancedMachineFeatures") or {}).get("threadsPerCore")
    if machine_type == "ct6e-standard-8t" and settings.require_threads_per_core and threads != 1:
        where = "resource.properties.advancedMachineFeatures.threadsPerCore"
        raise invalid_field(where, threads or "", f"{machine_type} needs 1 thread per core.")


def check_group(body: Json, properties: Json, policy: Json | None) -> None:
    """Raises 400 for a group that could never be; `policy` is the workload policy that it names."""
    base = str(body.get("baseInstanceName", "a"))
    if not _BASE_NAME.fullmatch(base):
        raise invalid_field("resource.baseInstanceName", base, "Must be 1 to 58 characters and comply with RFC1035.")
    target = int(body.get("targetSize", 0))
    limit = 2000 if body.get("listManagedInstancesResults") == "PAGINATED" else 1000
    if not 0 <= target <= limit:
        raise invalid_field("resource.targetSize", target, f"Must be between 0 and {limit}.")
    machine_type = last_segment(str(properties.get("machineType", "")))
    if is_tpu(machine_type) and (properties.get("resourcePolicies") or _places(policy)):
        raise invalid(
            f"Creation of a managed instance group with {machine_type} machine type with placement policy is not "
            "supported. Use workload policy instead."
        )
    mode = (body.get("targetSizePolicy") or {}).get("mode", "INDIVIDUAL")
    on_failure = (body.get("instanceLifecyclePolicy") or {}).get("defaultActionOnFailure", "REPAIR")
    flexible = (properties.get("scheduling") or {}).get("provisioningModel") == "FLEX_START"
    if mode == "BULK" and flexible and on_failure != "DO_NOTHING":
        where = "resource.instanceLifecyclePolicy.defaultActionOnFailure"
        raise invalid_field(where, on_failure, "Flex-start VMs need DO_NOTHING.")
    topology = ((policy or {}).get("workloadPolicy") or {}).get("acceleratorTopology", "")
    if topology:
        _check_gang(mode, target, topology, machine_type)


def _check_gang(mode: str, target: int, topology: str, machine_type: str) -> None:
    if mode != "BULK":
        raise invalid("MIGs with TPU accelerator topology require BULK mode in target size policy")
    size = gang_size(topology, machine_type)
    if target not in {0, size}:
        raise invalid(
            f"Requested invalid target size '{target}' for a Managed Instance Group in the gang mode of size '{size}'. "
            "Should be equal to the gang size."
        )


def _places(policy: Json | None) -> bool:
    return bool(policy and "groupPlacementPolicy" in policy)


def _check_disks(disks: list[Json], machine_type: str) -> None:
    if not disks:
        raise invalid_field("resource.properties.disks", "", "No disks are specified.")
    for index, disk in enumerate(disks):
        where = f"resource.properties.disks[{index}]"
        params = disk.get("initializeParams") or {}
        sources = (params.get("sourceImage"), params.get("sourceSnapshot"), disk.get("source"))
        if disk.get("boot") and not any(sources):
            raise invalid(f"{where}: a boot disk needs initializeParams.sourceImage, sourceSnapshot or source.")
        kind = last_segment(str(params.get("diskType", "")))
        if machine_type.startswith("ct6e-") and kind.startswith("pd-"):
            raise invalid_field(
                f"{where}.initializeParams.diskType", kind, "TPU v6e supports only Hyperdisk Balanced and Hyperdisk ML."
            )


def _check_scheduling(scheduling: Json) -> None:
    model = scheduling.get("provisioningModel", "STANDARD")
    action = scheduling.get("instanceTerminationAction", "")
    where = "resource.properties.scheduling.instanceTerminationAction"
    error: ApiError | None = None
    if model == "STANDARD" and action:
        error = invalid_field(where, action, "A STANDARD VM takes no termination action.")
    elif model == "RESERVATION_BOUND" and action != "DELETE":
        error = invalid_field(where, action, "RESERVATION_BOUND needs DELETE.")
    elif model == "RESERVATION_BOUND" and scheduling.get("onHostMaintenance") != "TERMINATE":
        got = scheduling.get("onHostMaintenance", "")
        error = invalid_field(
            "resource.properties.scheduling.onHostMaintenance", got, "RESERVATION_BOUND needs TERMINATE."
        )
    elif model == "FLEX_START" and not scheduling.get("maxRunDuration"):
        error = invalid_field("resource.properties.scheduling.maxRunDuration", "", "FLEX_START needs maxRunDuration.")
    if error is not None:
        raise error
