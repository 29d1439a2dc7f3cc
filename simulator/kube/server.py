"""The Kubernetes API on HTTP: who calls, what for, with which planned fault, and what it came to.

Thin: it finds the caller, the verb and the target, and hands over. Every call for objects is counted once, with its
effect. Serve it with Nagle off and handler cancellation on (`simulator.kube.serving`).
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from random import Random

from aiohttp import web

from simulator.kube import discovery, errors, media, openapi
from simulator.kube.authorization import Action, Allows, action_of, refusal
from simulator.kube.builtins import CRDS, create_default_namespaces
from simulator.kube.calls import Call, target_of, verb_of
from simulator.kube.crds import CustomResources
from simulator.kube.errors import ApiError
from simulator.kube.history import Change, encode
from simulator.kube.reading import Reading, WatchSettings
from simulator.kube.store import Store
from simulator.kube.watches import Feed
from simulator.kube.writing import Writing
from simulator.seams import CallFaults, CallLog, Effect, Json, PlannedFault

API = "kubernetes"
_HEALTH = frozenset({"/healthz", "/livez", "/readyz"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """What the server is like."""

    #: Reported by /version.
    version: str = "1.34"
    #: The user of callers without a token; None: they are refused.
    anonymous: str | None = None
    watches: WatchSettings = field(default_factory=WatchSettings)


def _everything(_user: str, _action: Action) -> bool:
    return True


def kubernetes_app(
    store: Store,
    *,
    users: Mapping[str, str],
    calls: CallLog,
    faults: CallFaults,
    settings: ServerSettings | None = None,
    random: Random | None = None,
    allows: Allows = _everything,
) -> web.Application:
    """The API over `store`. `users`: user name by bearer token, read anew for each call (VMs come and go).

    `allows`: the authorizer; without one, whoever is let in may do everything.
    """
    create_default_namespaces(store)
    server = _Server(store, users, calls, faults, settings or ServerSettings(), random or Random(), allows)
    app = web.Application(client_max_size=3 * 1024 * 1024)
    app.router.add_route("*", "/{path:.*}", server.handle)
    app.on_shutdown.append(server.end_watches)
    return app


@dataclass(frozen=True, slots=True)
class _Reply:
    """An answer that is not a stream."""

    code: int
    body: bytes
    warnings: tuple[str, ...] = ()
    content_type: str = "application/json"

    def response(self) -> web.Response:
        response = web.Response(status=self.code, body=self.body, content_type=self.content_type)
        for text in self.warnings:
            escaped = text.replace("\\", "\\\\").replace('"', '\\"')
            response.headers.add("Warning", f'299 - "{escaped}"')
        return response


def _refusal(error: ApiError) -> _Reply:
    if isinstance(error, errors.NoSuchPathError):
        return _Reply(error.code, f"{error.message}\n".encode(), content_type="text/plain")
    return _Reply(error.code, encode(error.status()))


class _Server:
    def __init__(
        self,
        store: Store,
        users: Mapping[str, str],
        calls: CallLog,
        faults: CallFaults,
        settings: ServerSettings,
        random: Random,
        allows: Allows,
    ) -> None:
        self._store = store
        self._allows = allows
        self._users = users
        self._calls = calls
        self._faults = faults
        self._settings = settings
        self._custom = CustomResources(store)
        self._reading = Reading(store, settings.watches, random)
        self._writing = Writing(store, allows)
        self._feeds: set[Feed] = set()
        self._documents: dict[str, tuple[int, bytes]] = {}
        store.subscribe(self._definition_changed, CRDS)

    async def end_watches(self, _app: web.Application) -> None:
        """End every watch: the server stops."""
        for feed in tuple(self._feeds):
            feed.close()

    def _definition_changed(self, change: Change) -> None:
        """A definition that is gone takes its watches with it."""
        if change.type == "DELETED":
            for feed in [item for item in self._feeds if item.resource == change.stored.name]:
                feed.close()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Any request."""
        path = request.path
        if path in _HEALTH:
            return _Reply(200, b"ok", content_type="text/plain").response()
        caller = self._caller(request)
        if caller is None:
            return _refusal(errors.unauthorized()).response()
        try:
            if not _is_for_objects(path):
                return self._describe(path, request.headers.get("Accept", "")).response()
            target = target_of(self._store.registry, path)
            verb = verb_of(request.method, target, request.query)
        except ApiError as refused:
            return _refusal(refused).response()
        body = await request.read() if request.body_exists else b""
        call = Call(target, verb, request.query, request.headers, body, caller)
        return await self._serve(request, call, caller)

    def _caller(self, request: web.Request) -> str | None:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if not token:
            return self._settings.anonymous
        return self._users.get(token.strip()) if scheme.lower() == "bearer" else None

    async def _serve(self, request: web.Request, call: Call, caller: str) -> web.StreamResponse:
        method = call.target.described(call.verb)
        fault = self._faults.next(API, method)
        if fault is not None and fault.effect == "latency":
            await asyncio.sleep(fault.milliseconds / 1000)
        if fault is not None and fault.effect == "error-before":
            reply = _refusal(_planned(fault))
            self._count(caller, method, reply.code, "none")
            return reply.response()
        if call.verb == "watch":
            if fault is not None and fault.effect == "hold-after":
                await fault.release()
            broken = _planned(fault) if fault is not None and fault.effect == "error-after" else None
            return await self._watch(request, call, caller, broken)
        before = self._store.revision
        reply = self._answer(call)
        effect: Effect = "changed" if self._store.revision != before else "none"
        if fault is not None and fault.effect == "error-after":
            reply = _refusal(_planned(fault))
        self._count(caller, method, reply.code, effect)
        if fault is not None and fault.effect == "hold-after":
            await fault.release()
        return reply.response()

    def _count(self, caller: str, method: str, code: int, effect: Effect) -> None:
        self._calls.record(caller=caller, api=API, method=method, code=str(code), effect=effect)

    def _authorize(self, call: Call) -> None:
        """Raises ApiError 403. Anybody may ask what they may do."""
        action = action_of(call)
        if call.target.resource.kind != "SelfSubjectAccessReview" and not self._allows(call.user, action):
            raise refusal(call.user, action)

    def _answer(self, call: Call) -> _Reply:
        try:
            self._authorize(call)
            answer = media.wanted(call.headers.get("Accept", ""), call.query)
            now, resource = self._store.now(), call.target.resource
            if call.verb == "get":
                return _Reply(200, media.one(resource, self._reading.get(call), answer, now))
            if call.verb == "list":
                page = self._reading.list(call)
                return _Reply(200, media.many(resource, page.items, page.metadata, answer, now))
            done = self._writing.perform(call)
            if done.status is not None:
                body = encode(done.status)
            elif done.stored is not None:
                body = media.one(resource, done.stored, answer, now)
            else:
                body = media.many(resource, done.items, {"resourceVersion": str(self._store.revision)}, answer, now)
            return _Reply(done.code, body, tuple(done.warnings))
        except ApiError as refused:
            return _refusal(refused)

    async def _watch(
        self, request: web.Request, call: Call, caller: str, broken: ApiError | None
    ) -> web.StreamResponse:
        """Serve a watch until it ends; `broken` ends it right after the first that it has to tell."""
        method = call.target.described("watch")
        try:
            self._authorize(call)
            feed = self._reading.watch(call)
        except ApiError as refused:
            self._count(caller, method, refused.code, "none")
            return _refusal(refused).response()
        self._count(caller, method, 200, "none")
        self._feeds.add(feed)
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        try:
            await response.prepare(request)
            async with aclosing(feed.lines()) as lines:
                async for chunk in lines:
                    await response.write(chunk)
                    if broken is not None:
                        feed.end_with(broken)
                        broken = None
            await response.write_eof()
        except ConnectionError:
            # The client went away: that is how most watches end.
            pass
        finally:
            feed.close()
            self._feeds.discard(feed)
        return response

    def _describe(self, path: str, accept: str) -> _Reply:
        """Everything that is about the API rather than about objects."""
        place = path.strip("/")
        if place == "version":
            return _Reply(200, encode(self._version()))
        if place == "openapi/v2" and "protobuf" in accept:
            return _Reply(200, openapi.EMPTY_V2_PROTOBUF, content_type="application/octet-stream")
        if place == "openapi/v2":
            return _Reply(200, encode(openapi.EMPTY_V2))
        if place.startswith("openapi/v3"):
            return self._openapi(place.removeprefix("openapi/v3").strip("/"))
        if place in {"api", "apis"} and discovery.AGGREGATED in accept:
            body = encode(discovery.aggregated(self._store.registry, core=place == "api"))
            return _Reply(
                200, body, content_type="application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
            )
        found = self._discovered(place.split("/"))
        return _refusal(errors.no_such_path()) if found is None else _Reply(200, encode(found))

    def _discovered(self, place: Sequence[str]) -> Json | None:
        registry = self._store.registry
        match place:
            case ["api"]:
                return discovery.api_versions()
            case ["apis"]:
                return discovery.groups(registry)
            case ["api", version]:
                return discovery.resources(registry, "", version)
            case ["apis", group]:
                return discovery.group(registry, group)
            case ["apis", group, version]:
                return discovery.resources(registry, group, version)
        return None

    def _openapi(self, place: str) -> _Reply:
        generation, body = self._documents.get(place, (-1, b""))
        registry = self._store.registry
        if generation != registry.generation:
            found = openapi.document(registry, place) if place else openapi.index(registry)
            if found is None:
                return _refusal(errors.no_such_path())
            body = encode(found)
            self._documents[place] = (registry.generation, body)
        return _Reply(200, body)

    def _version(self) -> Json:
        major, _, minor = self._settings.version.partition(".")
        return {
            "major": major,
            "minor": minor,
            "gitVersion": f"v{self._settings.version}.0",
            "gitCommit": "",
            "gitTreeState": "clean",
            "buildDate": "1970-01-01T00:00:00Z",
            "goVersion": "",
            "compiler": "",
            "platform": "linux/amd64",
        }


_REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


def _is_for_objects(path: str) -> bool:
    """`/api/v1/<plural>...` or `/apis/<group>/<version>/<plural>...`; what is shorter is about the API."""
    parts = path.strip("/").split("/")
    return (parts[0] == "api" and len(parts) > 2) or (parts[0] == "apis" and len(parts) > 3)


def _planned(fault: PlannedFault) -> ApiError:
    code = int(fault.code)
    return ApiError(code, _REASONS.get(code, "Unknown"), f"a planned fault of the simulator: {code}")
