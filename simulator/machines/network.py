"""Sockets that listen in another network namespace, and what is served on them: the only ways out of a VM."""

import asyncio
import contextlib
import ctypes
import os
import socket
import threading
from pathlib import Path

_CLONE_NEWNET = 0x40000000


def listen_in(namespace: Path, address: str, port: int) -> socket.socket:
    """A listening socket in the network of `namespace` (`/proc/<pid>/ns/net`). Raises OSError.

    A socket belongs for ever to the network in which it was made. A thread of its own enters the namespace, as it
    is a property of threads; it ends there.
    """
    made: list[socket.socket | OSError] = []

    def enter_and_listen() -> None:
        try:
            with namespace.open("rb") as entered:
                if ctypes.CDLL(None, use_errno=True).setns(entered.fileno(), _CLONE_NEWNET) != 0:
                    number = ctypes.get_errno()
                    raise OSError(number, os.strerror(number))  # noqa: TRY301 - handed over to the caller's thread
            made.append(socket.create_server((address, port), family=_family(address)))
        except OSError as error:
            made.append(error)

    thread = threading.Thread(target=enter_and_listen)
    thread.start()
    thread.join()
    if isinstance(made[0], OSError):
        raise made[0]
    return made[0]


def _family(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address else socket.AF_INET


async def forward(listener: socket.socket, host: str, port: int) -> asyncio.Server:
    """Carry each connection to host:port of this process's own network, until the server is closed."""

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection(host, port)
        except OSError:
            writer.close()
            return
        await asyncio.gather(_pipe(reader, far_writer), _pipe(far_reader, writer))

    return await asyncio.start_server(carry, sock=listener)


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while chunk := await reader.read(65536):
            writer.write(chunk)
            await writer.drain()
    writer.close()
