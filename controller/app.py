"""The composition root: builds the adapters and the runtime from the settings, and owns the order of start and stop.

Start: clients, lease, lists, watches, then the subscription: no event is taken before its owner can be known. Stop
runs the other way within the grace time: nothing new is taken, looks that run finish, records are flushed, the lease
is given up last.
"""

import asyncio
import importlib.resources
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress

import structlog

from controller.adapters.clock import RandomRest, SystemClock
from controller.adapters.compute import ComputeCloud
from controller.adapters.http import HttpServer
from controller.adapters.kopf_app import CustomResourceWatch
from controller.adapters.kube import KubeCluster
from controller.adapters.kube_client import KubeClient
from controller.adapters.lease import KubeLease
from controller.adapters.nodes import NodeWatch
from controller.api.constants import LOG_ACTIONS
from controller.core.desired import BootImages
from controller.core.failures import Failure, Gone, Rejected
from controller.core.group_status import Verdict
from controller.core.model import Cause, Key, Kind, Scope, Wake
from controller.core.plan import Policy
from controller.logs import configure
from controller.runtime.apply import Applier
from controller.runtime.auditing import Auditor
from controller.runtime.child_look import ChildLook
from controller.runtime.dispatch import Dispatch
from controller.runtime.env import Env
from controller.runtime.group_look import GroupLook
from controller.runtime.hearing import Hearing
from controller.runtime.housekeeping import Housekeeping
from controller.runtime.intake import Intake
from controller.runtime.knowledge import Knowledge
from controller.runtime.leadership import Leadership, LeaseTimes
from controller.runtime.mailbox import Limits as MailboxLimits
from controller.runtime.mailbox import Mailboxes
from controller.runtime.metrics import Metrics
from controller.runtime.observe import Observer
from controller.runtime.pacing import PacedCloud
from controller.runtime.reconcile import Reconciler
from controller.runtime.statuses import StatusWriter
from controller.runtime.token_work import TokenWork
from controller.runtime.vault import TokenVault
from controller.settings import Settings
from sinks.audit.canary import canary_entry
from sinks.audit.sink import FanOut, JsonLines
from sinks.audit.writer import CloudLogging, WriterLimits
from sinks.audit.writer import client_for as logging_client_for
from sinks.intake.delivery import Limits as StreamLimits
from sinks.intake.delivery import StreamState
from sinks.intake.subscription import Subscription
from sinks.intake.subscription import client_for as subscriber_client_for

log = structlog.get_logger(__name__)

_OK, _FAILED = 0, 1


def policy_of(settings: Settings) -> Policy:
    """The settings that decisions need."""
    return Policy(
        follow_up_first=settings.follow_up_first,
        follow_up_max=settings.follow_up_max,
        operation_looks=settings.operation_looks,
        unconfirmed_looks=settings.unconfirmed_looks,
        retry_first=settings.retry_first,
        retry_max=settings.retry_max,
        capacity_retry_first=settings.capacity_retry_first,
        capacity_retry_max=settings.capacity_retry_max,
        rejected_retry=settings.rejected_retry,
        resync=settings.resync_interval,
        resync_jitter=settings.resync_jitter,
        token_life=settings.token_life,
        token_renew_margin=settings.token_renew_margin,
        node_service_account=settings.node_service_account,
        images=BootImages(settings.boot_image_tpu7x, settings.boot_image_v6e),
        startup_script=importlib.resources.files("controller.core").joinpath("startup.sh").read_text("utf-8"),
    )


