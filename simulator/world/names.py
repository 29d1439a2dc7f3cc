"""How Compute Engine names things: links, numbers, ids, operation names, times."""

import hashlib
import random
import re
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from typing import Final
from uuid import UUID

__all__ = [
    "API",
    "Ids",
    "last_segment",
    "link",
    "partial",
    "project_number",
    "region_of",
    "rest_time",
    "valid_name",
]

API: Final = "https://www.googleapis.com/compute/v1/"
#: The pre-made project of the demo.
_KNOWN_NUMBERS: Final = {"my-gcp-project": "123456789012"}
#: The REST API answers in Pacific time (samples 01, 04, 06, 12); without its summer time here.
_PACIFIC: Final = timezone(-timedelta(hours=8))
_NAME: Final = re.compile(r"(?:[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?)")


def link(path: str) -> str:
    """The full URL of a path that begins with `projects/`."""
    return API + path


def partial(url: str) -> str:
    """The path from `projects/` on, whatever host or version precedes it; the text itself where it has none."""
    start = url.find("projects/")
    return url[start:] if start >= 0 else url


def last_segment(url: str) -> str:
    """What follows the last slash."""
    return url.rpartition("/")[2]


def region_of(zone: str) -> str:
    """`us-central1` of `us-central1-c`."""
    return zone.rpartition("-")[0]


def project_number(project: str) -> str:
    """Twelve digits, always the same for the same project id."""
    known = _KNOWN_NUMBERS.get(project)
    if known is not None:
        return known
    digest = int.from_bytes(hashlib.sha256(project.encode()).digest()[:8])
    return str(100_000_000_000 + digest % 900_000_000_000)


def valid_name(name: str) -> bool:
    """RFC 1035, at most 63 characters."""
    return _NAME.fullmatch(name) is not None


def rest_time(at: datetime) -> str:
    """As in `creationTimestamp`: milliseconds and a Pacific offset."""
    return at.astimezone(_PACIFIC).isoformat(timespec="milliseconds")


class Ids:
    """Draws ids and names that never repeat within a world."""

    def __init__(self, source: random.Random) -> None:
        self._source = source
        self._used: set[str] = set()

    def numeric(self) -> str:
        """A resource id: a decimal uint64 as text."""
        return self._unused(str(self._source.randrange(10**17, 9 * 10**18)))

    def operation(self, prefix: str, at: datetime) -> str:
        """As `operation-1588508129141-5a4bd5ec2a16d-418ba83e-11fc353d` (`prefix` also `systemevent`, `repair`)."""
        millis = int(at.timestamp() * 1000)
        micros = int(at.timestamp() * 1_000_000)
        return f"{prefix}-{millis}-{micros:013x}-{self._hex()}-{self._hex()}"

    def uuid(self) -> str:
        """A random UUID."""
        return str(UUID(int=self._source.getrandbits(128), version=4))

    def insert_id(self) -> str:
        """An `insertId` as audit entries bear them."""
        return "".join(self._source.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=12))

    def suffix(self, taken: Iterable[str], base: str) -> str:
        """`base` with a hyphen and four random characters, as a MIG names its VMs (facts: GCE 6.1)."""
        names = set(taken)
        while True:
            name = f"{base}-{''.join(self._source.choices('bcdfghjklmnpqrstvwxz0123456789', k=4))}"
            if name not in names:
                return name

    def _hex(self) -> str:
        return f"{self._source.getrandbits(32):08x}"

    def _unused(self, text: str) -> str:
        while text in self._used:
            text = str(int(text) + 1)
        self._used.add(text)
        return text
