"""A cluster with running controllers."""

from collections.abc import AsyncIterator

import pytest

from tests.simulator.controllers.cluster import Cluster


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    cluster = Cluster()
    cluster.start()
    yield cluster
    await cluster.stop()
