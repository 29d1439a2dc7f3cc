"""Processes of the demo: none outlives it, however it ends."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from controller.demo.processes import GRACE, Child, ProcessError, start

#: Says that it is there, has a child of its own, and does as told with SIGTERM.
OBEDIENT = "import subprocess, sys; p = subprocess.Popen(['sleep', '60']); print(p.pid, flush=True); p.wait()"
STUBBORN = "import signal, time; signal.signal(15, signal.SIG_IGN); print('here', flush=True); time.sleep(60)"


async def run(code: str, folder: Path) -> Child:
    return await start("thing", [sys.executable, "-c", code], dict(os.environ), folder / "log", read=True)


def is_alive(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except OSError:
        return False
    return re.search(r"^State:\s+Z", status, re.MULTILINE) is None


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not true():  # noqa: ASYNC110 - the kernel has no event to wait for
            await asyncio.sleep(0.02)


async def test_stopping_ends_the_process_and_its_children(tmp_path: Path) -> None:
    child = await run(OBEDIENT, tmp_path)
    grandchild = int(await child.first_line(10))
    await child.stop()
    assert child.process.returncode == -signal.SIGTERM
    await until(lambda: not is_alive(grandchild))


async def test_what_ignores_sigterm_is_killed_after_the_grace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("controller.demo.processes.GRACE", 0.1)
    assert GRACE <= 4
    child = await run(STUBBORN, tmp_path)
    assert await child.first_line(10) == "here\n"
    await child.stop()
    assert child.process.returncode == -signal.SIGKILL


async def test_a_process_that_ends_too_early_is_told_with_its_last_words(tmp_path: Path) -> None:
    child = await run("import sys; sys.exit('no such subscription')", tmp_path)
    with pytest.raises(ProcessError, match=re.escape("the thing ended with code 1: no such subscription")):
        await child.first_line(10)
    with pytest.raises(ProcessError, match="the thing ended with code 1"):
        await child.ended()
    await child.stop()


async def test_a_process_that_says_nothing_is_told(tmp_path: Path) -> None:
    child = await run("import time; time.sleep(60)", tmp_path)
    with pytest.raises(ProcessError, match=re.escape("the thing said nothing for 0.05 s: it left no message")):
        await child.first_line(0.05)
    await child.stop()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's death")
async def test_when_the_demo_itself_is_killed_its_processes_end(tmp_path: Path) -> None:
    parent = (
        "import asyncio, os, sys; from pathlib import Path; from controller.demo.processes import start\n"
        "async def main():\n"
        f"    child = await start('thing', [sys.executable, '-c', 'import time; time.sleep(60)'], dict(os.environ),"
        f" Path({str(tmp_path)!r}) / 'log')\n"
        "    print(child.process.pid, flush=True)\n"
        "    await asyncio.sleep(60)\n"
        "asyncio.run(main())"
    )
    demo = subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, text=True)  # noqa: S603, ASYNC220
    assert demo.stdout is not None
    child = int(demo.stdout.readline())
    assert is_alive(child)
    demo.kill()
    demo.wait()
    demo.stdout.close()
    await until(lambda: not is_alive(child))
