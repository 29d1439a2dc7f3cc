"""A subscription and its server in a process whose wall clock jumps: `python -m tests.sinks.jumping FILE`.

Run under libfaketime, which takes the clock's offset from FILE. Prints what happened as one line of JSON.
"""

import asyncio
import json
import sys
import time
from pathlib import Path

from tests.sinks.reading import LoopClock, reading
from tests.sinks.services import Embedded, Events
from tests.sinks.test_supervision import LIMITS

#: One after the other, as libfaketime writes them; the first is none.
JUMPS = ("+0", "+2d", "-2d", "+0")
#: So many probes must be answered after each jump.
PROBES = 3


async def live(offset: Path) -> dict[str, object]:
    """What was delivered after each jump, how the clock stood then in days, how many streams it took, every state."""
    embedded = Embedded()
    await embedded.start()
    events = Events(embedded.endpoint, "jumping")
    await events.make()
    began, days = _wall(), []
    async with reading(events.endpoint, LoopClock(), limits=LIMITS, path=events.path) as reader:
        for number, jump in enumerate(JUMPS):
            await asyncio.to_thread(offset.write_text, jump, "ascii")
            days.append(round((_wall() - began) / 86_400))
            await events.publish(str(number).encode())
            await reader.until_delivered(str(number).encode())
            await probes(embedded, PROBES)
        told = {
            "delivered": [body.decode() for body in reader.bodies],
            "days": days,
            "streams": reader.subscription.counts.streams,
            "states": [(state.connected, state.error) for state in reader.states],
        }
    told["left"] = len(await events.left())
    embedded.broker.close()
    await embedded.stop()
    return told


def _wall() -> float:
    return time.time()  # noqa: TID251 - the very clock that jumps


async def probes(embedded: Embedded, more: int) -> None:
    """Wait for so many more probes of the stream."""

    def count() -> int:
        rows = embedded.calls.rows()
        return sum(
            row["count"] for row in rows if row["method"] == "Subscriber.GetSubscription" and row["code"] == "OK"
        )

    wanted = count() + more
    async with asyncio.timeout(30):
        while count() < wanted:  # noqa: ASYNC110 - the counts tell nobody that they change
            await asyncio.sleep(0.01)


if __name__ == "__main__":
    print(json.dumps(asyncio.run(live(Path(sys.argv[1])))))  # noqa: T201 - it is the result
