"""How long things take in the world: ranges to draw from, one seed, one scale.

Never a wall clock: a drawn number of seconds is only ever waited for with the event loop's timer. No TPU figure was
found in public (facts: audit logs 4), so the defaults are short enough for a demo and long enough for every state to
be seen; they are not a measurement of Compute Engine.
"""

import random
from dataclasses import dataclass

__all__ = ["Dice", "Span", "Timings"]


@dataclass(frozen=True, slots=True)
class Span:
    """A duration in seconds, drawn evenly from `low` to `high`."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not 0 <= self.low <= self.high:
            msg = f"a span needs 0 <= low <= high, got {self.low} and {self.high}"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True)
class Timings:
    """Every duration of the world. `scale` multiplies them all; `Timings(scale=0)` is a world that does not wait."""

    scale: float = 1.0
    #: From the acceptance of any operation until it is RUNNING.
    operation_pending: Span = Span(0.02, 0.05)
    #: From RUNNING to DONE, for policies, templates and groups.
    operation_running: Span = Span(0.4, 0.8)
    #: From the acceptance of a group's insert until it begins to make VMs.
    group_scheduling: Span = Span(0.1, 0.2)
    #: From the acceptance of setMetadata until the guest sees it, and from there to the operation's DONE.
    metadata_effect: Span = Span(0.0, 0.0)
    metadata_done: Span = Span(0.2, 0.5)
    #: A VM's way to RUNNING, state by state (facts: GCE 2).
    pending: Span = Span(0.2, 0.4)
    provisioning: Span = Span(0.4, 0.6)
    staging: Span = Span(0.9, 2.4)
    #: From RUNNING until `instances.insert` is DONE, for the VMs whose operation ends after it.
    insert_done_after: Span = Span(0.0, 0.3)
    #: From RUNNING until the platform has written its last attributes.
    platform_attributes: Span = Span(0.0, 0.2)
    #: STOPPING to TERMINATED, or to gone.
    stopping: Span = Span(0.4, 0.8)
    #: Down after a host error or maintenance, until Compute Engine restarts the VM.
    restart: Span = Span(1.0, 1.5)
    #: From a VM's stop until its group's repair begins.
    repair: Span = Span(0.5, 1.0)
    #: Between a group's attempts to make a VM, and between progress checks of a bulk request.
    retry: Span = Span(1.5, 2.5)
    #: From the failure of one creation's capacity check to the end of its operation (refused starts: 1.4 to 1.8 s).
    refused_insert: Span = Span(0.5, 0.9)
    #: From all hosts RUNNING until the accelerator topology is ACTIVE.
    topology: Span = Span(0.2, 0.4)


class Dice:
    """The seeded source of everything drawn in a world."""

    def __init__(self, seed: int, scale: float = 1.0) -> None:
        self.random = random.Random(seed)
        self._scale = scale

    def seconds(self, span: Span) -> float:
        """A duration drawn from the span, scaled."""
        return self._scale * self.random.uniform(span.low, span.high)
