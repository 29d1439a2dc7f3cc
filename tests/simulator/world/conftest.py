"""Labs that are closed, and found without failures, when a test ends."""

from collections.abc import AsyncIterator, Callable

import pytest

from simulator.timing import Timings
from simulator.world import WorldSettings
from tests.simulator.world.worlds import FAST, Lab


@pytest.fixture
async def make_lab() -> AsyncIterator[Callable[..., Lab]]:
    """Makes a lab of settings and timings."""
    labs: list[Lab] = []

    def make(settings: WorldSettings | None = None, timings: Timings = FAST) -> Lab:
        labs.append(Lab(settings, timings))
        return labs[-1]

    yield make
    for lab in labs:
        await lab.world.close()
        assert lab.world.failures == []


@pytest.fixture
async def lab(make_lab: Callable[..., Lab]) -> Lab:
    """A lab with everything as it is by default, only faster."""
    return make_lab()
