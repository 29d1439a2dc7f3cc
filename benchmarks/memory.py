"""Whether memory grows with the number of events: the whole path, over a million of them, in a process of its own."""

import asyncio
from pathlib import Path
from statistics import linear_regression
from typing import Any, Final

from benchmarks.pipeline import Pipeline
from sinks.intake.subscription import client_for

_SAMPLES: Final = 20
#: What has to fill first (the memory of what came before, caches of metrics) is no growth.
_WARM_UP: Final = 0.2
_STATM: Final = Path("/proc/self/statm")
_PAGE: Final = 4096
_LOOK_EVERY: Final = 0.02


async def measure(endpoint: str, count: int) -> dict[str, Any]:
    """Resident memory over so many messages of a fountain, and its slope in MB for each 100,000 once warmed up."""
    pipeline = Pipeline(client_for(endpoint), "projects/bench/subscriptions/fountain", lambda _: None)
    running = asyncio.create_task(pipeline.subscription.run())
    samples: list[tuple[int, float]] = []
    try:
        while (done := pipeline.subscription.counts.acked) < count:
            if done // (count / _SAMPLES) > len(samples):
                samples.append((done, _rss()))
            await asyncio.sleep(_LOOK_EVERY)
        samples.append((done, _rss()))
    finally:
        await pipeline.subscription.close(grace=1)
        await pipeline.mailboxes.close(grace=1)
        await running
    warm = [(done, rss) for done, rss in samples if done >= count * _WARM_UP]
    slope = linear_regression([done / 100_000 for done, _ in warm], [rss for _, rss in warm]).slope
    return {
        "events": count,
        "rss_mb_first": round(warm[0][1], 1),
        "rss_mb_last": round(warm[-1][1], 1),
        "mb_per_100000": round(slope, 3),
    }


def known() -> bool:
    """Whether this system tells resident memory the way that is read here."""
    return _STATM.exists()


def _rss() -> float:
    return int(_STATM.read_text().split()[1]) * _PAGE / 1e6
