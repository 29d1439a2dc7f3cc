"""docs/kubectl.md is what kubectl says: each command in it is run again on a real control plane, and compared.

With WRITE_DOCS=1 the outputs are written into the page instead.
"""

import asyncio
import os
import re
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest

from tests.needs import need
from tests.planes import RealPlane
from tests.scenarios.harness import Bench, bench

pytestmark = pytest.mark.controlplane

PAGE: Final = Path(__file__).parents[2] / "docs" / "kubectl.md"
BLOCK: Final = re.compile(r"```console\n(.*?)```", re.DOTALL)

#: (what differs from run to run, what stands for it)
MASKS: Final = (
    (r"\b(\d+h)?(\d+m)?\d+s\b|<invalid>", "AGE"),
    (r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME"),
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}", "UID"),
    (r"(slice-(policy|template|mig))-[0-9a-f]{8}", r"\1-HASH"),
    (r"(slice-mig-HASH)-\w{4}\b", r"\1-VM"),
    (r"(Resource Version|Generation|Observed Generation):\s+\d+", r"\1: N"),
    (r"AGE \(x\d+ over AGE\)", "AGE"),
    (r"slice-mig-HASH-VM, slice-mig-HASH-VM", "VMS"),
    (r"\s+", " "),
)
#: Whether such a line is there, and how often, depends on who was faster.
PASSING: Final = re.compile(
    r"slice (False|Unknown)? ?.*AGE"  # states on the way, of `get -w`
    r"|(AGE )?(Normal|Warning) (?!Ready|TokenInjected).*"
    r"|.*\d of 2 .*"
)


def lines_of(text: str) -> list[str]:
    """The lines with everything masked that may differ, without those that come and go."""
    found = []
    for line in text.splitlines():
        masked = line
        for pattern, stand_in in MASKS:
            masked = re.sub(pattern, stand_in, masked)
        if masked.strip() and not PASSING.fullmatch(masked.strip()):
            found.append(masked.strip())
    return sorted(set(found))


class Shell:
    """Runs the commands of the page, in a folder with the page's manifest, as the cluster's administrator."""

    def __init__(self, folder: Path, kubeconfig: Path) -> None:
        self._folder = folder
        self._environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "HOME": str(folder)}

    async def run(self, command: str) -> str:
        """What it writes, on both streams; a watch is ended when the group is Ready."""
        process = await asyncio.create_subprocess_shell(
            f"exec {command}" if command.endswith(" -w") else command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=self._folder,
            env=self._environment,
        )
        assert process.stdout is not None
        written = []
        async with asyncio.timeout(90):
            async for line in process.stdout:
                written.append(line.decode().rstrip() + "\n")
                if command.endswith(" -w") and " True " in written[-1]:
                    process.send_signal(signal.SIGINT)
            await process.wait()
        return "".join(written)


@pytest.fixture
async def stage(real_plane: RealPlane, tmp_path: Path) -> AsyncIterator[Bench]:
    async with bench(tmp_path, "--control-plane", str(real_plane.kubeconfig)) as made:
        await made.start_operator()
        yield made


def manifest_of(page: str, port: int) -> str:
    """The page's manifest, for the control plane of the test."""
    block = re.search(r"```yaml\n# slice.yaml\n(.*?)```", page, re.DOTALL)
    assert block, "docs/kubectl.md has no slice.yaml"
    return block[1].replace("10.128.0.2", "127.0.0.1").replace("6443", str(port))


async def play(page: str, shell: Shell) -> str:
    """The page with what each command says now."""
    parts, end = [], 0
    for block in BLOCK.finditer(page):
        said = [(line, await shell.run(line[2:])) for line in block[1].splitlines() if line.startswith("$ ")]
        parts += [page[end : block.start(1)], "".join(f"{command}\n{output}" for command, output in said)]
        end = block.end(1)
    return "".join([*parts, page[end:]])


@pytest.mark.timeout(240)
async def test_each_command_says_what_the_page_says(stage: Bench, real_plane: RealPlane, tmp_path: Path) -> None:
    need("kubectl")
    page = PAGE.read_text(encoding="utf-8")
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "slice.yaml").write_text(manifest_of(page, real_plane.port), encoding="utf-8")
    now = await play(page, Shell(folder, stage.kubeconfig))
    now = now.replace("Control Plane IP:    127.0.0.1", "Control Plane IP:    10.128.0.2").replace(
        f"Control Plane Port:  {real_plane.port}", "Control Plane Port:  6443"
    )
    if os.environ.get("WRITE_DOCS") == "1":
        PAGE.write_text(now, encoding="utf-8")
    assert lines_of(now) == lines_of(page) or os.environ.get("WRITE_DOCS") == "1"
