"""What a demo can be asked for."""

import pytest

from controller.api.topology import check_topology
from controller.demo.options import MACHINE, BadOptionError, ControlPlane, DemoOptions, Scenario


def test_a_slice_has_the_most_cubic_topology_of_its_hosts() -> None:
    found = {nodes: DemoOptions(nodes=nodes).topology for nodes in (1, 2, 4, 16, 64)}
    assert found == {1: "2x2x1", 2: "2x2x2", 4: "2x2x4", 16: "4x4x4", 64: "4x8x8"}


@pytest.mark.parametrize(
    ("nodes", "near"),
    [(3, "2 or 4"), (17, "16 or 32"), (0, "1"), (-5, "1"), (5000, "2304")],
)
def test_a_number_of_hosts_without_a_topology_is_refused_with_the_nearest_ones(nodes: int, near: str) -> None:
    with pytest.raises(BadOptionError) as caught:
        DemoOptions(nodes=nodes)
    assert str(caught.value) == f"--nodes {nodes}: no topology of {MACHINE} has {nodes} hosts; take {near}"


def test_single_hosts_may_be_any_number_that_a_group_holds() -> None:
    assert DemoOptions(Scenario.PREEMPT, nodes=3).topology == "2x2x1"
    with pytest.raises(BadOptionError) as caught:
        DemoOptions(Scenario.PREEMPT, nodes=1001)
    assert str(caught.value) == "--nodes 1001: a group of single hosts has 1 to 1000"


@pytest.mark.parametrize("scenario", list(Scenario))
@pytest.mark.parametrize("nodes", [1, 2, 64])
def test_every_group_that_the_demo_applies_is_legal(scenario: Scenario, nodes: int) -> None:
    spec = DemoOptions(scenario, nodes).manifest(ControlPlane("1.36", "127.0.0.1", 6443))["spec"]
    checked = check_topology(
        spec["instanceConfig"]["machineType"], spec["topology"], spec["nodeCount"], spec["targetSizePolicyMode"]
    )
    assert checked is None
    assert spec["bootstrapKubernetes"] == {
        "version": "1.36",
        "controlPlaneIP": "127.0.0.1",
        "controlPlanePort": 6443,
    }