class Operator:
    """One replica. `run` returns the exit code."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._clock = SystemClock()
        self._rest = RandomRest()
        self._metrics = Metrics()
        self._stack = AsyncExitStack()
        self._stopping = asyncio.Event()
        self._crash: list[str] = []
        self._stream = StreamState(connected=False, since=0.0)
        self._watching = (False, "the watch of custom resources has not begun")
        self._leading = not settings.leader_election

    async def run(self) -> int:
        """Start, work until stopped, stop."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stopping.set)
        async with self._stack:
            starting = asyncio.create_task(self._start(), name="start")
            stopped = asyncio.create_task(self._stopping.wait(), name="stop signal")
            await asyncio.wait({starting, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if not starting.done():
                starting.cancel()
                with suppress(asyncio.CancelledError):
                    await starting
            elif (error := starting.exception()) is not None:
                stopped.cancel()
                if not isinstance(error, Failure):
                    raise error
                self._crash.append(str(error))
            if not self._crash:
                await stopped
        for line in self._crash:
            print(f"tpu-node-group: {line}", file=sys.stderr)  # noqa: T201 - the command line's own voice
        return _FAILED if self._crash else _OK

    async def _start(self) -> None:
        settings, stack = self._settings, self._stack
        http = HttpServer(self._metrics.registry, self._problems)
        host, _, port = settings.listen.rpartition(":")
        try:
            await http.start(host.strip("[]"), int(port))
        except OSError as error:
            raise Rejected(
                f"The address {settings.listen} cannot be listened on ({error.strerror}); set listen."
            ) from error
        stack.push_async_callback(http.close)
        log.info("metrics and health", address=http.address)
        client = await KubeClient.connect(
            settings.kubeconfig,
            settings.kube_context,
            timeout=settings.call_timeout.total_seconds(),
            observe=lambda method, code, _: self._metrics.kube_calls.labels(method, code).inc(),
        )
        stack.push_async_callback(client.close)
        compute = ComputeCloud(
            self._clock,
            self._rest,
            endpoint=settings.compute_endpoint,
            threads=settings.compute_threads,
            timeout=settings.call_timeout.total_seconds(),
            observe=lambda method, code, _: self._metrics.gce_calls.labels(method, code).inc(),
        )
        stack.push_async_callback(compute.close)
        await compute.open()
        cluster = KubeCluster(client, self._clock)
        await cluster.open()
        stack.push_async_callback(cluster.close)
        await self._patiently("the Kubernetes API", lambda: self._crds_are_there(cluster))
        may_act = await self._lead(client)
        await self._work(client, compute, cluster, may_act)

    async def _crds_are_there(self, cluster: KubeCluster) -> None:
        for kind in Kind:
            try:
                await cluster.list_custom_resources(kind)
            except Gone:
                raise Rejected(
                    f"The custom resource {kind.plural}.tpu.google.com is not installed in the cluster: "
                    "run `tpu-node-group crds | kubectl apply -f -`, then start again."
                ) from None

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
                await self._clock.sleep(self._rest.jittered(delay, 0.2).total_seconds())
                delay = min(delay * 2, self._settings.retry_max)

    async def _lead(self, client: KubeClient) -> Callable[[], None]:
        """Wait for the lease. Returns the check before every mutation."""
        settings = self._settings
        if not settings.leader_election:
            return lambda: None
        times = LeaseTimes(
            duration=settings.lease_duration.total_seconds(),
            renew_deadline=settings.lease_renew_deadline.total_seconds(),
            retry=settings.lease_retry.total_seconds(),
            call_timeout=max(settings.lease_retry, settings.lease_renew_deadline * 0.4).total_seconds(),
        )
        leadership = Leadership(
            KubeLease(client, settings.namespace), self._clock, self._rest, settings.identity, times
        )
        await leadership.acquire()
        self._leading = True
        self._metrics.leader.set(1)
        self._stack.push_async_callback(leadership.release)
        self._in_background(self._end_when_lost(leadership), "lease")
        return leadership.check

    async def _end_when_lost(self, leadership: Leadership) -> None:
        await leadership.lost.wait()
        self._leading = False
        self._crash.append("the lease was lost: another replica may be acting, so this one ends.")
        self._stopping.set()

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
        env = Env(
            cloud, cluster, self._clock, self._rest, policy_of(settings), Knowledge(vault), self._metrics, may_act
        )
        records = CloudLogging(
            logging_client_for(settings.logging_endpoint or None),
            f"projects/{settings.project}/logs/{LOG_ACTIONS}",
            WriterLimits(),
            lambda trouble: log.warning("audit log", trouble=trouble) if trouble else log.info("audit log works again"),
        )
        self._in_background(records.run(), "audit log")
        self._stack.push_async_callback(records.close, settings.shutdown_grace.total_seconds() / 2)
        lines = JsonLines(sys.stdout)
        sink = FanOut([lines, records] if settings.audit_to_cloud_logging else [lines])
        hearing = Hearing(
            self._clock,
            self._metrics,
            lambda: records.write_entry(
                canary_entry(settings.project, settings.cluster_name, settings.identity, self._clock.now())
            ),
            lambda: self._everybody_looks(env, mailboxes),
            writer=settings.identity,
            interval=settings.canary_interval,
            limit=settings.deaf_limit,
        )
        mailboxes = self._mailboxes(env, Auditor(lines, sink, settings.identity), hearing)
        await self._watch(client, env, mailboxes, hearing)

    def _mailboxes(self, env: Env, auditor: Auditor, hearing: Hearing) -> Mailboxes:
        settings = self._settings
        observer, statuses = Observer(env), StatusWriter(env)
        tokens = TokenWork(env, signature_wait=settings.signature_wait.total_seconds())
        applier = Applier(
            env,
            tokens,
            auditor,
            lambda change: self._dispatch.changed(change),  # noqa: PLW0108 - made below: they need each other
            pass_limit=settings.pass_limit.total_seconds(),
        )

        def events(_project: str) -> Verdict:
            return hearing.verdict

        def post(key: Key, wake: Wake) -> None:
            mailboxes.post(key, wake)

        groups = GroupLook(env, observer, applier, statuses, post, events)
        children = ChildLook(env, observer, applier, statuses, post)
        limits = MailboxLimits(
            looks_per_second=settings.max_looks_per_key_per_second,
            retry_first=settings.retry_first.total_seconds(),
            retry_max=settings.retry_max.total_seconds(),
        )
        mailboxes = Mailboxes(Reconciler(env, groups, children).look, self._clock, self._rest, limits)
        self._dispatch = Dispatch(env, mailboxes.post, mailboxes.forget)
        return mailboxes

    async def _watch(self, client: KubeClient, env: Env, mailboxes: Mailboxes, hearing: Hearing) -> None:
        settings, dispatch = self._settings, self._dispatch
        synced = asyncio.Event()
        nodes = NodeWatch(client, dispatch.node, synced.set, on_heartbeat=dispatch.node_spoke)
        env.knowledge.nodes = nodes.nodes
        self._in_background(nodes.run(), "nodes")
        await synced.wait()
        self._stack.push_async_callback(mailboxes.close, settings.shutdown_grace.total_seconds())
        housekeeping = Housekeeping(env, dispatch)
        await self._patiently("the Kubernetes API", housekeeping.start)
        self._in_background(housekeeping.run(), "housekeeping")
        watch = CustomResourceWatch(
            dispatch.custom_resource,
            self._note_watch,
            lambda: self._in_background(self._list_again(dispatch), "list again"),
            kubeconfig=settings.kubeconfig,
            context=settings.kube_context,
        )
        watch.start()
        self._stack.push_async_callback(watch.stop, settings.shutdown_grace.total_seconds())
        subscription = Subscription(
            subscriber_client_for(settings.pubsub_endpoint or None),
            settings.subscription,
            Intake(env.knowledge, hearing, mailboxes.post, self._clock, self._metrics).handle,
            lambda state: self._note_stream(state, hearing),
            StreamLimits(max_outstanding_messages=settings.max_outstanding_messages),
            self._clock,
        )
        self._in_background(subscription.run(), "subscription")
        self._stack.push_async_callback(subscription.close, settings.shutdown_grace.total_seconds() / 2)
        self._in_background(hearing.run(), "canary")
        log.info("operating", subscription=settings.subscription, identity=settings.identity)

    async def _list_again(self, dispatch: Dispatch) -> None:
        async def listing() -> None:
            await dispatch.list_again()

        await self._patiently("the Kubernetes API", listing)

    @staticmethod
    def _everybody_looks(env: Env, mailboxes: Mailboxes) -> None:
        cause = Cause("hearing", env.clock.now())
        for key in env.knowledge.resources.keys(Kind.GROUP):
            mailboxes.post(key, Wake(Scope.NONE, cause))

    def _note_watch(self, watching: bool, problem: str) -> None:  # noqa: FBT001 - the watch's own callback shape
        self._watching = (watching, problem)

    def _note_stream(self, state: StreamState, hearing: Hearing) -> None:
        if state.error and state.error != self._stream.error:
            log.warning("subscription", trouble=state.error)
        self._stream = state
        hearing.stream(state)

    def _problems(self) -> list[str]:
        """What keeps the operator from its work, for readiness."""
        watching, trouble = self._watching
        problems = [] if self._leading else ["waits for the lease"]
        if not watching:
            problems.append(trouble or "custom resources are not watched")
        if not self._stream.connected:
            problems.append(self._stream.error or "the subscription is not connected yet")
        return problems

    def _in_background(self, work: Awaitable[None], name: str) -> None:
        """A task that lasts as long as the operator. One that ends by an error is a bug and ends the process."""

        async def guarded() -> None:
            try:
                await work
            except asyncio.CancelledError:
                raise
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


def run(settings: Settings) -> int:
    """Be the operator until stopped. Returns the exit code."""
    configure(settings.log_level, settings.log_format)

    async def main() -> int:
        return await Operator(settings).run()

    return asyncio.run(main())
