"""A real control plane starts as a cluster that nodes can join, and leaves no process, whatever ends it."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import aiohttp
import pytest

from simulator.children import ChildError
from simulator.controlplane.client import RefusedError, client
from simulator.controlplane.control_plane import ControlPlaneSettings, control_plane
from simulator.controlplane.credentials import trusting
from simulator.controlplane.kubeconfigs import Access, connected, read
from tests.needs import need_control_plane
from tests.planes import RealPlane

pytestmark = pytest.mark.controlplane

CLUSTER_INFO = "/api/v1/namespaces/kube-public/configmaps/cluster-info"
SIMULATOR = (sys.executable, "-m", "controller.cli", "simulator", "--control-plane", "real")


def processes_of(folder: Path) -> list[int]:
    """The processes whose command line names a folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if str(folder).encode() in command and int(entry.name) != os.getpid():
            found.append(int(entry.name))
    return found


def is_occupied(folder: Path) -> bool:
    return any(folder.iterdir())


@pytest.fixture
def access(real_plane: RealPlane) -> Access:
    return read(real_plane.kubeconfig)


async def test_it_is_the_version_that_is_pinned(access: Access) -> None:
    async with connected(access) as admin:
        version = await admin.call("GET", "/version")
    assert (version["gitVersion"], version["major"], version["minor"]) == ("v1.36.3", "1", "36")


async def test_nobody_may_read_cluster_info_and_nothing_else(access: Access) -> None:
    async with client(access.url, trusting(access.authority)) as nobody:
        info = await nobody.call("GET", CLUSTER_INFO)
        assert access.url in info["data"]["kubeconfig"]
        with pytest.raises(RefusedError, match="system:anonymous"):
            await nobody.call("GET", "/api/v1/nodes")


async def test_no_token_is_left_of_its_start(access: Access) -> None:
    async with connected(access) as admin:
        secrets = await admin.call("GET", "/api/v1/namespaces/kube-system/secrets")
        info = await admin.call("GET", CLUSTER_INFO)
    assert [item["metadata"]["name"] for item in secrets["items"]] == []
    assert list(info["data"]) == ["kubeconfig"]


async def test_it_listens_where_it_is_told_and_is_known_by_the_names_it_is_given(tmp_path: Path) -> None:
    need_control_plane()
    settings = ControlPlaneSettings(address="127.0.0.2", names=("plane.example",), endpoint="plane.example:7443")
    async with control_plane(tmp_path, settings) as plane:
        assert plane.url.startswith("https://127.0.0.2:")
        async with client(plane.url, trusting(plane.authority)) as nobody:
            info = await nobody.call("GET", CLUSTER_INFO)
        assert "server: https://plane.example:7443\n" in info["data"]["kubeconfig"]
    assert processes_of(tmp_path) == []
    with pytest.raises(aiohttp.ClientConnectorError):
        async with client(plane.url, trusting(plane.authority)) as nobody:
            await nobody.call("GET", CLUSTER_INFO)


async def test_a_program_that_cannot_start_is_named_with_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_control_plane()
    broken = tmp_path / "assets" / "etcd"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\necho no room on the disk >&2\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(broken.parent))
    folder = tmp_path / "plane"
    folder.mkdir()
    with pytest.raises(ChildError, match="etcd ended with code 3: no room on the disk"):
        async with control_plane(folder):
            pass
    assert processes_of(folder) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_it_ends_with_the_simulator_that_started_it(tmp_path: Path, number: signal.Signals) -> None:
    need_control_plane()
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    process = await asyncio.create_subprocess_exec(*SIMULATOR, stdout=asyncio.subprocess.PIPE, env=environment)
    assert process.stdout is not None
    described = json.loads(await process.stdout.readline())
    assert str(tmp_path) in described["kubeconfig"]
    assert len(processes_of(tmp_path)) == 3
    process.send_signal(number)
    await process.wait()
    async with asyncio.timeout(20):
        while processes_of(tmp_path):  # noqa: ASYNC110 - of processes that are no children of ours
            await asyncio.sleep(0.05)
    # Who is killed cannot remove its folder.
    assert (number == signal.SIGKILL) is is_occupied(tmp_path)
