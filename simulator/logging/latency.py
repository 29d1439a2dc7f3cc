"""How long an entry takes from its writing to the topic. Seeded, with one scale.

Measured over public audit entries (receiveTimestamp - timestamp): the first entry of an operation median 1.2 s, at
most 2.8 s; the last median 0.7 s, at most 1.2 s; system events at most 1.3 s. That is arrival at Logging; what sink
and Pub/Sub add is published nowhere, and is not added here. For entries that VMs and the operator write no figure was
found: they take as long as a last entry.
"""

import math
import random
from dataclasses import dataclass

from simulator.seams import Json

__all__ = ["Latency"]


@dataclass(frozen=True, slots=True)
class _Shape:
    """A log-normal draw in seconds, cut off at its maximum."""

    median: float
    spread: float
    most: float


_FIRST = _Shape(1.2, 0.35, 2.8)
_LAST = _Shape(0.7, 0.25, 1.2)
_SYSTEM = _Shape(0.7, 0.3, 1.3)


class Latency:
    """Draws latencies; scale 0 is a log that does not wait."""

    def __init__(self, seed: int, scale: float = 1.0) -> None:
        self._random = random.Random(f"log latency {seed}")
        self._scale = scale

    def seconds(self, entry: Json) -> float:
        """The latency of this entry."""
        shape = _shape(entry)
        # Drawn again when beyond the maximum: clipping would pile entries up at it.
        while True:
            drawn = self._random.lognormvariate(math.log(shape.median), shape.spread)
            if drawn <= shape.most:
                return drawn * self._scale


def _shape(entry: Json) -> _Shape:
    if entry.get("logName", "").endswith("cloudaudit.googleapis.com%2Fsystem_event"):
        return _SYSTEM
    operation = entry.get("operation") or {}
    return _FIRST if operation.get("first") and not operation.get("last") else _LAST
