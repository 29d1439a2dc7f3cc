"""The processes of a measurement: `python -m benchmarks.roles ROLE`. None shares an interpreter with another.

serve and pour are servers: they say their endpoint on stdout, and end when their stdin does, so that they cannot
outlive whoever started them. publish, consume and soak say `ready`; the latter two then what they measured, as JSON.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from statistics import quantiles
from typing import Any, Final

from google.pubsub_v1 import PublisherAsyncClient
from google.pubsub_v1.services.publisher.transports import PublisherGrpcAsyncIOTransport
from google.pubsub_v1.types import PublishRequest

from benchmarks import memory, mix
from benchmarks.fountain import Fountain
from benchmarks.peers import PEERS, STAMP, Tally
from simulator.calls import CallCounts
from simulator.faults import Faults
from simulator.pubsub.broker import Broker
from simulator.pubsub.face import PubSubFace
from simulator.rpc import serving
from sinks.channel import gapic_clients

#: Messages of one publish call at full speed.
_BATCH: Final = 50
#: The first arrivals warm up caches and connections and are not counted.
_WARM_UP: Final = 0.1


async def serve() -> None:
    """The simulator's Pub/Sub, by itself."""
    broker = Broker(lambda: datetime.now(UTC))  # noqa: TID251 - this process is its own clock
    handlers = PubSubFace(broker, CallCounts(), Faults(lambda _: True)).handlers()
    async with serving(handlers) as endpoint:
        _say(endpoint)
        await asyncio.to_thread(sys.stdin.read)
    broker.close()


async def pour(count: int) -> None:
    """A subscription with so many messages, made as they are sent."""
    async with serving((Fountain(count).handlers(),)) as endpoint:
        _say(endpoint)
        await asyncio.to_thread(sys.stdin.read)


async def soak(endpoint: str, count: int) -> None:
    """Take all that a fountain has, and print how memory grew."""
    _say("ready")
    _say(json.dumps(await memory.measure(endpoint, count)))


async def publish(endpoint: str, topic: str, count: int, rate: float) -> None:
    """Publish the mix as fast as it goes, or (rate above 0) entries that wake, one a call, so many a second."""
    client = await gapic_clients(PublisherAsyncClient, PublisherGrpcAsyncIOTransport, endpoint)()
    templates = list(mix.messages(count, waking=rate > 0))
    size = 1 if rate else _BATCH
    began = asyncio.get_running_loop().time()
    calls: set[asyncio.Task[Any]] = set()
    for start in range(0, count, size):
        if rate:
            await asyncio.sleep(max(0.0, began + start / rate - asyncio.get_running_loop().time()))
        request = PublishRequest.wrap(_request(topic, templates[start : start + size]))
        call = asyncio.create_task(client.publish(request=request, timeout=30))
        calls.add(call)
        if not rate and len(calls) == 4:
            await asyncio.gather(*calls)
            calls.clear()
    await asyncio.gather(*calls)
    await client.transport.close()
    _say("ready")


def _request(topic: str, templates: list[mix.Template]) -> Any:
    request = PublishRequest.pb()(topic=topic)
    for template in templates:
        stamp = time.monotonic_ns()
        request.messages.add(data=template.stamped(stamp), attributes={STAMP: str(stamp)})
    return request


async def consume(endpoint: str, subscription: str, peer: str, count: int, paced: int) -> None:
    """Take so many messages as one of the peers does, and print what it took."""
    tally = Tally(_expected(peer, count, paced=bool(paced)))
    _say("ready")
    began = time.process_time()
    await PEERS[peer](endpoint, subscription, tally)
    warm = int(len(tally.times) * _WARM_UP)
    cuts = quantiles((lag / 1e6 for lag in tally.lags[warm:]), n=100, method="inclusive")
    # The messages that wake nothing lie evenly between those that do.
    share, seconds = 1 - warm / len(tally.times), (tally.times[-1] - tally.times[warm]) / 1e9
    _say(
        json.dumps(
            {
                "messages": count,
                "per_second": round(count * share / max(1e-9, seconds)),
                "p50_ms": round(cuts[49], 2),
                "p99_ms": round(cuts[98], 2),
                "cpu_seconds": round(time.process_time() - began, 2),
            }
        )
    )


def _expected(peer: str, count: int, *, paced: bool) -> int:
    """How many arrivals there will be: the operator looks only for entries that wake."""
    return count if peer != "operator" else sum(each.wakes for each in mix.messages(count, waking=paced))


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - what the starting process reads


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.roles", description=__doc__)
    roles = parser.add_subparsers(dest="role", required=True)
    roles.add_parser("serve")
    pouring, soaking = roles.add_parser("pour"), roles.add_parser("soak")
    publishing, consuming = roles.add_parser("publish"), roles.add_parser("consume")
    for role in (pouring, soaking, publishing, consuming):
        role.add_argument("--count", type=int, required=True)
    for role in (soaking, publishing, consuming):
        role.add_argument("--endpoint", required=True)
    publishing.add_argument("--topic", required=True)
    publishing.add_argument("--rate", type=float, default=0)
    consuming.add_argument("--subscription", required=True)
    consuming.add_argument("--peer", choices=PEERS, required=True)
    consuming.add_argument("--paced", type=int, default=0)
    return parser


if __name__ == "__main__":
    given = vars(_parser().parse_args())
    work: dict[str, Callable[..., Coroutine[Any, Any, None]]] = {
        "serve": serve,
        "pour": pour,
        "soak": soak,
        "publish": publish,
        "consume": consume,
    }
    asyncio.run(work[given.pop("role")](**given))
