"""A VM's metadata: items under a fingerprint, and a way to wait for their change.

May hold a join token: nothing here ever puts a value into a text, and a repr shows keys only.
"""

import asyncio
import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from controller.api.constants import KEY_JOIN_TOKEN

__all__ = ["Delta", "Metadata", "MetadataView", "fingerprint_of"]


@dataclass(frozen=True, slots=True)
class MetadataView:
    """The attributes at one moment, as the metadata server shows them. `etag` changes exactly when they do."""

    items: Mapping[str, str] = field(repr=False)
    etag: str


@dataclass(frozen=True, slots=True)
class Delta:
    """Which keys a change touches: what the audit entry tells, values removed (facts: audit logs 1, redaction)."""

    added: tuple[str, ...]
    modified: tuple[str, ...]
    deleted: tuple[str, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        """All keys that change."""
        return (*self.added, *self.modified, *self.deleted)


def fingerprint_of(items: Mapping[str, str]) -> str:
    """A hash of the content, as base64 text."""
    digest = hashlib.sha256()
    for key in sorted(items):
        digest.update(key.encode() + b"\0" + items[key].encode() + b"\0")
    return base64.urlsafe_b64encode(digest.digest()[:8]).decode()


class Metadata:
    """The items of one VM. The fingerprint is a hash of the content: writing the same content changes nothing."""

    __slots__ = ("_changed", "_view", "fingerprint")

    def __init__(self, items: Mapping[str, str]) -> None:
        self._changed = asyncio.Event()
        self._set(items)

    def __repr__(self) -> str:
        return f"Metadata(keys={sorted(self._view.items)}, fingerprint={self.fingerprint!r})"

    @property
    def view(self) -> MetadataView:
        """The items now."""
        return self._view

    @property
    def token_id(self) -> str:
        """The public half of the join token, "" where there is none."""
        return self._view.items.get(KEY_JOIN_TOKEN, "").partition(".")[0]

    def delta(self, items: Mapping[str, str]) -> Delta:
        """What `replace(items)` would change."""
        old = self._view.items
        return Delta(
            added=tuple(sorted(items.keys() - old.keys())),
            modified=tuple(sorted(key for key in items.keys() & old.keys() if items[key] != old[key])),
            deleted=tuple(sorted(old.keys() - items.keys())),
        )

    def replace(self, items: Mapping[str, str]) -> None:
        """Put these items in the place of all (what setMetadata does), and wake who waits if anything changed."""
        before = self.fingerprint
        self._set(items)
        if self.fingerprint != before:
            self.wake()

    def merge(self, items: Mapping[str, str]) -> None:
        """Add or overwrite some keys (what the platform does around boot)."""
        self.replace({**self._view.items, **items})

    def wake(self) -> None:
        """Let everyone who waits look again (also when the VM is gone)."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def changed(self) -> None:
        """Return at the next change."""
        await self._changed.wait()

    def _set(self, items: Mapping[str, str]) -> None:
        self.fingerprint = fingerprint_of(items)
        self._view = MetadataView(dict(items), hashlib.sha256(self.fingerprint.encode()).hexdigest()[:16])
