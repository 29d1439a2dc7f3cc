"""The tables of machine types and topologies, whole, against the published ones."""

import math

import pytest

from controller.api.topology import (
    MACHINE_TYPES,
    accelerator_label,
    check_topology,
    chips_per_host,
    dimensions,
    host_topology,
    hosts_for,
    legal_host_counts,
    topologies,
    topology_for_hosts,
)
from tests.api.manifests import make_group
from tests.api.schemas import refusals


@pytest.mark.parametrize(
    ("machine", "chips", "own", "label"),
    [
        ("ct6e-standard-1t", 1, "1x1", "tpu-v6e-slice"),
        ("ct6e-standard-4t", 4, "2x2", "tpu-v6e-slice"),
        ("ct6e-standard-8t", 8, "2x4", "tpu-v6e-slice"),
        ("tpu7x-standard-1t", 1, "1x1x1", "tpu7x"),
        ("tpu7x-standard-4t", 4, "2x2x1", "tpu7x"),
        ("tpu7x-ultranet-4t", 4, "2x2x1", "tpu7x"),
        ("tpu7-standard-1t", 1, "1x1x1", "tpu7"),
        ("tpu7-standard-4t", 4, "2x2x1", "tpu7"),
    ],
)
def test_machine_types(machine: str, chips: int, own: str, label: str) -> None:
    assert machine in MACHINE_TYPES
    assert (chips_per_host(machine), host_topology(machine), accelerator_label(machine)) == (chips, own, label)
    assert hosts_for(machine, own) == 1


def test_all_machine_types_are_in_the_table_above() -> None:
    assert len(MACHINE_TYPES) == 8


@pytest.mark.parametrize(
    "given",
    [
        "tpu7x-standard-4t",
        "zones/us-central1-c/machineTypes/tpu7x-standard-4t",
        "https://www.googleapis.com/compute/v1/projects/p/zones/z/machineTypes/tpu7x-standard-4t",
    ],
)
def test_a_machine_type_may_be_a_name_or_a_url(given: str) -> None:
    assert (chips_per_host(given), accelerator_label(given), host_topology(given)) == (4, "tpu7x", "2x2x1")


@pytest.mark.parametrize("machine", ["", "n2-standard-4", "ct6e-standard-16t", "tpu7x-standard", "ct5p-hightpu-4t"])
def test_an_unknown_machine_type_has_no_chips_and_no_topologies(machine: str) -> None:
    assert (chips_per_host(machine), topologies(machine), host_topology(machine)) == (0, (), None)


def test_the_v6e_table_is_complete() -> None:
    table = {
        (machine, t): hosts_for(machine, t)
        for machine in MACHINE_TYPES
        for t in topologies(machine)
        if "ct6e" in machine
    }
    assert table == {
        ("ct6e-standard-1t", "1x1"): 1,
        ("ct6e-standard-4t", "2x2"): 1,
        ("ct6e-standard-8t", "2x4"): 1,
        ("ct6e-standard-4t", "2x4"): 2,
        ("ct6e-standard-4t", "4x4"): 4,
        ("ct6e-standard-4t", "4x8"): 8,
        ("ct6e-standard-4t", "8x8"): 16,
        ("ct6e-standard-4t", "8x16"): 32,
        ("ct6e-standard-4t", "16x16"): 64,
    }


@pytest.mark.parametrize(
    ("shapes", "hosts"),
    [
        ("2x2x1", 1),
        ("2x2x2", 2),
        ("2x2x4", 4),
        ("2x4x4", 8),
        ("4x4x4", 16),
        ("4x4x8", 32),
        ("4x4x12", 48),
        ("4x8x8 4x4x16", 64),
        ("4x8x12", 96),
        ("8x8x8 4x8x16 4x4x32", 128),
        ("8x8x12", 192),
        ("8x8x16 4x16x16", 256),
        ("8x12x16", 384),
        ("12x12x12", 432),
        ("8x16x16", 512),
        ("12x12x16", 576),
        ("12x16x16", 768),
        ("16x16x16", 1024),
        ("12x12x36", 1296),
        ("16x16x24", 1536),
        ("16x16x32", 2048),
        ("16x24x24 16x16x36", 2304),
    ],
)
def test_tpu7x_topologies_that_google_names(shapes: str, hosts: int) -> None:
    assert {hosts_for("tpu7x-standard-4t", shape) for shape in shapes.split()} == {hosts}


def test_the_tpu7x_rule_gives_as_many_shapes_as_its_source() -> None:
    shapes = topologies("tpu7x-standard-4t")
    assert (len(shapes), len(set(shapes)), len(legal_host_counts())) == (432, 432, 130)
    assert legal_host_counts()[:6] == (1, 2, 4, 8, 16, 32)
    assert legal_host_counts()[-1] == 2304


