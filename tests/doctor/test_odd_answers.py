"""Whatever answers at the endpoints, doctor comes to its end, and says of each check how it stands."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import pytest

from controller.doctor.examine import CHECKS, examine
from controller.doctor.left import in_thread
from controller.doctor.unread import UnreadError
from controller.settings import load

TOKEN: Final = "abcdef.0123456789abcdef"
#: Of a call.
TIMEOUT: Final = 1.0


def answer(body: str) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close"
    return f"{head}\r\n\r\n{body}".encode()


ODD: Final = {
    "an empty object": answer("{}"),
    "a list": answer("[]"),
    "null": answer("null"),
    "nesting without end": answer("[" * 100_000),
    "a page": answer("<html>log in</html>"),
    "fields of other types": answer('{"services": [1], "components": null, "status": 5, "permissions": 5}'),
    "no HTTP": b"\x1b[31m\x00\xff" * 500,
    "nothing": b"",
}


@asynccontextmanager
async def server(sent: bytes, *, then_drips: bool = False) -> AsyncIterator[str]:
    """Answers all in the same way; one that drips goes on a byte at a time."""
    gone = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.read(1)
            writer.write(sent)
            while then_drips and not gone.is_set() and not writer.is_closing():
                writer.write(b" ")
                await writer.drain()
                await asyncio.wait([asyncio.ensure_future(gone.wait())], timeout=TIMEOUT / 10)
        except OSError:
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listening:
        yield f"127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        gone.set()


def settings(address: str, folder: Path) -> dict[str, str]:
    """Everything is asked there."""
    kubeconfig = folder / "kubeconfig"
    named = {"name": "a", "context": {"cluster": "a", "user": "a"}}
    cluster = {"name": "a", "cluster": {"server": f"http://{address}"}}
    user = {"name": "a", "user": {"token": TOKEN}}
    document = {"contexts": [named], "clusters": [cluster], "users": [user], "current-context": "a"}
    kubeconfig.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", **document}), encoding="utf-8")
    return {
        "subscription": "projects/my-project/subscriptions/events",
        "kubeconfig": str(kubeconfig),
        "compute_endpoint": f"http://{address}",
        "apis_endpoint": f"http://{address}",
        "pubsub_endpoint": address,
        "logging_endpoint": address,
    }


@pytest.mark.parametrize("sent", ODD.values(), ids=ODD)
async def test_whatever_is_answered_each_check_has_its_verdict(sent: bytes, tmp_path: Path) -> None:
    async with server(sent) as address:
        found = await examine(load(settings(address, tmp_path), {}), timeout=TIMEOUT)
    assert [each.check for each in found] == [name for name, _, _ in CHECKS]
    said = json.dumps([each.shown() for each in found], ensure_ascii=False)
    assert TOKEN not in said
    assert all(len(each.verdict.message) < 1000 and each.verdict.message.isprintable() for each in found)
    states = {each.check: each.verdict.status for each in found}
    assert states["apis"] == states["subscription"] == "failed"


@pytest.mark.slow
async def test_the_command_ends_though_an_answer_never_does(tmp_path: Path) -> None:
    async with server(answer("")[:-4].replace(b": 0", b": 9999") + b"\r\n\r\n", then_drips=True) as address:
        flags = [f"--{name.replace('_', '-')}={value}" for name, value in settings(address, tmp_path).items()]
        command = [sys.executable, "-m", "controller.cli", "doctor", "--json", f"--timeout={TIMEOUT}", *flags]
        process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        out, _ = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 1
    assert len(json.loads(out)["checks"]) == len(CHECKS)


async def test_a_call_in_a_thread_returns_and_raises_as_it_does() -> None:
    def refuse() -> str:
        raise ValueError("no")

    assert await in_thread(lambda: 5) == 5
    with pytest.raises(ValueError, match="no"):
        await in_thread(refuse)


def test_a_reason_is_one_line_that_a_terminal_can_bear() -> None:
    assert UnreadError("the sink", "a\n b\x1b[31m.").why == "a b\N{REPLACEMENT CHARACTER}[31m"
    assert UnreadError("the sink", "x" * 1000).why == "x" * 400 + " ..."
