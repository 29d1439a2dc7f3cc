"""How fast entries are decoded and routed, by one thread, with nothing around it."""

import time
from datetime import UTC, datetime
from statistics import median
from typing import Any

from benchmarks import mix
from controller.core.route import route
from sinks.intake.entry import decode
from sinks.intake.events import Event


def measure(count: int, rounds: int = 5) -> dict[str, Any]:
    """Entries of the mix a second: the median of the rounds, each over `count` of them."""
    groups, published = mix.index(), datetime(2026, 1, 2, tzinfo=UTC)
    entries = [template.stamped(number) for number, template in enumerate(mix.messages(count))]
    rates: list[float] = []
    woken = 0
    for _ in range(rounds):
        began = time.perf_counter()
        woken = 0
        for entry in entries:
            event = decode(entry)
            if isinstance(event, Event) and route(event, groups, published) is not None:
                woken += 1
        rates.append(count / (time.perf_counter() - began))
    return {
        "entries": count,
        "bytes_each": round(sum(map(len, entries)) / count),
        "waking_share": round(woken / count, 2),
        "per_second": round(median(rates)),
    }
