"""The simulator's one wall clock, and how logs and Kubernetes write its time.

Whatever needs the time is handed it as `seams.Now`.
"""

from datetime import UTC, datetime

__all__ = ["kube_time", "log_time", "utc_now"]


def utc_now() -> datetime:
    """Now, aware, in UTC."""
    return datetime.now(UTC)  # noqa: TID251 - here time enters the simulator


def log_time(at: datetime) -> str:
    """As in `LogEntry.timestamp`: microseconds, Z."""
    return at.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def kube_time(at: datetime) -> str:
    """As in `metadata.creationTimestamp`: whole seconds, Z."""
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")
