"""Whether a MIG's VMs are changing, by its own word."""

import pytest

from controller.core.moving import on_their_way
from controller.core.observed import MigView


@pytest.mark.parametrize(
    "mig",
    [
        pytest.param(MigView(2, is_stable=False, counts={"running": 1, "staging": 1}), id="one VM starts"),
        pytest.param(MigView(2, is_stable=False, counts={"nonExistent": 2}), id="none exists yet"),
        pytest.param(MigView(2, is_stable=True, counts={"running": 1, "stopping": 1}), id="one stops"),
        pytest.param(MigView(2, is_stable=False, counts={"running": 2}, bulk_in_progress=True), id="a bulk waits"),
        pytest.param(MigView(2, is_stable=False), id="counts are missing and it is not stable"),
        pytest.param(
            MigView(2, is_stable=True, counts={"running": 1, "nonExistent": 1}), id="one will be made anew by itself"
        ),
        pytest.param(
            MigView(2, is_stable=True, counts={"staging": 1, "nonExistent": 1}, is_bulk=True), id="one of a bulk starts"
        ),
    ],
)
def test_its_vms_are_on_their_way_while(mig: MigView) -> None:
    assert on_their_way(mig) is True


@pytest.mark.parametrize(
    "mig",
    [
        pytest.param(MigView(2, is_stable=True, counts={"running": 2}), id="all run"),
        pytest.param(MigView(2, is_stable=False, counts={"running": 1, "terminated": 1}), id="one was taken"),
        pytest.param(MigView(2, is_stable=False, counts={"stopped": 1, "suspended": 1}), id="all were stopped"),
        pytest.param(MigView(2, is_stable=True), id="counts are missing and it is stable"),
        pytest.param(MigView(0, is_stable=False), id="it wants none"),
        pytest.param(
            MigView(2, is_stable=True, counts={"running": 1, "nonExistent": 1}, is_bulk=True),
            id="one of a bulk was deleted",
        ),
        pytest.param(MigView(1, is_stable=True, counts={"running": 1, "staging": 0}), id="the other counts are zero"),
    ],
)
def test_its_vms_are_at_rest_when(mig: MigView) -> None:
    assert on_their_way(mig) is False
