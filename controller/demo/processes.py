"""The demo's own processes, each in a group of its own, none of which outlives the demo.

Stopped in order and in bounded time; and should the demo itself be killed, the kernel tells them (Linux; elsewhere a
killed demo leaves them).
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

#: How long a process may take to end after SIGTERM, before its whole group is killed.
GRACE: Final = 4.0
#: Asks for SIGTERM at the parent's death (PR_SET_PDEATHSIG, which survives exec), then becomes the real program. The
#: parent may be gone by then: its id tells.
_LAUNCH: Final = """
import ctypes, os, signal, sys
try:
    ctypes.CDLL(None).prctl(1, signal.SIGTERM, 0, 0, 0)
except AttributeError:
    pass
if os.getppid() != int(sys.argv[1]):
    sys.exit(1)
os.execv(sys.argv[2], sys.argv[2:])
"""


class ProcessError(Exception):
    """A process ended, or said nothing, when it should have been there."""


@dataclass(frozen=True, slots=True)
class Child:
    """A process of the demo, leader of its own process group; `log` has its stderr (and stdout, unless read)."""

    name: str
    process: asyncio.subprocess.Process
    log: Path
    output: "Output | None" = None

    async def first_line(self, timeout: float) -> str:
        """The first line of its stdout; no more is read. Raises ProcessError with its last words if none comes."""
        assert self.output is not None
        try:
            line = await asyncio.wait_for(self.output.reader.readline(), timeout)
        except TimeoutError:
            raise ProcessError(f"the {self.name} said nothing for {timeout:g} s: {self.last_words()}") from None
        finally:
            self.output.transport.close()
        if not line:
            await self.process.wait()
            raise ProcessError(f"the {self.name} ended with code {self.process.returncode}: {self.last_words()}")
        return line.decode()

    def last_words(self) -> str:
        """The last line of its log."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").split("\n") if self.log.exists() else []
        return next((line for line in reversed(lines) if line.strip()), "it left no message")

    async def ended(self) -> None:
        """Returns never while it runs; raises ProcessError when it ends by itself."""
        code = await self.process.wait()
        raise ProcessError(f"the {self.name} ended with code {code}: {self.last_words()}")

    async def stop(self) -> None:
        """SIGTERM, a grace, then SIGKILL to whatever is left of its group."""
        with contextlib.suppress(ProcessLookupError):
            self.process.terminate()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.process.wait(), GRACE)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        await self.process.wait()
        if self.output is not None:
            self.output.transport.close()


@dataclass(frozen=True, slots=True)
class Output:
    """A process's stdout. Not asyncio's own: with that, a process has not ended while a child of it holds the pipe."""

    reader: asyncio.StreamReader
    transport: asyncio.BaseTransport

    @classmethod
    async def of(cls, descriptor: int) -> "Output":
        """Read from a pipe's end, which is closed with the transport."""
        reader = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb")
        )
        return cls(reader, transport)


async def start(
    name: str, command: Sequence[str], environment: Mapping[str, str], log: Path, *, read: bool = False
) -> Child:
    """Run a command, its program by full path; its output goes to `log`. `read`: keep stdout for `first_line`."""
    read_end, write_end = os.pipe() if read else (None, None)
    # Nothing is awaited once the process is there: whoever is cancelled would not know of it.
    output = None if read_end is None else await Output.of(read_end)
    try:
        with log.open("ab") as file:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", _LAUNCH, str(os.getpid()), *command),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=file if write_end is None else write_end,
                stderr=file,
                env=dict(environment),
                start_new_session=True,
            )
    finally:
        if write_end is not None:
            os.close(write_end)
    return Child(name, process, log, output)
