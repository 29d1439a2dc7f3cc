"""Channels: who is spoken to without TLS, and what missing credentials look like."""

import asyncio
from typing import Any

import google.auth
import pytest
from google.auth.credentials import AnonymousCredentials
from google.auth.exceptions import DefaultCredentialsError

from sinks.audit import writer
from sinks.channel import is_loopback
from sinks.intake import subscription
from sinks.intake.delivery import Limits, StreamState
from sinks.intake.subscription import Subscription
from tests.sinks.pubsub_server import SUBSCRIPTION
from tests.sinks.reading import LoopClock, acking


@pytest.mark.parametrize(
    ("endpoint", "loopback"),
    [
        ("127.0.0.1:8085", True),
        ("127.9.9.9:1", True),
        ("localhost:8085", True),
        ("[::1]:8085", True),
        ("pubsub.googleapis.com:443", False),
        ("10.0.0.1:443", False),
        ("127.0.0.1.example.com:443", False),
        ("localhost.example.com:443", False),
    ],
)
def test_only_this_machine_is_spoken_to_without_tls(endpoint: str, loopback: bool) -> None:  # noqa: FBT001
    assert is_loopback(endpoint) is loopback


@pytest.mark.parametrize("client_for", [subscription.client_for, writer.client_for])
async def test_credentials_are_looked_up_once_for_the_scopes_of_the_service(
    client_for: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, ...]] = []
    anonymous: Any = AnonymousCredentials
    credentials = anonymous()

    def default(scopes: tuple[str, ...]) -> tuple[Any, str]:
        asked.append(scopes)
        return credentials, "example-project"

    monkeypatch.setattr(google.auth, "default", default)
    factory = client_for()
    clients = [await factory(), await factory()]
    for client in clients:
        await client.transport.close()
    assert len(asked) == 1
    assert "https://www.googleapis.com/auth/cloud-platform" in asked[0]


async def test_missing_credentials_are_named_with_what_to_do(monkeypatch: pytest.MonkeyPatch, clock: LoopClock) -> None:
    missing: Any = DefaultCredentialsError

    def default(**_: Any) -> None:
        raise missing("Your default credentials were not found.")

    monkeypatch.setattr(google.auth, "default", default)
    told: asyncio.Queue[StreamState] = asyncio.Queue()
    reader = Subscription(subscription.client_for(), SUBSCRIPTION, acking, told.put_nowait, Limits(), clock)
    running = asyncio.create_task(reader.run())
    state = await told.get()
    await reader.close(1)
    await running
    assert state.error == (
        f"no usable Google credentials to pull {SUBSCRIPTION} (Your default credentials were not found.); give the "
        "operator's service account Workload Identity, or set GOOGLE_APPLICATION_CREDENTIALS"
    )
