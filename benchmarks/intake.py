"""The intake's benchmark: `make bench`, or `python -m benchmarks.intake --help`.

Measures decoding and routing, the way from publish to look beside the two clients of google-cloud-pubsub in the same
run, and memory. docs/benchmarks.md tells how, and what came of it.
"""

import argparse
import asyncio
import itertools
import json
import os
import platform
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from typing import Final

from google.pubsub_v1 import PublisherAsyncClient
from google.pubsub_v1.services.publisher.transports import PublisherGrpcAsyncIOTransport
from rich.console import Console

from benchmarks import decoding, memory
from benchmarks.peers import PEERS
from benchmarks.report import Json, show, targets
from sinks.channel import gapic_clients
from sinks.intake.subscription import client_for

_ROLE: Final = [sys.executable, "-m", "benchmarks.roles"]
#: Seconds after which a process of a measurement is given up.
_PATIENCE: Final = 600.0
_PROJECT: Final = "projects/bench"
_FIGURES: Final = ("per_second", "p50_ms", "p99_ms", "cpu_seconds")


def main(arguments: list[str] | None = None) -> int:
    """Measure and print. 0; with --check 1 where a promise is not kept."""
    given = _parser().parse_args(arguments)
    report = measure(given)
    judged = targets(report)
    report["targets"] = [target.to_json() for target in judged]
    if given.json:
        print(json.dumps(report, indent=2))  # noqa: T201 - the command's output
    else:
        show(report, Console())
    return 1 if given.check and not all(target.met for target in judged) else 0


def measure(given: argparse.Namespace) -> Json:
    """All measurements, one after the other."""
    report: Json = {
        "machine": {
            "cpus": os.cpu_count(),
            "python": platform.python_version(),
            "system": f"{platform.system()} {platform.machine()}",
        },
        "decode_and_route": decoding.measure(given.entries),
    }
    with _server() as endpoint:
        paths = (_path(endpoint, number) for number in itertools.count())
        report["paced"] = _paced(endpoint, paths, given.rate, round(given.rate * given.seconds))
        report["full_speed"] = _compare(endpoint, paths, given.messages, given.rounds, backlog=False)
        report["backlog"] = _compare(endpoint, paths, given.messages, given.rounds, backlog=True)
    report["memory"] = _memory(given.events) if memory.known() else None
    return report


def _paced(endpoint: str, paths: Iterator[tuple[str, str]], rate: float, count: int) -> Json:
    """Latencies while messages come one by one, for each peer on a path of its own."""
    found: Json = {"rate": rate, "messages": count}
    for peer in PEERS:
        topic, subscription = next(paths)
        with _consumer(endpoint, subscription, peer, count, paced=True) as consumer:
            _publish(endpoint, topic, count, rate)
            found[peer] = _outcome(consumer)
    return found


def _compare(endpoint: str, paths: Iterator[tuple[str, str]], count: int, rounds: int, *, backlog: bool) -> Json:
    """Rates while messages are published as fast as it goes, or (`backlog`) of taking what had been published before.

    The peers take turns, so that a busy moment of the machine meets them all. Medians over the rounds.
    """
    runs: dict[str, list[Json]] = {peer: [] for peer in PEERS}
    for _ in range(rounds):
        for peer in PEERS:
            topic, subscription = next(paths)
            if backlog:
                _publish(endpoint, topic, count, rate=0)
            with _consumer(endpoint, subscription, peer, count, paced=False) as consumer:
                if not backlog:
                    _publish(endpoint, topic, count, rate=0)
                runs[peer].append(_outcome(consumer))
    found: Json = {"messages": count, "rounds": rounds}
    for peer, outcomes in runs.items():
        found[peer] = {name: median(each[name] for each in outcomes) for name in _FIGURES}
    found["operator_to_raw"] = round(found["operator"]["per_second"] / found["raw"]["per_second"], 2)
    found["operator_to_threads"] = round(found["operator"]["per_second"] / found["threads"]["per_second"], 2)
    return found


def _memory(count: int) -> Json:
    """The slope of resident memory over so many events."""
    with (
        _running("pour", "--count", str(count)) as fountain,
        _running("soak", "--endpoint", _line(fountain), "--count", str(count)) as soaking,
    ):
        assert _line(soaking) == "ready"
        return _outcome(soaking)


def _path(endpoint: str, number: int) -> tuple[str, str]:
    """A new topic and its subscription."""
    topic, subscription = f"{_PROJECT}/topics/topic-{number}", f"{_PROJECT}/subscriptions/subscription-{number}"

    async def create() -> None:
        publisher = await gapic_clients(PublisherAsyncClient, PublisherGrpcAsyncIOTransport, endpoint)()
        subscriber = await client_for(endpoint)()
        await publisher.create_topic(name=topic, timeout=10)
        await subscriber.create_subscription(
            request={"name": subscription, "topic": topic, "ack_deadline_seconds": 60}, timeout=10
        )
        await publisher.transport.close()
        await subscriber.transport.close()

    asyncio.run(create())
    return topic, subscription


@contextmanager
def _server() -> Iterator[str]:
    """The embedded Pub/Sub in a process of its own; yields where."""
    with _running("serve") as server:
        yield _line(server)


@contextmanager
def _consumer(
    endpoint: str, subscription: str, peer: str, count: int, *, paced: bool
) -> Iterator["subprocess.Popen[str]"]:
    arguments = ["--endpoint", endpoint, "--subscription", subscription, "--peer", peer, "--count", str(count)]
    with _running("consume", *arguments, "--paced", str(int(paced))) as consumer:
        assert _line(consumer) == "ready"
        yield consumer


def _publish(endpoint: str, topic: str, count: int, rate: float) -> None:
    arguments = ["--endpoint", endpoint, "--topic", topic, "--count", str(count), "--rate", str(rate)]
    with _running("publish", *arguments) as publisher:
        assert _line(publisher) == "ready"


def _outcome(consumer: "subprocess.Popen[str]") -> Json:
    outcome: Json = json.loads(_line(consumer))
    return outcome


def _line(process: "subprocess.Popen[str]") -> str:
    """The next line that it says. Raises RuntimeError where it ends without one."""
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"{' '.join(map(str, process.args))} ended with code {process.wait()}")  # type: ignore[arg-type]
    return line.strip()


@contextmanager
def _running(*arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """A role in a process of its own, which is gone afterwards."""
    process = subprocess.Popen(  # noqa: S603 - ourselves
        [*_ROLE, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    patience = threading.Timer(_PATIENCE, process.kill)
    patience.start()
    try:
        yield process
    finally:
        patience.cancel()
        process.kill()
        process.communicate()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.intake", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--check", action="store_true", help="exit with 1 where a promise is not kept")
    parser.add_argument("--entries", type=int, default=10_000, help="entries of a round of decoding")
    parser.add_argument("--rate", type=float, default=50, help="messages a second of the paced run")
    parser.add_argument("--seconds", type=float, default=20, help="length of the paced run, for each peer")
    parser.add_argument("--messages", type=int, default=20_000, help="backlog of a run at full speed")
    parser.add_argument("--rounds", type=int, default=3, help="runs at full speed, for each peer")
    parser.add_argument("--events", type=int, default=1_000_000, help="events of the memory run")
    return parser


if __name__ == "__main__":
    sys.exit(main())
