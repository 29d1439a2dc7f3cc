"""The script waits for its token by a hanging GET, whatever happens meanwhile."""

import asyncio
import hashlib

from simulator.metadata.server import MetadataServer
from simulator.seams import PlannedFault
from tests.simulator.metadata.machines import Calls, Faults, Machines
from tests.startup.conftest import MACHINE
from tests.startup.node import Node

TOKEN = "abcdef.0123456789abcdef"
#: Waits as `main` does and tells a digest of the token, as no token may be printed.
WAIT = """
source "$SCRIPT"
WORK=$(mktemp -d "$ROOT/run/test.XXXXXX")
wait_for_token
printf "%s" "${ATTRIBUTES[kubeadm-join-token]}" | sha256sum
"""
FOUND = hashlib.sha256(TOKEN.encode()).hexdigest()


async def finish(process: asyncio.subprocess.Process) -> str:
    printed, _ = await process.communicate()
    return printed.decode().split(maxsplit=1)[0]


async def test_a_token_that_is_there_is_taken_at_once(node: Node, machines: Machines) -> None:
    machines.set_attributes(MACHINE.id, kubeadm_join_token=TOKEN)
    assert (await node.output(WAIT)).split()[0] == FOUND


async def test_a_token_that_comes_later_wakes_it_without_polling(node: Node, machines: Machines, calls: Calls) -> None:
    process = await node.bash(WAIT)
    await until_waiting(machines, calls, reads=1)
    started = asyncio.get_running_loop().time()
    machines.set_attributes(MACHINE.id, kubeadm_join_token=TOKEN)
    assert await finish(process) == FOUND
    assert calls.codes == ["200", "200"]
    assert asyncio.get_running_loop().time() - started < 5


async def test_a_change_of_something_else_is_no_token(node: Node, machines: Machines, calls: Calls) -> None:
    process = await node.bash(WAIT)
    await until_waiting(machines, calls, reads=1)
    machines.set_attributes(MACHINE.id, ssh_keys="someone")
    await until_waiting(machines, calls, reads=2)
    machines.set_attributes(MACHINE.id, kubeadm_join_token=TOKEN)
    assert await finish(process) == FOUND


async def test_it_survives_a_server_that_says_503(node: Node, machines: Machines, faults: Faults, calls: Calls) -> None:
    async def nothing() -> None: ...

    faults.planned = [PlannedFault("error-before", "503", 0, nothing)]
    machines.set_attributes(MACHINE.id, kubeadm_join_token=TOKEN)
    process = await node.bash(WAIT)
    await process.communicate()
    assert calls.codes == ["503", "200"]


async def test_it_survives_a_restart_of_the_server(
    node: Node, machines: Machines, server: MetadataServer, calls: Calls
) -> None:
    process = await node.bash(WAIT)
    await until_waiting(machines, calls, reads=1)
    await server.stop()
    # What comes while nobody listens is not lost: the ETag that is asked with is that of the content last read.
    machines.set_attributes(MACHINE.id, kubeadm_join_token=TOKEN)
    await server.start(server.port)
    assert FOUND in (await process.communicate())[0].decode()


async def test_it_asks_with_the_etag_of_the_same_response(node: Node) -> None:
    text = """
    source "$SCRIPT"
    WORK=$(mktemp -d "$ROOT/run/test.XXXXXX")
    metadata() {
      printf 'HTTP/1.1 200 OK\\r\\netag: %s\\r\\nX-Other: 1\\r\\n\\r\\n' "after-$ETAG" >"$WORK/headers"
      printf '{"kubeadm-ca-hash": "%s"}' "$1"
    }
    next_attributes 5 && next_attributes 5
    printf '%s\\n%s' "$ETAG" "${ATTRIBUTES[kubeadm-ca-hash]}"
    """
    assert await node.output(text) == (
        "after-after-NONE\ninstance/attributes/?"
        "recursive=true&alt=json&wait_for_change=true&timeout_sec=5&last_etag=after-NONE"
    )


async def until_waiting(machines: Machines, calls: Calls, *, reads: int) -> None:
    """Wait until so many reads were answered and the next one hangs."""
    while len(calls.codes) < reads or machines.waiting(MACHINE.id) == 0:
        await machines.moved()
