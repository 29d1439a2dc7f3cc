"""kopf: the watch of our four kinds, in a thread and a loop of its own. The only file that imports kopf.

kopf takes every task that is made after its start for its own and cancels it when it stops, and it takes over signals
in the main thread: hence the thread. It only observes (`on.event`): no finalizer, no annotation, no Event, no scan of
namespaces or CRDs, and its handlers return None, since anything else would be written into a status. `kopf.operator()`
can end by itself (5xx or 403 for about a minute): it is started again with a back-off, and whoever keeps an index is
told to list again, since kopf reports no deletion that it slept through (facts: kopf).
"""

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Any, Final

import kopf
import structlog

from controller.adapters.kube_client import load_configuration
from controller.adapters.kube_errors import failure_of
from controller.api.base import Json
from controller.api.constants import GROUP, VERSION
from controller.core.model import Kind

log = structlog.get_logger(__name__)

#: (kind, type, object): type is None for an object of the first list, else ADDED, MODIFIED or DELETED.
OnEvent = Callable[[Kind, str | None, Json], None]
#: (watching, what is wrong): for readiness.
OnState = Callable[[bool, str], None]

#: Seconds before the first, second, ... restart; the last is kept.
_BACKOFF: Final = (1.0, 2.0, 5.0, 10.0, 20.0, 30.0)
#: A run that lasted longer than this (seconds) was healthy: its end counts as the first failure.
_HEALTHY: Final = 120.0
#: Seconds for kopf's own clean-up; then this many cancellations of what is left, this far apart.
_GRACE: Final = 2.0
_CANCELLATIONS: Final = 20
_BETWEEN: Final = 0.2


class CustomResourceWatch:
    """Hands each event of the four kinds to the loop that called `start()`.

    All three callbacks run in that loop. `on_restart()` follows each start but the first: list again, with replace
    semantics. The CRDs must be there at the start: kopf without scanning does not see them come.
    """

    def __init__(
        self,
        on_event: OnEvent,
        on_state: OnState,
        on_restart: Callable[[], None],
        *,
        kubeconfig: str = "",
        context: str = "",
        backoff: tuple[float, ...] = _BACKOFF,
    ) -> None:
        self._on_event = on_event
        self._on_state = on_state
        self._on_restart = on_restart
        self._kubeconfig = kubeconfig
        self._context = context
        self._backoff = backoff
        self._stopping = asyncio.Event()
        self._starts = 0
        self._owner: asyncio.AbstractEventLoop | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread. Call it in the loop that the callbacks shall run in."""
        _quieten()
        self._owner = asyncio.get_running_loop()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._main, name="kopf", daemon=True)
        self._thread.start()

    async def stop(self, timeout: float = 8.0) -> None:
        """Stop kopf and its thread; after `timeout` seconds the thread (a daemon) is left behind with a warning."""
        if self._thread is None or self._loop is None:
            return
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._stopping.set)
        await asyncio.get_running_loop().run_in_executor(None, self._thread.join, timeout)
        if self._thread.is_alive():
            log.warning("kopf did not stop in time; its thread ends with the process", seconds=timeout)
        self._thread = None

    def _main(self) -> None:
        loop = self._loop
        assert loop is not None
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(self._supervise())

    async def _supervise(self) -> None:
        loop = asyncio.get_running_loop()
        failures = 0
        while not self._stopping.is_set():
            begun = loop.time()
            try:
                problem = await self._once()
            except Exception as error:  # noqa: BLE001 - whatever keeps kopf from starting, it is started again
                problem = str(failure_of(error, "Starting to watch custom resources"))
            if self._stopping.is_set():
                return
            failures = 1 if loop.time() - begun > _HEALTHY else failures + 1
            delay = self._backoff[min(failures, len(self._backoff)) - 1]
            log.warning("watch of custom resources ended; it is started again", problem=problem, in_seconds=delay)
            self._post(self._on_state, False, problem)  # noqa: FBT003 - the state is the value
            try:
                async with asyncio.timeout(delay):
                    await self._stopping.wait()
            except TimeoutError:
                continue

    async def _once(self) -> str:
        """Run kopf until one of its tasks ends or it is told to stop; why it ended, for people."""
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        ready.add_done_callback(self._started)
        stopping = asyncio.create_task(self._stopping.wait())
        ours = asyncio.all_tasks()
        roots = set(
            await kopf.spawn_tasks(
                registry=self._registry(), settings=_settings(), standalone=True, clusterwide=True, ready_flag=ready
            )
        )
        ended, _ = await asyncio.wait({stopping, *roots}, return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        await _end(roots, ours)
        stopping.cancel()
        for task in ended - {stopping}:
            if not task.cancelled() and isinstance(error := task.exception(), Exception):
                return str(failure_of(error, "Watching custom resources"))
        return "kopf gave no reason"

    def _started(self, ready: "asyncio.Future[None]") -> None:
        if ready.cancelled():
            return
        self._starts += 1
        self._post(self._on_state, True, "")  # noqa: FBT003 - the state is the value
        if self._starts > 1:
            self._post(self._on_restart)

    def _registry(self) -> kopf.OperatorRegistry:
        registry = kopf.OperatorRegistry()
        kopf.on.login(registry=registry, id="login")(self._login)
        for kind in Kind:
            kopf.on.event(GROUP, VERSION, kind.plural, registry=registry, id=kind.plural)(self._forwarder(kind))
        return registry

    def _forwarder(self, kind: Kind) -> Callable[..., Any]:
        async def forward(*, event: Any, **_: Any) -> None:
            self._post(self._on_event, kind, event["type"], event["object"])

        return forward

    async def _login(self, **_kwargs: Any) -> kopf.ConnectionInfo:
        """The same credentials as `KubeClient`'s; asked again by kopf after a 401."""
        configuration: Any = await load_configuration(self._kubeconfig, self._context)
        header = await configuration.get_api_key_with_prefix("BearerToken") or ""
        scheme, _, token = header.partition(" ")
        return kopf.ConnectionInfo(
            server=configuration.host,
            ca_path=configuration.ssl_ca_cert,
            insecure=not configuration.verify_ssl,
            scheme=scheme or None,
            token=token or None,
            certificate_path=configuration.cert_file,
            private_key_path=configuration.key_file,
            proxy_url=configuration.proxy,
        )

    def _post(self, callback: Callable[..., None], *arguments: Any) -> None:
        owner = self._owner
        if owner is not None and not owner.is_closed():
            owner.call_soon_threadsafe(callback, *arguments)


