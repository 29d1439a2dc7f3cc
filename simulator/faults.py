"""Planned faults of calls and of events: which turn they have, and what happens then.

A fault counts from the moment it is planned. It stays in the list after its turn, so that a test can see that it had
it, until it is deleted; a held call is released by the deletion.
"""

import asyncio
import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast, get_args

from simulator.seams import Json, PlannedFault

CallEffect: TypeAlias = Literal["error-before", "error-after", "latency", "hold-after"]
EventEffect: TypeAlias = Literal["drop", "duplicate", "delay", "swap", "hold"]

#: HTTP status of each gRPC status (google.rpc.Code's own mapping); a fault may name either.
_HTTP_OF_GRPC = {
    "CANCELLED": 499,
    "UNKNOWN": 500,
    "INVALID_ARGUMENT": 400,
    "DEADLINE_EXCEEDED": 504,
    "NOT_FOUND": 404,
    "ALREADY_EXISTS": 409,
    "PERMISSION_DENIED": 403,
    "UNAUTHENTICATED": 401,
    "RESOURCE_EXHAUSTED": 429,
    "FAILED_PRECONDITION": 400,
    "ABORTED": 409,
    "OUT_OF_RANGE": 400,
    "UNIMPLEMENTED": 501,
    "INTERNAL": 500,
    "UNAVAILABLE": 503,
    "DATA_LOSS": 500,
}
_GRPC_OF_HTTP = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
#: `Publisher.Publish`: the gRPC faces' methods begin with a capital, `instances.get` and `get nodes` do not.
_GRPC_METHOD = re.compile(r"[A-Z]\w+\.\w+")
_METHOD = re.compile(r"[A-Z]\w+\.\w+|[a-z]\w*\.\w+|[a-z]+ [\w.-]+(/[\w-]+)?")

_EVERY = re.compile(r"every(?: ([1-9]\d{0,8}))?")


class FaultError(ValueError):
    """A fault that cannot be planned. The message names the field and what it may be."""


@dataclass(slots=True, eq=False)
class _Fault:
    id: str
    #: Its turn, counted from 1; of one that comes `again`, each so many-th time.
    nth: int
    again: bool
    milliseconds: float
    seen: int = 0
    fired: int = 0

    def turn(self) -> bool:
        """Count once; whether this is its turn."""
        self.seen += 1
        if self.seen % self.nth if self.again else self.seen != self.nth:
            return False
        self.fired += 1
        return True

    def shown(self) -> Json:
        nth = self.nth if not self.again else "every" if self.nth == 1 else f"every {self.nth}"
        return {"id": self.id, "nth": nth, "ms": self.milliseconds, "seen": self.seen, "fired": self.fired}


@dataclass(slots=True, eq=False)
class _CallFault(_Fault):
    method: str = ""
    effect: CallEffect = "latency"
    code: str = ""
    deleted: asyncio.Event = field(default_factory=asyncio.Event)

    async def release(self) -> None:
        await self.deleted.wait()


@dataclass(slots=True, eq=False)
class EventFault(_Fault):
    """What happens to one event on its way to the topic."""

    event: str = ""
    effect: EventEffect = "drop"
    #: How the name of the event's resource begins; "" is any.
    of: str = ""
    #: What is done when the fault is deleted.
    when_deleted: list[Callable[[], None]] = field(default_factory=list)

    def meets(self, names: Sequence[str], resource: str) -> bool:
        """Whether it is for an event of these names and this resource."""
        return self.event in names and resource.startswith(self.of)


