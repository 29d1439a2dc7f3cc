"""Counts of all calls on all faces, for `GET /control/calls`. Counts only: no arguments, so no secret gets in here."""

from collections import Counter

from simulator.seams import Effect, Json


class CallCounts:
    """Implements `seams.CallLog`."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str, str, str, Effect]] = Counter()

    def record(self, *, caller: str, api: str, method: str, code: str, effect: Effect) -> None:
        """Count one call that was answered."""
        self._counts[caller, api, method, code, effect] += 1

    def rows(self) -> list[Json]:
        """One row for each (caller, API, method, code, effect), sorted, with its count."""
        names = ("caller", "api", "method", "code", "effect")
        return [dict(zip(names, key, strict=True)) | {"count": count} for key, count in sorted(self._counts.items())]