async def _end(roots: "set[asyncio.Task[Any]]", ours: "set[asyncio.Task[Any]]") -> None:
    """End all tasks of kopf: the roots with a moment for their clean-up, then whatever they left.

    `kopf.run_tasks` would wait for the latter without limit. One cancellation is not enough for them: a watcher that is
    hit while it leaves its stream swallows it, then waits for credentials that nobody renews any more.
    """
    for task in roots:
        task.cancel()
    await asyncio.wait(roots, timeout=_GRACE)
    kopfs = roots | (asyncio.all_tasks() - ours)
    for _ in range(_CANCELLATIONS):
        left = {task for task in kopfs if not task.done()}
        if not left:
            break
        for task in left:
            task.cancel()
        await asyncio.wait(left, timeout=_BETWEEN)
    for task in kopfs:
        if not task.done():
            log.warning("a task of kopf does not end; it is left behind", task=task.get_name())
        elif not task.cancelled():
            task.exception()


def _settings() -> kopf.OperatorSettings:
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.scanning.disabled = True
    # Else kopf kills its thread, and so the process, ten minutes after it ended by itself.
    settings.process.ultimate_exiting_timeout = None
    return settings


def _expected(record: logging.LogRecord) -> bool:
    return "OS signals are ignored" not in record.getMessage()


def _quieten() -> None:
    """Warnings of kopf go to the root logger's handlers; its account of each step does not."""
    logging.getLogger("kopf").setLevel(logging.WARNING)  # noqa: TID251 - kopf's own logger
    running = logging.getLogger("kopf._core.reactor.running")  # noqa: TID251 - kopf's own logger
    if _expected not in running.filters:
        running.addFilter(_expected)