class Faults:
    """Implements `seams.CallFaults`, and the same for events. `known_event` says whether a name may be planned."""

    def __init__(self, known_event: Callable[[str], bool]) -> None:
        self._known_event = known_event
        self._calls: dict[str, _CallFault] = {}
        self._events: dict[str, EventFault] = {}
        self._ids = itertools.count(1)

    def next(self, api: str, method: str) -> PlannedFault | None:  # noqa: ARG002 - a method's name says its API
        """Count this call; the fault that has its turn now, if any."""
        due = [fault for fault in self._calls.values() if fault.method == method and fault.turn()]
        if not due:
            return None
        fault = due[0]
        return PlannedFault(fault.effect, fault.code, fault.milliseconds, fault.release)

    def next_event(self, names: Sequence[str], resource: str = "") -> EventFault | None:
        """Count this event of a resource, which goes by any of these names; the fault that has its turn now, if any."""
        due = [fault for fault in self._events.values() if fault.meets(names, resource) and fault.turn()]
        return due[0] if due else None

    def plan(self, body: Any) -> Json:
        """Plan a fault from its JSON (docs/simulator.md); returns it as listed. Raises FaultError."""
        if not isinstance(body, dict) or ("method" in body) == ("event" in body):
            raise FaultError('a fault is an object with either "method" (of a call) or "event" in it')
        return self._plan_call(body) if "method" in body else self._plan_event(body)

    def listed(self) -> list[Json]:
        """All planned faults, with how often each was counted and had its turn."""
        calls = [
            fault.shown() | {"method": fault.method, "effect": fault.effect, "code": fault.code}
            for fault in self._calls.values()
        ]
        events = [
            fault.shown() | {"event": fault.event, "effect": fault.effect} | ({"of": fault.of} if fault.of else {})
            for fault in self._events.values()
        ]
        return calls + events

    def delete(self, fault_id: str) -> bool:
        """Delete one; releases the call or the event that it holds. False when there is none of this id."""
        if call := self._calls.pop(fault_id, None):
            call.deleted.set()
            return True
        event = self._events.pop(fault_id, None)
        for release in event.when_deleted if event else ():
            release()
        return event is not None

    def clear(self) -> int:
        """Delete all; returns how many there were."""
        planned = [*self._calls, *self._events]
        for fault_id in planned:
            self.delete(fault_id)
        return len(planned)

    def _plan_call(self, body: Json) -> Json:
        _check_keys(body, {"method", "nth", "effect", "code", "ms"})
        method, effect = body["method"], _one_of(body, "effect", get_args(CallEffect))
        if not isinstance(method, str) or not _METHOD.fullmatch(method):
            raise FaultError(
                f'"method" is {method!r}; it must be like instances.setMetadata (Compute), '
                "patch tpunodegroups/status (Kubernetes) or Subscriber.StreamingPull (gRPC)"
            )
        code = _code(body.get("code", 503), grpc=bool(_GRPC_METHOD.fullmatch(method)))
        fault = _CallFault(self._id(), *_nth(body), _milliseconds(body), 0, 0, method, cast("CallEffect", effect), code)
        self._calls[fault.id] = fault
        return self._shown(fault.id)

    def _plan_event(self, body: Json) -> Json:
        _check_keys(body, {"event", "nth", "effect", "ms", "of"})
        event, effect = body["event"], _one_of(body, "effect", get_args(EventEffect))
        if not isinstance(of := body.get("of", ""), str):
            raise FaultError(f'"of" is {of!r}; it must be how the name of the event\'s resource begins')
        if not isinstance(event, str) or not self._known_event(event):
            raise FaultError(
                f'"event" is {event!r}; it must be <resource>.<kind> as "events decode" names them '
                "(instance.inserted, group.deleted, canary.canary, ...), where wanted with the phase or the step of a "
                "bootstrap (instance.inserted.last, instance.bootstrap.booted), or * for any"
            )
        fault = EventFault(self._id(), *_nth(body), _milliseconds(body), 0, 0, event, cast("EventEffect", effect), of)
        self._events[fault.id] = fault
        return self._shown(fault.id)

    def _id(self) -> str:
        return f"fault-{next(self._ids)}"

    def _shown(self, fault_id: str) -> Json:
        return next(fault for fault in self.listed() if fault["id"] == fault_id)


def http_status(code: str) -> int:
    """The HTTP status of a planned fault's code."""
    return int(code) if code.isdigit() else _HTTP_OF_GRPC[code]


def _check_keys(body: Json, allowed: set[str]) -> None:
    unknown = sorted(set(body) - allowed)
    if unknown:
        raise FaultError(f"unknown field {unknown[0]!r}; allowed here are {', '.join(sorted(allowed))}")


def _one_of(body: Json, key: str, allowed: tuple[str, ...]) -> str:
    value = body.get(key)
    if value not in allowed:
        raise FaultError(f'"{key}" is {value!r}; it must be one of {", ".join(allowed)}')
    return str(value)


def _nth(body: Json) -> tuple[int, bool]:
    """The turn of a fault, and whether it comes again."""
    nth = body.get("nth", 1)
    if isinstance(nth, str) and (each := _EVERY.fullmatch(nth)):
        return int(each[1] or 1), True
    if not isinstance(nth, int) or isinstance(nth, bool) or nth < 1:
        raise FaultError(f'"nth" is {nth!r}; it must be a whole number from 1, "every", or "every N"')
    return nth, False


def _milliseconds(body: Json) -> float:
    value = body.get("ms", 0)
    if not isinstance(value, int | float) or isinstance(value, bool) or value < 0:
        raise FaultError(f'"ms" is {value!r}; it must be a number of milliseconds, 0 or more')
    return float(value)


def _code(value: Any, *, grpc: bool) -> str:
    """The code as the face of the method speaks it: an HTTP status or a gRPC status name."""
    text = str(value).upper()
    if text in _HTTP_OF_GRPC:
        return text if grpc else str(_HTTP_OF_GRPC[text])
    if text.isdigit() and 400 <= int(text) <= 599:
        return _GRPC_OF_HTTP.get(int(text), "UNKNOWN") if grpc else text
    raise FaultError(
        f'"code" is {value!r}; it must be an HTTP status from 400 to 599 or one of {", ".join(_HTTP_OF_GRPC)}'
    )
