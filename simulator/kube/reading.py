"""The verbs that read: get, list and the beginning of a watch, with the resourceVersion semantics of a real server."""

import base64
import json
from dataclasses import dataclass, replace
from random import Random

from simulator.kube import errors, media, selectors
from simulator.kube.calls import Call
from simulator.kube.errors import ApiError, Cause
from simulator.kube.history import Stored
from simulator.kube.store import Store
from simulator.kube.watches import Feed
from simulator.seams import Json


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list, and the metadata of the list."""

    items: list[Stored]
    metadata: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchSettings:
    """How watches behave."""

    #: Between two bookmarks for a client that allows them. A real server: about a minute; kopf gives up after 70 s.
    bookmark_seconds: float = 30.0
    #: How long a watch without timeoutSeconds lasts: drawn between this and twice this, as a real server does.
    seconds: float = 1800.0
    #: Whether a resume from too long ago is an HTTP 410 rather than an ERROR event in a 200 (both occur in the wild).
    gone_over_http: bool = False


class Reading:
    """The reading verbs over one store."""

    def __init__(self, store: Store, settings: WatchSettings, random: Random) -> None:
        self._store = store
        self._settings = settings
        self._random = random

    def get(self, call: Call) -> Stored:
        """One object. Raises ApiError 404."""
        target, resource = call.target, call.target.resource
        self._not_from_the_future(call)
        found = self._store.bucket(resource.id).get(target.namespace or "", target.name or "")
        if found is None:
            raise errors.not_found(resource.group, resource.plural, target.name or "")
        return found

    def list(self, call: Call) -> Page:
        """One page of a list. Raises ApiError 400, 410, 504."""
        bucket = self._store.bucket(call.target.resource.id)
        after: tuple[str, str] | None = None
        revision = self._store.revision
        if token := call.query.get("continue"):
            revision, after = _read_continue(token)
        elif call.query.get("resourceVersionMatch") == "Exact":
            revision = _revision(call)
        self._not_from_the_future(call)
        namespace = call.target.namespace
        try:
            current = revision == self._store.revision
            items = bucket.items(namespace) if current else bucket.items_at(namespace, revision)
        except ApiError as gone:
            raise _continue_expired() if after else gone from gone
        selects = self._selector(call)
        items = [item for item in items if (after is None or _key(item) > after) and selects(item.body)]
        page = _page(items, revision, int(call.query.get("limit") or 0))
        # Lists of custom resources say so where nothing follows; those of built-in kinds say nothing.
        return replace(page, metadata={"continue": "", **page.metadata}) if call.target.resource.custom else page

    def watch(self, call: Call) -> Feed:
        """The feed of a watch. Raises ApiError for what cannot be watched at all."""
        initial = call.query.get("sendInitialEvents", "").lower()
        _check_initial_events(call, initial)
        seconds = float(call.query.get("timeoutSeconds") or 0) or self._settings.seconds * (1 + self._random.random())
        answer = media.wanted(call.headers.get("Accept", ""), call.query)
        feed = Feed(
            self._store,
            call.target.resource,
            call.target.namespace,
            self._selector(call),
            answer,
            bookmarks=call.flag("allowWatchBookmarks"),
            bookmark_seconds=self._settings.bookmark_seconds,
            seconds=seconds,
        )
        try:
            self._begin(feed, call, initial)
        except ApiError as gone:
            if gone.code != 410 or self._settings.gone_over_http:
                feed.close()
                raise
            feed.end_with(gone)
        return feed

    def _begin(self, feed: Feed, call: Call, initial: str) -> None:
        revision = _revision(call)
        if initial == "true":
            feed.begin_with_objects(then_bookmark=True)
        elif revision == 0 and initial != "false":
            feed.begin_with_objects(then_bookmark=False)
        elif revision:
            feed.begin_after(revision)

    def _selector(self, call: Call) -> selectors.Predicate:
        labels, fields = call.query.get("labelSelector", ""), call.query.get("fieldSelector", "")
        if call.target.name is not None:
            fields = f"metadata.name={call.target.name}"
        return selectors.parse(call.target.resource.id, labels, fields)

    def _not_from_the_future(self, call: Call) -> None:
        asked = 0 if call.query.get("continue") else _revision(call)
        if asked > self._store.revision:
            raise errors.too_large_resource_version(asked, self._store.revision)


def _revision(call: Call) -> int:
    text = call.query.get("resourceVersion", "")
    if text and not text.isdigit():
        why = f'Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'
        cause = Cause("resourceVersion", "FieldValueInvalid", why)
        raise errors.invalid("meta.k8s.io", "ListOptions", "", [cause])
    return int(text or 0)


def _check_initial_events(call: Call, initial: str) -> None:
    match = call.query.get("resourceVersionMatch", "")
    if initial and match != "NotOlderThan":
        why = "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        raise errors.invalid("", "ListOptions", "", [Cause("resourceVersionMatch", "FieldValueForbidden", why)])
    if match and not initial:
        why = "Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        raise errors.invalid("", "ListOptions", "", [Cause("resourceVersionMatch", "FieldValueForbidden", why)])


def _key(item: Stored) -> tuple[str, str]:
    return item.namespace, item.name


def _page(items: list[Stored], revision: int, limit: int) -> Page:
    metadata: Json = {"resourceVersion": str(revision)}
    if limit and len(items) > limit:
        last = items[limit - 1]
        token = json.dumps({"v": "meta.k8s.io/v1", "rv": revision, "start": [last.namespace, last.name]})
        metadata["continue"] = base64.urlsafe_b64encode(token.encode()).decode()
        metadata["remainingItemCount"] = len(items) - limit
        items = items[:limit]
    return Page(items, metadata)


def _read_continue(token: str) -> tuple[int, tuple[str, str]]:
    try:
        read = json.loads(base64.urlsafe_b64decode(token))
        namespace, name = read["start"]
        return int(read["rv"]), (namespace, name)
    except (ValueError, KeyError, TypeError) as broken:
        raise errors.bad_request(f"continue key is not valid: {broken}") from broken


def _continue_expired() -> ApiError:
    return errors.expired(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list "
        "without the continue parameter."
    )