@pytest.mark.parametrize("shape", ["4x4x6", "8x4x4", "4x4x2", "2x2x8", "4x4x260", "16x24x28", "1x1x1", "4x4", "2x4"])
def test_shapes_that_tpu7x_does_not_have(shape: str) -> None:
    assert hosts_for("tpu7x-standard-4t", shape) is None


@pytest.mark.parametrize(
    ("hosts", "shape"), [(1, "2x2x1"), (2, "2x2x2"), (64, "4x8x8"), (128, "8x8x8"), (2304, "16x24x24")]
)
def test_the_most_cubic_topology_for_a_number_of_hosts(hosts: int, shape: str) -> None:
    assert topology_for_hosts(hosts) == shape


@pytest.mark.parametrize("hosts", [-1, 0, 3, 5, 63, 2305])
def test_numbers_of_hosts_without_a_topology(hosts: int) -> None:
    assert topology_for_hosts(hosts) is None
    assert hosts not in legal_host_counts()


def test_every_legal_number_of_hosts_has_a_topology_of_so_many_chips() -> None:
    chips = {hosts: math.prod(dimensions(topology_for_hosts(hosts) or "") or ()) for hosts in legal_host_counts()}
    assert chips == {hosts: 4 * hosts for hosts in legal_host_counts()}


@pytest.mark.parametrize("text", ["", "2", "2x", "x2x2", "0x2", "2x2x2x2", "2X2", "2x2\n", "-1x2", "2x10000", "²x2"])
def test_texts_that_are_no_topology(text: str) -> None:
    assert dimensions(text) is None


@pytest.mark.parametrize(
    ("machine", "topology", "hosts", "mode", "message"),
    [
        (
            "",
            "2x",
            1,
            "BULK",
            "topology '2x' must be two or three numbers above zero joined by 'x', as in 2x4 or 2x2x2",
        ),
        (
            "tpu7x-standard-2t",
            "2x2x2",
            2,
            "BULK",
            f"machineType 'tpu7x-standard-2t' is not known: use one of {', '.join(MACHINE_TYPES)}",
        ),
        (
            "ct6e-standard-4t",
            "2x8",
            4,
            "BULK",
            (
                "ct6e-standard-4t cannot form topology 2x8: use 4x4 (nodeCount 4) or 2x4 (nodeCount 2) "
                "or 2x2 (nodeCount 1)"
            ),
        ),
        (
            "tpu7x-standard-4t",
            "2x2x2",
            4,
            "BULK",
            "topology 2x2x2 takes 2 hosts of tpu7x-standard-4t, not 4: set nodeCount to 2, or topology to 2x2x4",
        ),
        (
            "tpu7x-standard-4t",
            "2x2x4",
            3,
            "BULK",
            "topology 2x2x4 takes 4 hosts of tpu7x-standard-4t, not 3: set nodeCount to 4",
        ),
        (
            "tpu7x-standard-4t",
            "2x2x1",
            2,
            "BULK",
            (
                "topology 2x2x1 is a single host of tpu7x-standard-4t: set targetSizePolicyMode to INDIVIDUAL, "
                "or topology to 2x2x2"
            ),
        ),
        (
            "tpu7x-standard-4t",
            "2x2x1",
            1,
            "BULK",
            "a single host is no BULK group: set targetSizePolicyMode to INDIVIDUAL",
        ),
        (
            "tpu7x-standard-4t",
            "2x2x2",
            2,
            "INDIVIDUAL",
            (
                "every host of an INDIVIDUAL group is a slice of its own: set topology to 2x2x1, "
                "or targetSizePolicyMode to BULK and nodeCount to 2 for one slice of 2x2x2"
            ),
        ),
    ],
)
def test_a_combination_that_cannot_work_says_what_to_change(
    machine: str, topology: str, hosts: int, mode: str, message: str
) -> None:
    assert check_topology(machine, topology, hosts, mode) == message


@pytest.mark.parametrize("mode", ["BULK", "INDIVIDUAL"])
@pytest.mark.parametrize("machine", [*MACHINE_TYPES])
def test_the_crd_takes_exactly_what_the_table_takes(machine: str, mode: str) -> None:
    """Shapes of the table and near misses of them, through the rules of the CRD; each seventh of the many of v7."""
    legal = [*topologies(machine)[:12], *topologies(machine)[12::7]]
    near = [shape.replace("4", "5", 1) for shape in legal] + ["x".join(reversed(shape.split("x"))) for shape in legal]
    for shape in sorted({*legal, *near, "1x1", "2x2", "2x4", "8x4", "1x1x1", "2x2x1", "4x4x260", "12x28x28"}):
        chips = math.prod(dimensions(shape) or ())
        hosts = max(1, chips // chips_per_host(machine)) if mode == "BULK" else 3
        group = make_group(
            instanceConfig__machineType=machine, topology=shape, nodeCount=hosts, targetSizePolicyMode=mode
        )
        said = check_topology(machine, shape, hosts, mode)
        assert (refusals(group) == []) == (said is None), (shape, hosts, said)
