"""Our program, run to its end."""

import asyncio
from collections.abc import Mapping

from tests.scenarios.harness import PROGRAM, clean_environment


async def run(*arguments: str, environment: Mapping[str, str] | None = None) -> tuple[int, str, str]:
    """Exit code, stdout, stderr."""
    process = await asyncio.create_subprocess_exec(
        *(*PROGRAM, *arguments),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=clean_environment() | dict(environment or {}),
    )
    try:
        out, error = await asyncio.wait_for(process.communicate(), 30)
    except TimeoutError:
        process.kill()
        raise AssertionError(f"{' '.join(arguments)} did not end: {await process.communicate()}") from None
    assert process.returncode is not None
    return process.returncode, out.decode(), error.decode()
