"""Credentials that fail for a while: told as what they are, tried again, and no message is lost.

B14: https://github.com/googleapis/google-cloud-python/issues/15178
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import google.auth.exceptions
import grpc
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from google.auth import credentials as google_credentials
from google.pubsub_v1.services.subscriber import SubscriberAsyncClient
from google.pubsub_v1.services.subscriber.transports import SubscriberGrpcAsyncIOTransport

from simulator.calls import CallCounts
from simulator.faults import Faults
from simulator.pubsub.face import PubSubFace
from sinks.intake.subscription import ClientFactory
from tests.sinks.reading import LoopClock, reading
from tests.sinks.services import Embedded, Events
from tests.sinks.test_supervision import LIMITS, hurries, one_more


class Tokens(google_credentials.Credentials):  # type: ignore[misc, no-untyped-call, unused-ignore]
    """Credentials whose token lives as long as a call, and whose source can be out of order."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.broken = False
        self.asked = 0

    @property
    def expired(self) -> bool:
        """Always: each call asks for a new one."""
        return True

    @property
    def valid(self) -> bool:
        """Never for longer than a call."""
        return False

    def refresh(self, request: Any) -> None:  # noqa: ARG002 - the base class's shape
        """A token, or the error of a metadata server that is not well."""
        self.asked += 1
        if self.broken:
            raise google.auth.exceptions.RefreshError("503 from the metadata server")  # type: ignore[no-untyped-call]
        self.token = "no-secret"


def certificate() -> tuple[bytes, bytes]:
    """A key and a certificate of localhost, PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime(2020, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2120, 1, 1, tzinfo=UTC))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    plain = serialization.PrivateFormat.PKCS8
    return key.private_bytes(pem, plain, serialization.NoEncryption()), made.public_bytes(pem)


@asynccontextmanager
async def over_tls(embedded: Embedded, tokens: Tokens) -> AsyncIterator[ClientFactory]:
    """The same Pub/Sub behind TLS, and clients that bear tokens as they do with Google's."""
    key, chain = certificate()
    server = grpc.aio.server(options=(("grpc.so_reuseport", 0),))
    face = PubSubFace(embedded.broker, CallCounts(), Faults(lambda _name: True))
    server.add_generic_rpc_handlers(face.handlers())
    port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([(key, chain)]))
    await server.start()
    transport: Any = SubscriberGrpcAsyncIOTransport

    async def client() -> Any:
        channel = transport.create_channel(
            f"localhost:{port}",
            credentials=tokens,
            ssl_credentials=grpc.ssl_channel_credentials(chain),
            options=(("grpc.use_local_subchannel_pool", 1),),
        )
        return SubscriberAsyncClient(transport=transport(channel=channel))

    try:
        yield client
    finally:
        await server.stop(None)


@pytest.mark.parametrize("broken_at_first", [True, False], ids=["from the start", "in the middle"])
async def test_b14_a_token_that_cannot_be_had_is_told_and_tried_again(
    embedded: Embedded, clock: LoopClock, *, broken_at_first: bool
) -> None:
    events = Events(embedded.endpoint, "tokens")
    await events.make()
    tokens = Tokens()
    async with over_tls(embedded, tokens) as factory:
        tokens.broken = broken_at_first
        async with reading(factory, clock, limits=LIMITS, path=events.path) as reader:
            if not broken_at_first:
                await one_more(reader, events, b"1")
                # The next call that needs a token is the probe of the stream, which is silent by then.
                tokens.broken = True
            broken = await reader.until(lambda state: state.failures >= 5)
            assert hurries(reader) == [] or not broken_at_first
            await events.publish(b"2")
            tokens.broken = False
            await reader.until_delivered(b"2")
            await reader.until(lambda state: state.connected)
    assert broken.error.startswith(f"no usable Google credentials to pull {events.path} (")
    assert "503 from the metadata server" in broken.error
    assert broken.error.endswith("Workload Identity, or set GOOGLE_APPLICATION_CREDENTIALS")


async def test_credentials_that_hang_cost_an_attempt_and_no_more(embedded: Embedded, clock: LoopClock) -> None:
    events = Events(embedded.endpoint, "hanging")
    await events.make()
    tokens = Tokens()
    hung = 0

    async with over_tls(embedded, tokens) as factory:

        async def hanging_at_first() -> Any:
            nonlocal hung
            hung += 1
            if hung == 1:
                await asyncio.sleep(3600)
            return await factory()

        limits = replace(LIMITS, client_timeout=0.2)
        async with reading(hanging_at_first, clock, limits=limits, path=events.path) as reader:
            await one_more(reader, events, b"1")
    assert hung == 2
    assert reader.states[0].error == (
        f"no usable Google credentials to pull {events.path} (nothing came within 0.2 s); give the operator's service "
        "account Workload Identity, or set GOOGLE_APPLICATION_CREDENTIALS"
    )
