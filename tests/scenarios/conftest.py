"""The stage of every scenario."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.scenarios.cluster import Kubectl
from tests.scenarios.harness import Bench, bench


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[Bench]:
    """A simulator, no operator yet."""
    async with bench(tmp_path) as made:
        yield made


@pytest.fixture
async def stage(world: Bench) -> Bench:
    """A simulator and an operator that operates."""
    await world.start_operator()
    return world


@pytest.fixture
def kubectl(world: Bench, tmp_path: Path) -> Kubectl:
    """The real kubectl on the simulator's cluster, as its admin."""
    return Kubectl(world.kubeconfig, tmp_path)
