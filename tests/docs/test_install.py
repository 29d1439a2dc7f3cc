"""Every block of docs/install.md says who can run it, and what is runnable runs, in its order, as one shell does it.

The cluster and Google Cloud are the simulator's; the operator is a process where the Deployment would be a Pod.
"""

import asyncio
import re
import shutil
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.needs import need
from tests.scenarios.harness import Bench, bench, clean_environment

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "docs/install.md").read_text(encoding="utf-8")
FENCE: Final = re.compile(r"^```(.*\n.*)\n((?:.*\n)*?)^```$", re.MULTILINE)


def blocks() -> list[tuple[str, str]]:
    """(what stands behind the fence and in the first line, text)"""
    return [(head.strip(), text) for head, text in FENCE.findall(PAGE)]


def runnable() -> str:
    """All that is runnable, as one script."""
    return "\n".join(text for head, text in blocks() if head == "sh\n# runnable")


def test_every_block_says_who_can_run_it() -> None:
    assert {head for head, _ in blocks()} == {"sh\n# runnable", "sh\n# needs-gcp"}


async def _shell(script: str, folder: Path, environment: dict[str, str]) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        "bash",
        "-Eeuo",
        "pipefail",
        "-c",
        script,
        cwd=folder,
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        out, _ = await asyncio.wait_for(process.communicate(), 240)
    except TimeoutError:
        process.kill()
        raise AssertionError(f"it did not end: {await process.communicate()}") from None
    assert process.returncode is not None
    return process.returncode, out.decode()


def _checkout(folder: Path) -> None:
    """What a user has cloned, with an environment that is made already."""
    for name in ("deploy", "terraform"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns(".terraform"))
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        (folder / name).symlink_to(ROOT / name)
    binaries = folder / ".venv" / "bin"
    binaries.mkdir(parents=True)
    (folder / ".venv" / ".ready").touch()
    for name in ("python", "tpu-node-group"):
        (binaries / name).symlink_to(Path(sys.executable).parent / name)


def _environment(stage: Bench, folder: Path) -> dict[str, str]:
    settings: dict[str, str] = stage.ready["env"]
    return {**clean_environment(), **settings, "KUBECONFIG": str(stage.kubeconfig), "HOME": str(folder)}


@pytest.mark.slow
@pytest.mark.kubectl
@pytest.mark.timeout(280)
async def test_what_is_runnable_runs(tmp_path: Path) -> None:
    need("kubectl")
    need("make")
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    _checkout(checkout)
    # The page ends with the CRDs gone: nothing of theirs can be watched to the end.
    async with bench(tmp_path, "--timings", "0.1", "--log-latency", "0.1", custom=False) as stage:
        await stage.start_operator()
        code, out = await _shell(runnable(), checkout, _environment(stage, tmp_path))
        assert code == 0, out
        assert "tpunodegroup.tpu.google.com/my-slice condition met" in out
        assert 'tpunodegroup.tpu.google.com "my-slice" deleted' in out
        assert (await stage.control.instances()) == {}
        assert await stage.cluster.list("CustomResourceDefinition") == []
