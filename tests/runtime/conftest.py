"""Every test here runs in virtual time."""

import asyncio
from collections.abc import Callable, Mapping

from tests.runtime.virtual_time import VirtualLoop


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """The event loop of this folder's tests."""
    return {"virtual": VirtualLoop}
