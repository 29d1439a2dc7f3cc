"""The composition root: builds adapters and runtime from the settings, and owns the order of start and stop.

Start: clients, lease, lists, watches, then the subscription: no event is taken before its owner can be known. Stop
runs the other way within the grace time: nothing new is taken, looks that run finish, records are flushed, the lease
is given up last.
"""

import asyncio
import gc
import signal
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack, suppress
from typing import Any

import structlog

from controller.adapters.clock import RandomJitter, SystemClock
from controller.adapters.compute import ComputeCloud
from controller.adapters.http import HttpServer
from controller.adapters.kopf_app import CustomResourceWatch
from controller.adapters.kube import KubeCluster
from controller.adapters.kube_client import KubeClient
from controller.adapters.lease import KubeLease
from controller.adapters.nodes import NodeWatch
from controller.assembly import Parts, assemble, policy_of, records_of
from controller.core.failures import Failure, Gone, Rejected
from controller.core.model import Kind
from controller.ending import end_within
from controller.logs import configure
from controller.runtime.env import Env
from controller.runtime.hearing import Hearing
from controller.runtime.knowledge import Knowledge
from controller.runtime.leadership import Leadership, LeaseTimes
from controller.runtime.metrics import Metrics
from controller.runtime.pacing import PacedCloud
from controller.runtime.resync import resync_groups
from controller.runtime.vault import TokenVault
from controller.settings import Settings
from controller.settings.identity import is_dead
from sinks.intake.delivery import Limits, StreamState
from sinks.intake.subscription import Subscription, client_for

log = structlog.get_logger(__name__)

#: What an orderly end may take beyond the grace time, in seconds.
_LAST_RESORT = 4.0
_LIMITS = Limits()
#: After so many seconds without a stream every group looks: what was delivered into a dead connection comes again only
#: when its lease has run out.
_GAP = 2.0


