"""One watch: what it has to tell, in order, from the moment it was asked for.

A feed subscribes to the store, turns changes into lines as its client wants them, and ends by itself at its deadline.
It never loses a change and never tells one twice; what is too old to resume from is an ERROR event with code 410.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from datetime import datetime

from simulator.kube import tables
from simulator.kube.edit import put
from simulator.kube.errors import ApiError
from simulator.kube.history import Change, Stored, encode
from simulator.kube.media import Answer, one, served
from simulator.kube.resources import Resource
from simulator.kube.selectors import Predicate
from simulator.kube.store import Store
from simulator.seams import Json


class Feed:
    """The lines of one watch. Use `lines()` once; `close()` ends it from outside."""

    def __init__(
        self,
        store: Store,
        resource: Resource,
        namespace: str | None,
        selects: Predicate,
        answer: Answer,
        *,
        bookmarks: bool,
        bookmark_seconds: float,
        seconds: float,
    ) -> None:
        #: The id of what is watched.
        self.resource = resource.id
        self._store = store
        self._resource = resource
        self._namespace = namespace
        self._selects = selects
        self._answer = answer
        self._bookmarks = bookmarks
        self._bookmark_seconds = bookmark_seconds
        self._seconds = seconds
        self._lines: list[bytes] = []
        self._waiting = asyncio.Event()
        self._headers = True
        self._ended = False
        self._unsubscribe: Callable[[], None] = store.subscribe(self._take, resource.id)

    def begin_with_objects(self, *, then_bookmark: bool) -> None:
        """Tell all present objects as ADDED first; `then_bookmark` marks their end (sendInitialEvents)."""
        for stored in self._store.bucket(self._resource.id).items(self._namespace):
            if self._selects(stored.body):
                self._say("ADDED", stored)
        if then_bookmark:
            self._bookmark({"k8s.io/initial-events-end": "true"})

    def begin_after(self, revision: int) -> None:
        """Tell first what happened after a revision. Raises ApiError 410 if that is no longer known."""
        for change in self._store.bucket(self._resource.id).since(revision):
            self._take(change)

    def end_with(self, refusal: ApiError) -> None:
        """Tell an ERROR event and end."""
        self._put("ERROR", encode(refusal.status()))
        self.close()

    def close(self) -> None:
        """End the watch once its lines so far are told."""
        self._ended = True
        self._waiting.set()
        self._unsubscribe()
        self._unsubscribe = _already_unsubscribed

    async def lines(self) -> AsyncGenerator[bytes, None]:
        """Chunks of whole lines, as they come, until the deadline or `close()`."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + self._seconds
        next_bookmark = clock() + self._bookmark_seconds
        try:
            while not self._ended and clock() < deadline:
                if self._lines:
                    yield self._taken()
                    continue
                self._waiting.clear()
                try:
                    async with asyncio.timeout_at(min(deadline, next_bookmark)):
                        await self._waiting.wait()
                except TimeoutError:
                    next_bookmark = clock() + self._bookmark_seconds
                    self._bookmark({})
            if self._lines:
                yield self._taken()
        finally:
            self.close()

    def _taken(self) -> bytes:
        chunk = b"".join(self._lines)
        self._lines.clear()
        return chunk

    def _take(self, change: Change) -> None:
        stored = change.stored
        if self._namespace is not None and stored.namespace != self._namespace:
            return
        now_selected = change.type != "DELETED" and self._selects(stored.body)
        before = change.previous is not None and self._selects(change.previous.body)
        if now_selected:
            self._say("MODIFIED" if before else "ADDED", stored)
        elif before and change.previous is not None:
            # What left the selection is told as it was, with the revision of its leaving.
            left = stored if change.type == "DELETED" else _at(change.previous, stored.revision)
            self._say("DELETED", left)

    def _say(self, kind: str, stored: Stored) -> None:
        now: datetime = self._store.now()
        if self._answer.form != "Table":
            self._put(kind, one(self._resource, stored, self._answer, now))
            return
        body = stored.body if self._resource.to_wire is not None else served(self._resource, stored)
        metadata = {"resourceVersion": str(stored.revision)}
        include = self._answer.include
        row = tables.table(self._resource, [body], now, metadata=metadata, include=include, headers=self._headers)
        self._headers = False
        self._put(kind, encode(row))

    def _bookmark(self, annotations: dict[str, str]) -> None:
        if not self._bookmarks:
            return
        metadata: Json = {"resourceVersion": str(self._store.revision), "creationTimestamp": None}
        if annotations:
            metadata["annotations"] = annotations
        body: Json = {"kind": self._resource.kind, "apiVersion": self._resource.api_version, "metadata": metadata}
        if self._answer.form == "PartialObjectMetadata":
            body = tables.partial(body)
        elif self._answer.form == "Table":
            body = tables.table(self._resource, [], self._store.now(), metadata=metadata, headers=False)
        self._put("BOOKMARK", encode(body))

    def _put(self, kind: str, body: bytes) -> None:
        self._lines.append(b'{"type":"%s","object":%s}\n' % (kind.encode(), body))
        self._waiting.set()


def _already_unsubscribed() -> None:
    return None


def _at(stored: Stored, revision: int) -> Stored:
    return Stored(put(stored.body, ("metadata", "resourceVersion"), str(revision)), revision)
