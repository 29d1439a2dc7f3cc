"""Whether the subscription is held: a stream that connects and breaks again and again is not, whatever it says.

Times are seconds of the monotonic clock.
"""

from typing import Final

from controller.core.deafness import Stream
from sinks.intake.delivery import StreamState

#: gRPC statuses that waiting does not mend.
_REFUSALS: Final = frozenset(
    {"NOT_FOUND", "PERMISSION_DENIED", "UNAUTHENTICATED", "FAILED_PRECONDITION", "INVALID_ARGUMENT"}
)
#: A refusal may pass while permissions spread; told twice, it stands.
_TWICE: Final = 2


class Holding:
    """`steady`: a stream that nothing has come through is held once it has lasted so long, in seconds."""

    def __init__(self, steady: float) -> None:
        self._steady = steady
        self._state = StreamState(connected=False, since=0.0)
        self._connected_at = 0.0
        self._came = False
        #: What broke it last, while it is not held again.
        self._broken: StreamState | None = None
        self._broken_at = 0.0
        #: Whether the subscription was not there: what was published meanwhile is gone.
        self.was_missing = False

    def changed(self, state: StreamState, now: float) -> bool:
        """The stream's new state. True if it broke."""
        broke = self._state.connected and not state.connected
        if state.connected and not self._state.connected:
            self._connected_at, self._came = now, False
        if state.error and not state.connected:
            if self._broken is None:
                self._broken_at, self.was_missing = now, False
            self._broken = state
            self.was_missing = self.was_missing or state.code == "NOT_FOUND"
        self._state = state
        return broke

    def heard(self) -> None:
        """Something came through."""
        self._came = True

    def held_again(self, now: float) -> float | None:
        """Since when it was not held, told once when it is again; None otherwise."""
        if self._broken is None or not self._is_held(now):
            return None
        self._broken = None
        return self._broken_at

    def seen(self, now: float) -> Stream:
        """For the judge."""
        if self._broken is None:
            return Stream(up=self._state.connected)
        code = self._broken.code
        refused = code in _REFUSALS and self._broken.failures >= _TWICE
        return Stream(up=False, down_for=now - self._broken_at, error=self._broken.error, code=code, refused=refused)

    def _is_held(self, now: float) -> bool:
        return self._state.connected and (self._came or now - self._connected_at >= self._steady)
