"""Which TPU machine types there are, which topologies they can form, and how many hosts each takes.

Tables of facts, and pure functions over them; it imports nothing of ours. Where Google publishes no table (tpu7x) the
rule of its own tools is used, and Compute Engine decides the rest.

Sources: cloud.google.com/tpu/docs/v6e (VM types and the complete v6e table); docs.cloud.google.com/tpu/docs/tpu7x;
AI-Hypercomputer/xpk `system_characteristics.py` (the tpu7x rule: at most 144 cubes of 4x4x4); the machine-type file of
GKE's autoscaler (tpu7-*, tpu7x-ultranet-4t).
"""

import math
import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Final

#: The `targetSizePolicyMode` of hosts that are slices of their own; the other is BULK.
_INDIVIDUAL: Final = "INDIVIDUAL"

#: All that there are, v6e first.
MACHINE_TYPES: Final = (
    "ct6e-standard-1t",
    "ct6e-standard-4t",
    "ct6e-standard-8t",
    "tpu7x-standard-1t",
    "tpu7x-standard-4t",
    "tpu7x-ultranet-4t",
    "tpu7-standard-1t",
    "tpu7-standard-4t",
)

#: The complete v6e table; any other combination is unsupported. 2x4 is one host on 8t and two on 4t.
V6E_TOPOLOGIES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "ct6e-standard-1t": ("1x1",),
        "ct6e-standard-4t": ("2x2", "2x4", "4x4", "4x8", "8x8", "8x16", "16x16"),
        "ct6e-standard-8t": ("2x4",),
    }
)
#: tpu7 and tpu7x: shapes smaller than one cube.
V7_SMALL: Final = ("2x2x1", "2x2x2", "2x2x4", "2x4x4")
#: tpu7 and tpu7x: sides of bigger shapes are multiples of a cube's side, ascending, up to this many chips a side ...
V7_CUBE_SIDE: Final = 4
V7_MAX_SIDE: Final = 256
#: ... and this many cubes (9,216 chips, one pod).
V7_MAX_CUBES: Final = 144

_ACCELERATORS: Final = (("tpu7x-", "tpu7x"), ("tpu7-", "tpu7"), ("ct6e-", "tpu-v6e-slice"))
_CHIPS: Final = MappingProxyType({"1t": 1, "4t": 4, "8t": 8})
_TOPOLOGY: Final = re.compile(r"[1-9][0-9]{0,3}(?:x[1-9][0-9]{0,3}){1,2}")
_DEMO_MACHINE: Final = "tpu7x-standard-4t"


def short_machine_type(machine_type: str) -> str:
    """The bare name of a machine type given as a name, a relative path or a full URL."""
    return machine_type.rpartition("/")[2]


def accelerator_label(machine_type: str) -> str:
    """Value of the node label `cloud.google.com/gke-tpu-accelerator`; "" for a machine type without TPUs of ours."""
    name = short_machine_type(machine_type)
    return next((label for prefix, label in _ACCELERATORS if name.startswith(prefix)), "")


def chips_per_host(machine_type: str) -> int:
    """Chips of one VM: what `google.com/tpu` must be on its Node. 0 for a machine type that we do not know."""
    name = short_machine_type(machine_type)
    if not accelerator_label(name):
        return 0
    chips = _CHIPS.get(name.rpartition("-")[2], 0)
    return 0 if chips == 8 and not name.startswith("ct6e-") else chips


def dimensions(topology: str) -> tuple[int, ...] | None:
    """Sides of a topology (`2x2x4` -> (2, 2, 4)): two or three whole numbers above zero, else None."""
    return tuple(int(side) for side in topology.split("x")) if _TOPOLOGY.fullmatch(topology) else None


def topologies(machine_type: str) -> tuple[str, ...]:
    """Every legal topology of a machine type, by number of chips, the most cubic first; () for an unknown type."""
    name = short_machine_type(machine_type)
    if name.startswith("ct6e-"):
        return V6E_TOPOLOGIES.get(name, ())
    return {0: (), 1: ("1x1x1",), 4: _v7_topologies()}[chips_per_host(name)]


