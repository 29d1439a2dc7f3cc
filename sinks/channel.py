"""gRPC channels to Google's APIs, or without TLS and credentials to a stand-in on loopback.

Each call makes a channel with a connection of its own: a connection that has gone silent is left behind with it.
"""

import asyncio
import ipaddress
from collections.abc import Awaitable, Callable
from typing import Any, Final

import google.auth
import grpc

_OPTIONS: Final = (
    # One response may carry all outstanding bytes.
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    # Without it a new channel would be given the old one's dead connection.
    ("grpc.use_local_subchannel_pool", 1),
)


def is_loopback(endpoint: str) -> bool:
    """Whether `host:port` names this machine, which alone is spoken to without TLS."""
    host = endpoint.rpartition(":")[0].strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def gapic_clients(client: Any, transport: Any, endpoint: str | None) -> Callable[[], Awaitable[Any]]:
    """A factory of asynchronous GAPIC clients. `endpoint` is `host:port`, None for Google's own.

    The credentials are Google's application default ones, looked up in a thread at the first call and then kept. The
    factory raises google.auth.exceptions.DefaultCredentialsError where there are none.
    """
    if endpoint is not None and is_loopback(endpoint):
        return lambda: _loopback(client, transport, endpoint)
    found: list[Any] = []

    async def secure() -> Any:
        if not found:
            credentials, _ = await asyncio.to_thread(google.auth.default, scopes=transport.AUTH_SCOPES)
            found.append(credentials)
        channel = transport.create_channel(
            endpoint or transport.DEFAULT_HOST,
            credentials=found[0],
            options=_OPTIONS,
        )
        return client(transport=transport(channel=channel))

    return secure


async def connect(channel: Any) -> None:
    """Wait until the channel's connection stands, or is refused: the first call will say why.

    gRPC itself waits 20 s for a peer that answers nothing, with every call on the channel.
    """
    state = channel.get_state(try_to_connect=True)
    while state not in (grpc.ChannelConnectivity.READY, grpc.ChannelConnectivity.TRANSIENT_FAILURE):
        await channel.wait_for_state_change(state)
        state = channel.get_state(try_to_connect=True)


async def _loopback(client: Any, transport: Any, endpoint: str) -> Any:
    return client(transport=transport(channel=grpc.aio.insecure_channel(endpoint, options=_OPTIONS)))
