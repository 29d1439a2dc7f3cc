"""Rate quotas, off unless given: per project and synchronized minute, over which calls answer 403 rateLimitExceeded.

Facts: GCE 4. Operation reads have a bucket of their own, as there; the numbers are the caller's.
"""

from dataclasses import dataclass

from simulator.seams import Now
from simulator.world.errors import ApiError

__all__ = ["RateLimits", "RateQuota"]


@dataclass(frozen=True, slots=True)
class RateLimits:
    """Calls per minute and project; None is without limit."""

    reads: int | None = None
    writes: int | None = None
    operation_reads: int | None = None


class RateQuota:
    """Counts calls of the current minute; refilled at the start of each."""

    def __init__(self, now: Now, limits: RateLimits) -> None:
        self._now = now
        self._limits = {"reads": limits.reads, "writes": limits.writes, "operation_reads": limits.operation_reads}
        self._minute = -1
        self._counts: dict[tuple[str, str], int] = {}

    def spend(self, project: str, bucket: str) -> None:
        """Count one call of a bucket (`reads`, `writes`, `operation_reads`); raises 403 over its limit."""
        limit = self._limits[bucket]
        if limit is None:
            return
        minute = int(self._now().timestamp() // 60)
        if minute != self._minute:
            self._minute, self._counts = minute, {}
        count = self._counts.get((project, bucket), 0) + 1
        self._counts[project, bucket] = count
        if count > limit:
            text = f"Quota exceeded for quota metric '{bucket}' and limit '{bucket} per minute' of '{project}'."
            raise ApiError(403, "rateLimitExceeded", text, domain="usageLimits")
