"""The servers and clients that the adapters' tests share."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import yaml
from structlog.testing import capture_logs
from structlog.typing import EventDict

from controller.adapters.kube_client import KubeClient
from tests.adapters.fakes import FakeClock
from tests.adapters.scripted_server import ScriptedServer, serving

BEARER = "the-bearer-of-the-test"


@pytest.fixture
def logged() -> Iterator[list[EventDict]]:
    """What the program logs, as it is logged."""
    with capture_logs() as lines:
        yield lines


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    async with serving() as running:
        yield running


@pytest.fixture
def kubeconfig(server: ScriptedServer, tmp_path: Path) -> str:
    path = tmp_path / "kubeconfig"
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "here", "cluster": {"server": server.url}}],
        "users": [{"name": "me", "user": {"token": BEARER}}],
        "contexts": [{"name": "test", "context": {"cluster": "here", "user": "me"}}],
        "current-context": "test",
    }
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return str(path)


@pytest.fixture
async def client(kubeconfig: str) -> AsyncIterator[KubeClient]:
    connected = await KubeClient.connect(kubeconfig, timeout=30.0)
    yield connected
    await connected.close()
