"""The surroundings of the startup script."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from simulator.metadata.server import MetadataServer
from tests.simulator.metadata.machines import Calls, Faults, Machines, make_machine
from tests.startup.node import Logging, Node

MACHINE = make_machine(
    1,
    kubeadm_control_plane_ip="10.0.0.2",
    kubeadm_ca_hash="sha256:" + "a" * 64,
    kubeadm_kubernetes_version="1.31",
    kubeadm_taints="google.com/tpu=present:NoSchedule",
    kube_labels="cloud.google.com/gke-tpu-accelerator=tpu7x,cloud.google.com/gke-tpu-topology=2x2x1",
    startup_script='# says "kubeadm-join-token": "is only text here"',
)


@pytest.fixture
def machines() -> Machines:
    return Machines(MACHINE)


@pytest.fixture
def faults() -> Faults:
    return Faults()


@pytest.fixture
def calls() -> Calls:
    return Calls()


@pytest.fixture
async def server(machines: Machines, calls: Calls, faults: Faults) -> AsyncIterator[MetadataServer]:
    server = MetadataServer(machines, calls, faults)
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
async def logging() -> AsyncIterator[Logging]:
    logging = Logging()
    await logging.start()
    yield logging
    await logging.stop()


@pytest.fixture
def node(tmp_path: Path, server: MetadataServer, logging: Logging) -> Node:
    return Node(tmp_path, server.url(MACHINE.id), logging.url)
