"""VMs that are real machines, with nothing of Kubernetes in them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from simulator.machines import Image, RealMachines
from simulator.metadata.server import MetadataServer
from tests.needs import need_machines
from tests.simulator.metadata.machines import Calls, Faults, Machines

#: No test of this folder asks them for anything.
NOTHING = Path("/bin/true")
#: Where nobody listens.
NOWHERE = ("127.0.0.1", 9)
IMAGE = Image(kubeadm=NOTHING, kubelet=NOTHING, runtime=NOTHING)


@pytest.fixture
def machines() -> Machines:
    return Machines()


@pytest.fixture
async def power(machines: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[RealMachines]:
    need_machines()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    metadata = MetadataServer(machines, Calls(), Faults())
    await metadata.start()
    power = RealMachines(machines, metadata, IMAGE, None, logging=NOWHERE, control_plane=NOWHERE)
    yield power
    await power.close()
    await metadata.stop()
    assert power.failures == []