class Operator:
    """One replica."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._grace = settings.shutdown_grace.total_seconds()
        self._clock = SystemClock()
        self._jitter = RandomJitter()
        self._metrics = Metrics()
        self._stack = AsyncExitStack()
        self._stopping = asyncio.Event()
        self._crash: list[str] = []
        self._stream = StreamState(connected=False, since=0.0)
        self._has_listened = False
        self._hearing: Hearing | None = None
        self._watching = (False, "the watch of custom resources has not begun")
        self._nodes: NodeWatch | None = None
        self._leading = not settings.leader_election

    async def run(self) -> tuple[str, ...]:
        """Start, work until stopped, stop. Returns what ended it, a line each; nothing when it was told to stop."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stopping.set)
        async with self._stack:
            stop_starting = self._in_background(self._start(), "start")
            await self._stopping.wait()
            end_within(self._grace + _LAST_RESORT)
            # Nothing more may begin while what has begun is ended.
            await stop_starting()
        return tuple(self._crash)

    async def _start(self) -> None:
        await self._serve_health()
        client = await self._kube_client()
        compute = await self._compute()
        cluster = KubeCluster(client, self._clock)
        await cluster.open()
        self._stack.push_async_callback(cluster.close)
        await self._patiently("the Kubernetes API", lambda: _crds_are_there(cluster))
        may_act = await self._lead(client)
        await self._work(client, compute, cluster, may_act)

    async def _serve_health(self) -> None:
        http = HttpServer(self._metrics.registry, self._problems, self._details)
        listen = self._settings.listen
        host, _, port = listen.rpartition(":")
        try:
            await http.start(host.strip("[]"), int(port))
        except OSError as error:
            raise Rejected(f"listen: {listen} cannot be listened on: {error.strerror or error}.") from error
        self._stack.push_async_callback(http.close)
        log.info("metrics and health", address=http.address)

    async def _kube_client(self) -> KubeClient:
        settings, metrics = self._settings, self._metrics
        client = await KubeClient.connect(
            settings.kubeconfig,
            settings.kube_context,
            timeout=settings.call_timeout.total_seconds(),
            observe=lambda method, code, _: metrics.kube_calls.labels(method, code).inc(),
        )
        self._stack.push_async_callback(client.close)
        return client

    async def _compute(self) -> ComputeCloud:
        settings, metrics = self._settings, self._metrics
        compute = ComputeCloud(
            self._clock,
            self._jitter,
            endpoint=settings.compute_endpoint,
            threads=settings.compute_threads,
            timeout=settings.call_timeout.total_seconds(),
            observe=lambda method, code, _: metrics.gce_calls.labels(method, code).inc(),
        )
        self._stack.push_async_callback(compute.close)
        await compute.open()
        return compute

    async def _patiently(self, what: str, attempt: Callable[[], Awaitable[None]]) -> None:
        """Wait for an API that does not answer; what waiting does not mend is raised."""
        delay = self._settings.retry_first
        while True:
            try:
                return await attempt()
            except Rejected:
                raise
            except Failure as failure:
                log.warning("cannot be used yet, trying again", what=what, failure=str(failure))
                await self._clock.sleep(self._jitter.around(delay, 0.2).total_seconds())
                delay = min(delay * 2, self._settings.retry_max)

    async def _lead(self, client: KubeClient) -> Callable[[], None]:
        """Wait for the lease. Returns the check before every mutation."""
        settings = self._settings
        if not settings.leader_election:
            return lambda: None
        retry, deadline = settings.lease_retry.total_seconds(), settings.lease_renew_deadline.total_seconds()
        times = LeaseTimes(
            duration=settings.lease_duration.total_seconds(),
            renew_deadline=deadline,
            retry=retry,
            call_timeout=max(retry, deadline * 0.4),
        )
        lease = KubeLease(client, settings.namespace)
        leadership = Leadership(lease, self._clock, self._jitter, settings.identity, times, is_dead=is_dead)
        await leadership.acquire()
        self._leading = True
        self._metrics.leader.set(1)
        self._stack.push_async_callback(leadership.release)
        self._in_background(self._end_when_lost(leadership), "lease")
        return leadership.check

    async def _end_when_lost(self, leadership: Leadership) -> None:
        await leadership.lost.wait()
        self._leading = False
        raise Rejected("The lease was lost: another replica may be acting, so this one ends.")

    async def _work(
        self, client: KubeClient, compute: ComputeCloud, cluster: KubeCluster, may_act: Callable[[], None]
    ) -> None:
        settings = self._settings
        cloud = PacedCloud(
            compute,
            self._clock,
            reads_per_minute=settings.compute_reads_per_minute,
            writes_per_minute=settings.compute_writes_per_minute,
        )
        self._stack.callback(cloud.close)
        vault = TokenVault(
            settings.token_life, settings.token_slot, settings.live_tokens, settings.live_tokens_per_group
        )
        policy, knowledge = policy_of(settings), Knowledge(vault)
        env = Env(cloud, cluster, self._clock, self._jitter, policy, knowledge, self._metrics, may_act)
        records = records_of(settings)
        self._in_background(records.run(), "audit log")
        self._stack.push_async_callback(records.close, self._grace / 2)
        parts = assemble(settings, env, records)
        await self._watch_kubernetes(client, env, parts)
        await self._listen(env, parts)
        # What was made so far stays: a full collection over it would stop the loop for a tenth of a second at times.
        gc.collect()
        gc.freeze()
        log.info("operating", subscription=settings.subscription, identity=settings.identity)

    async def _watch_kubernetes(self, client: KubeClient, env: Env, parts: Parts) -> None:
        synced = asyncio.Event()
        nodes = NodeWatch(client, parts.dispatch.node, synced.set, on_heartbeat=parts.dispatch.node_spoke)
        self._nodes = nodes
        env.knowledge.nodes = nodes.nodes
        self._in_background(nodes.run(), "nodes")
        await synced.wait()
        self._stack.push_async_callback(parts.mailboxes.close, self._grace)
        await self._patiently("the Kubernetes API", parts.housekeeping.start)
        self._in_background(parts.housekeeping.run(), "housekeeping")
        watch = CustomResourceWatch(
            parts.dispatch.custom_resource,
            self._note_watch,
            parts.housekeeping.ask,
            kubeconfig=self._settings.kubeconfig,
            context=self._settings.kube_context,
        )
        watch.start()
        self._stack.push_async_callback(watch.stop, self._grace)

    async def _listen(self, env: Env, parts: Parts) -> None:
        settings = self._settings
        subscription = Subscription(
            client_for(settings.pubsub_endpoint or None),
            settings.subscription,
            parts.intake.handle,
            lambda state: self._note_stream(state, env, parts),
            Limits(
                max_outstanding_messages=settings.max_outstanding_messages,
                # A connection that swallows everything is found out before the silence is blamed on the sink.
                probe_interval=min(_LIMITS.probe_interval, settings.deaf_limit.total_seconds() / 4),
                probe_timeout=min(_LIMITS.probe_timeout, settings.deaf_limit.total_seconds() / 4),
            ),
            self._clock,
        )
        self._hearing = parts.hearing
        self._in_background(subscription.run(), "subscription")
        self._stack.push_async_callback(subscription.close, self._grace / 2)
        self._in_background(parts.hearing.run(), "canary")

    def _note_watch(self, watching: bool, problem: str) -> None:  # noqa: FBT001 - the watch's own callback shape
        self._watching = (watching, problem)

    def _note_stream(self, state: StreamState, env: Env, parts: Parts) -> None:
        if state.error and state.error != self._stream.error:
            log.warning("subscription", trouble=state.error)
        if state.connected:
            log.info("events are streamed", gap=round(state.gap, 1))
        self._stream = state
        self._has_listened = self._has_listened or state.connected
        parts.hearing.stream(state)
        if state.gap > _GAP:
            resync_groups(env, parts.mailboxes.post)

    def _problems(self) -> list[str]:
        """What keeps the operator from its work, for readiness."""
        watching, trouble = self._watching
        problems = [] if self._leading else ["waits for the lease"]
        if self._nodes is not None and self._nodes.problem:
            problems.append(f"Nodes are not watched: {self._nodes.problem}")
        if not watching:
            problems.append(trouble or "custom resources are not watched")
        if not self._has_listened:
            problems.append(self._stream.error or "the subscription is not connected yet")
        return problems

    def _details(self) -> list[str]:
        """What readiness tells besides. Deaf, the operator works all the same, by looking: it stays ready."""
        stream = self._stream
        broken = [stream.error] if self._has_listened and not stream.connected and stream.error else []
        return broken + (self._hearing.details if self._hearing is not None else [])

    def _in_background(self, work: Coroutine[Any, Any, None], name: str) -> Callable[[], Awaitable[None]]:
        """A task that lasts as long as the operator. One that fails ends the process, which says why in one line.

        Returns what ends it sooner.
        """

        async def guarded() -> None:
            try:
                await work
            except Failure as failure:
                self._crash.append(str(failure))
                self._stopping.set()
            except Exception as error:
                log.exception("background task ended", task=name)
                self._crash.append(f"{name} ended: {error}")
                self._stopping.set()

        task = asyncio.get_running_loop().create_task(guarded(), name=name)

        async def cancel() -> None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

        self._stack.push_async_callback(cancel)
        return cancel


async def _crds_are_there(cluster: KubeCluster) -> None:
    for kind in Kind:
        try:
            await cluster.list_custom_resources(kind)
        except Gone:
            raise Rejected(
                f"The custom resource {kind.plural}.tpu.google.com is not installed in the cluster: "
                "run `tpu-node-group crds | kubectl apply -f -`, then start again."
            ) from None


def run(settings: Settings) -> tuple[str, ...]:
    """Be the operator until stopped. Returns what ended it, a line each; nothing when it was told to stop."""
    configure(settings.log_level, settings.log_format)

    async def main() -> tuple[str, ...]:
        return await Operator(settings).run()

    return asyncio.run(main())