@cache
def _v7_topologies() -> tuple[str, ...]:
    cube = V7_CUBE_SIDE**3
    sides = range(V7_CUBE_SIDE, V7_MAX_SIDE + 1, V7_CUBE_SIDE)
    shapes = [
        (a, b, c)
        for a in sides
        for b in sides
        if a <= b and a * b * b <= V7_MAX_CUBES * cube
        for c in sides
        if b <= c and a * b * c <= V7_MAX_CUBES * cube
    ]
    shapes.sort(key=lambda shape: (math.prod(shape), shape[2] - shape[0], shape))
    return (*V7_SMALL, *("x".join(str(side) for side in shape) for shape in shapes))


def host_topology(machine_type: str) -> str | None:
    """The topology of one host on its own: what every host of an INDIVIDUAL group has."""
    legal = topologies(machine_type)
    return legal[0] if legal else None


def hosts_for(machine_type: str, topology: str) -> int | None:
    """VMs of this machine type that form this topology, None when they cannot."""
    if topology not in topologies(machine_type):
        return None
    return math.prod(dimensions(topology) or ()) // chips_per_host(machine_type)


def topology_for_hosts(hosts: int) -> str | None:
    """The most cubic topology of this many tpu7x-standard-4t hosts, None when there is none."""
    return next((t for t in topologies(_DEMO_MACHINE) if hosts_for(_DEMO_MACHINE, t) == hosts), None)


def legal_host_counts() -> tuple[int, ...]:
    """Every number of tpu7x-standard-4t hosts for which a topology exists, ascending."""
    counts = {hosts_for(_DEMO_MACHINE, topology) for topology in topologies(_DEMO_MACHINE)}
    return tuple(sorted(count for count in counts if count is not None))


def check_topology(machine_type: str, topology: str, node_count: int, mode: str) -> str | None:
    """Why this combination cannot work and what to change, None when it can.

    `machine_type` is "" where a brought template hides it: then only the form of the topology is checked.
    """
    if dimensions(topology) is None:
        return f"topology {topology!r} must be two or three numbers above zero joined by 'x', as in 2x4 or 2x2x2"
    if not machine_type:
        return None
    name = short_machine_type(machine_type)
    if not topologies(name):
        return f"machineType {name!r} is not known: use one of {', '.join(MACHINE_TYPES)}"
    if topology not in topologies(name):
        return f"{name} cannot form topology {topology}: use {_nearest(name, topology)}"
    if mode == _INDIVIDUAL:
        return _check_individual(name, topology)
    return _check_bulk(name, topology, node_count)


def _check_individual(name: str, topology: str) -> str | None:
    own = host_topology(name)
    if topology == own:
        return None
    hosts = hosts_for(name, topology)
    return (
        f"every host of an INDIVIDUAL group is a slice of its own: set topology to {own}, "
        f"or targetSizePolicyMode to BULK and nodeCount to {hosts} for one slice of {topology}"
    )


def _check_bulk(name: str, topology: str, node_count: int) -> str | None:
    hosts = hosts_for(name, topology)
    if node_count <= 1:
        return "a single host is no BULK group: set targetSizePolicyMode to INDIVIDUAL"
    if hosts == node_count:
        return None
    fitting = [t for t in topologies(name) if hosts_for(name, t) == node_count]
    other = f", or topology to {' or '.join(fitting[:3])}" if fitting else ""
    if hosts == 1:
        return f"topology {topology} is a single host of {name}: set targetSizePolicyMode to INDIVIDUAL{other}"
    return f"topology {topology} takes {hosts} hosts of {name}, not {node_count}: set nodeCount to {hosts}{other}"


def _nearest(name: str, topology: str) -> str:
    """The legal topologies closest in chips, with the hosts that each takes."""
    wanted = math.prod(dimensions(topology) or ())
    ranked = sorted(topologies(name), key=lambda t: abs(math.prod(dimensions(t) or ()) - wanted))
    return " or ".join(f"{t} (nodeCount {hosts_for(name, t)})" for t in ranked[:3])
