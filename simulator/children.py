"""Programs that the simulator starts: each in a process group of its own, none of which outlives the simulator.

They are killed when they are no longer needed; and should the simulator itself be killed, the kernel kills
them (Linux).
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

#: Asks for SIGKILL at the parent's death (PR_SET_PDEATHSIG, which survives exec), then becomes the real program. The
#: parent may be gone by then: its id tells.
_LAUNCH: Final = """
import ctypes, os, signal, sys
try:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)
except AttributeError:
    pass
if os.getppid() != int(sys.argv[1]):
    sys.exit(1)
os.execv(sys.argv[2], sys.argv[2:])
"""


class ChildError(RuntimeError):
    """A program ended when it should have been there, or failed; the message has its last words."""


@dataclass(frozen=True, slots=True)
class Child:
    """A running program; its output is in `log`."""

    name: str
    process: asyncio.subprocess.Process
    log: Path

    def check(self) -> None:
        """Raise ChildError if it has ended."""
        if self.process.returncode is not None:
            raise ChildError(f"{self.name} ended with code {self.process.returncode}: {last_words(self.log)}")

    async def kill(self) -> None:
        """End it and all that it started; returns when it is gone."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        await self.process.wait()


async def start(command: Sequence[str | Path], log: Path) -> Child:
    """Start a program, named by its full path, from the thread that will live as long as it shall."""
    program = Path(command[0])
    with log.open("ab") as output:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", _LAUNCH, str(os.getpid()), *map(str, command)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    return Child(program.name, process, log)


async def run(command: Sequence[str | Path], log: Path) -> None:
    """Run a program to its end. Raises ChildError if it fails."""
    child = await start(command, log)
    try:
        code = await child.process.wait()
    finally:
        await child.kill()
    if code != 0:
        raise ChildError(f"{child.name} {command[1]} ended with code {code}: {last_words(log)}")


def last_words(log: Path) -> str:
    """The last line of a log that says something: kubeadm's last one does not."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    said = (line for line in reversed(lines) if line.strip() and not line.startswith("To see the stack trace"))
    return next(said, "it left no message")
