"""List, then watch, for ever: the loop under the Node store and the signatures of cluster-info.

It has replace semantics, which kopf's index lacks: after a gap (410, a lost resourceVersion) everything is listed again
and what the list does not hold is gone, though no DELETED event ever came. It never ends by itself: failures are logged
and back off, a bug in the sink too, and both are followed by a fresh list.
"""

import asyncio
from contextlib import aclosing
from dataclasses import replace
from typing import Final, Protocol

import structlog

from controller.adapters.kube_client import Call, KubeClient
from controller.adapters.kube_errors import failure_of_answer, is_expired
from controller.api.base import Json
from controller.core.failures import Failure

log = structlog.get_logger(__name__)

#: Seconds before the first, second, ... attempt after a failure; the last is kept.
BACKOFF: Final = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0)
#: Seconds after which the API server ends a watch by itself, so that watches of replicas do not live for ever.
_SERVER_TIMEOUT: Final = "290"
#: A watch that ends sooner than this (seconds) counts as a failure: no busy loop on a server that hangs up.
_SHORT: Final = 1.0


class Sink(Protocol):
    """Where objects go. Calls come in order, from the loop's task."""

    def list_begins(self) -> None:
        """A fresh list comes; what an unfinished one brought so far is still true, but proves no absence."""
        ...

    def listed(self, obj: Json) -> None:
        """One object of the list."""
        ...

    def list_ends(self) -> None:
        """The list was complete: what it did not hold is gone."""
        ...

    def changed(self, obj: Json) -> None:
        """An object was added or modified."""
        ...

    def gone(self, obj: Json) -> None:
        """An object was deleted; this is its last state."""
        ...


class ListWatch:
    """The loop over one collection. `inactivity`: seconds of silence (bookmarks too) after which to watch anew."""

    def __init__(
        self,
        client: KubeClient,
        listing: Call,
        sink: Sink,
        *,
        inactivity: float = 90.0,
        backoff: tuple[float, ...] = BACKOFF,
    ) -> None:
        self._client = client
        self._listing = listing
        self._sink = sink
        self._inactivity = inactivity
        self._backoff = backoff
        self._version = ""
        #: What keeps it from following, for people; "" while it follows.
        self.problem = "has not listed yet"

    async def run(self) -> None:
        """Follow until cancelled."""
        failures = 0
        while True:
            try:
                await self._list_if_needed()
                failures = 0 if await self._watch() else failures + 1
            except Failure as failure:
                failures = self._failed(failure, failures)
            except Exception:
                log.exception("change not taken in; everything is listed again", resource=self._listing.resource)
                self._version = ""
                failures += 1
            if failures:
                await asyncio.sleep(self._backoff[min(failures, len(self._backoff)) - 1])

    def _failed(self, failure: Failure, failures: int) -> int:
        if is_expired(failure):
            self._version = ""
        else:
            self.problem = str(failure)
            tell = log.warning if failures else log.info
            tell("watch will be repeated", resource=self._listing.resource, failure=str(failure))
        return failures + 1

    async def _list_if_needed(self) -> None:
        if self._version:
            return
        self._sink.list_begins()
        version = ""
        async with aclosing(self._client.pages(self._listing)) as pages:
            async for page in pages:
                for obj in page.get("items") or ():
                    self._sink.listed(obj)
                version = page["metadata"]["resourceVersion"]
        self._sink.list_ends()
        self._version = version

    async def _watch(self) -> bool:
        """Until the server ends the watch. True if it lived long enough to be a healthy one."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        query = (
            *self._listing.query,
            ("watch", "true"),
            ("allowWatchBookmarks", "true"),
            ("timeoutSeconds", _SERVER_TIMEOUT),
            ("resourceVersion", self._version),
        )
        watch = replace(self._listing, verb="watch", query=query)
        async with aclosing(self._client.stream(watch, self._inactivity, self._follows)) as events:
            async for event in events:
                self._take(event)
        return loop.time() - begun >= _SHORT

    def _follows(self) -> None:
        self.problem = ""

    def _take(self, event: Json) -> None:
        kind, obj = event["type"], event["object"]
        if kind == "ERROR":
            self._version = ""
            message = str(obj.get("message") or "the watch was ended").encode()
            raise failure_of_answer(int(obj.get("code") or 500), message, f"watch {self._listing.resource}")
        if kind in {"ADDED", "MODIFIED"}:
            self._sink.changed(obj)
        elif kind == "DELETED":
            self._sink.gone(obj)
        self._version = obj["metadata"]["resourceVersion"]
