"""Failures, named by what the caller does next. Adapters map every SDK error to one of these, in one place each."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(eq=False)
class Failure(Exception):  # noqa: N818 - the subclasses read as what happened: "except Gone"
    """A call that did not do what was asked. `message` is for people and holds no secret."""

    message: str
    #: The code as the other side gave it ("412", "ZONE_RESOURCE_POOL_EXHAUSTED", "NotFound").
    code: str = ""

    def __str__(self) -> str:
        return f"{self.message} ({self.code})" if self.code else self.message


@dataclass(eq=False)
class Retry(Failure):
    """Passing trouble (timeout, 5xx, 429, rate limit, connection): the same again later, with the same request id."""

    #: Wait at least this long (a rate limit names its window).
    after: timedelta = timedelta(0)
    #: True when the outcome is unknown (the request may have taken effect).
    unknown_outcome: bool = True


@dataclass(eq=False)
class NoCapacity(Failure):
    """Stockout or quota: GCE has nothing to give now. Slow retry, shown to the user."""


@dataclass(eq=False)
class Rejected(Failure):
    """The user (or an administrator) must change something: 400, 403, a foreign object of our name."""


@dataclass(eq=False)
class Gone(Failure):
    """It is not there (404): success for a deletion."""


@dataclass(eq=False)
class Conflict(Failure):
    """Somebody else was first (409, 412, fingerprint, resourceVersion): read again, then decide anew."""


@dataclass(eq=False)
class Bug(Failure):
    """Nothing that we know: logged once with its traceback, retried with back-off."""
