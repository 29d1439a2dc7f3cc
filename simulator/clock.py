"""The simulator's one wall clock. Whatever needs the time is handed it as `seams.Now`."""

from datetime import UTC, datetime

__all__ = ["utc_now"]


def utc_now() -> datetime:
    """Now, aware, in UTC."""
    return datetime.now(UTC)  # noqa: TID251 - here time enters the simulator
