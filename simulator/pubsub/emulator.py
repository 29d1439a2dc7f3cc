"""Google's own Pub/Sub emulator (Debian package google-cloud-cli-pubsub-emulator; needs java) as the event path.

Started and stopped with the simulator; topics and subscriptions in it are made through the real clients.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import socket
from pathlib import Path
from typing import Any

import grpc
from google.pubsub_v1 import PublisherAsyncClient, SubscriberAsyncClient
from google.pubsub_v1.services.publisher.transports import PublisherGrpcAsyncIOTransport
from google.pubsub_v1.services.subscriber.transports import SubscriberGrpcAsyncIOTransport

#: Where the package puts it; it is usually not on PATH.
INSTALLED = Path("/usr/lib/google-cloud-sdk/platform/pubsub-emulator/bin/cloud-pubsub-emulator")
_READY = b"Server started, listening on"
_START_SECONDS = 30.0


class EmulatorError(RuntimeError):
    """The emulator is not installed or did not start; the message says what to do."""


def find_emulator() -> str | None:
    """The command, None where it (or java) is not installed."""
    command = shutil.which("cloud-pubsub-emulator") or (str(INSTALLED) if INSTALLED.exists() else None)
    return command if command and shutil.which("java") else None


class Emulator:
    """One emulator process."""

    def __init__(self, process: asyncio.subprocess.Process, endpoint: str, drain: "asyncio.Task[None]") -> None:
        self._process = process
        self._drain = drain
        self.endpoint = endpoint

    @classmethod
    async def start(cls) -> "Emulator":
        """Start it on a free loopback port and wait until it listens. Raises EmulatorError."""
        command = find_emulator()
        if command is None:
            raise EmulatorError(
                "Google's Pub/Sub emulator is not installed: install google-cloud-cli-pubsub-emulator and a Java "
                "runtime, or use the embedded Pub/Sub"
            )
        port = _free_port()
        process = await asyncio.create_subprocess_exec(
            command,
            "--host=127.0.0.1",
            f"--port={port}",
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            await asyncio.wait_for(_until_ready(process), _START_SECONDS)
        except (TimeoutError, EmulatorError) as error:
            await _end(process)
            raise EmulatorError(f"Google's Pub/Sub emulator did not start: {error or 'no answer in 30 s'}") from error
        except asyncio.CancelledError:
            await _end(process)
            raise
        return cls(process, f"127.0.0.1:{port}", asyncio.create_task(_discard(process)))

    async def stop(self) -> None:
        """End the process; returns when it is gone."""
        await _end(self._process)
        await self._drain


async def create_event_path(endpoint: str, topic: str, subscription: str, ack_seconds: int) -> tuple[Any, Any]:
    """Make topic, subscription, dead-letter topic and its subscription through the real clients.

    Returns the async publisher and its channel, which the caller closes.
    """
    channel = grpc.aio.insecure_channel(endpoint)
    publisher = PublisherAsyncClient(transport=PublisherGrpcAsyncIOTransport(channel=channel))
    subscriber = SubscriberAsyncClient(transport=SubscriberGrpcAsyncIOTransport(channel=channel))
    dead_letters = f"{topic}-dead-letter"
    for name in (topic, dead_letters):
        await publisher.create_topic(name=name, timeout=10.0)
    await subscriber.create_subscription(
        request={"name": f"{subscription}-dead-letter", "topic": dead_letters}, timeout=10.0
    )
    await subscriber.create_subscription(
        request={
            "name": subscription,
            "topic": topic,
            "ack_deadline_seconds": ack_seconds,
            "dead_letter_policy": {"dead_letter_topic": dead_letters, "max_delivery_attempts": 5},
        },
        timeout=10.0,
    )
    return publisher, channel


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def _until_ready(process: asyncio.subprocess.Process) -> None:
    assert process.stdout is not None
    lines: list[str] = []
    while line := await process.stdout.readline():
        if _READY in line:
            return
        lines.append(line.decode(errors="replace").strip())
    raise EmulatorError("; ".join(lines[-3:]) or "it ended at once")


async def _discard(process: asyncio.subprocess.Process) -> None:
    """Read on, or a full pipe would stop it."""
    assert process.stdout is not None
    while await process.stdout.read(65536):
        pass


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        # The launcher execs java, so the process is its own group.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
