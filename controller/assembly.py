"""Puts the parts of the runtime together from the settings. Builds objects, starts nothing."""

import importlib.resources
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import structlog

from controller.api.constants import LOG_ACTIONS
from controller.core.desired import BootImages
from controller.core.model import Cause, Key, Kind, Scope, Wake
from controller.core.plan import Policy
from controller.core.startup import rendered
from controller.runtime.apply import Applier
from controller.runtime.auditing import Auditor
from controller.runtime.backlog import Backlog
from controller.runtime.child_look import ChildLook
from controller.runtime.custom_resources import Change
from controller.runtime.dispatch import Dispatch
from controller.runtime.env import Env
from controller.runtime.group_look import GroupLook
from controller.runtime.hearing import Hearing, Path, Ways
from controller.runtime.housekeeping import Housekeeping
from controller.runtime.intake import Intake
from controller.runtime.mailbox import Limits, Mailboxes
from controller.runtime.observe import Observer
from controller.runtime.reconcile import Reconciler
from controller.runtime.statuses import StatusWriter
from controller.runtime.token_work import TokenWork
from controller.settings import Settings
from sinks.audit.canary import canary_entry
from sinks.audit.sink import FanOut, JsonLines
from sinks.audit.writer import CloudLogging, WriterLimits, client_for

log = structlog.get_logger(__name__)


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
        deaf_resync=settings.deaf_resync_interval,
        token_life=settings.token_life,
        token_renew_margin=settings.token_renew_margin,
        node_service_account=settings.node_service_account,
        images=BootImages(settings.boot_image_tpu7x, settings.boot_image_v6e),
        startup_script=rendered(importlib.resources.files("controller.core").joinpath("startup.sh").read_text("utf-8")),
    )


def records_of(settings: Settings) -> CloudLogging:
    """The writer of audit records and canaries."""

    def tell(trouble: str) -> None:
        if trouble:
            log.warning("audit log", trouble=trouble)
        else:
            log.info("audit log works again")

    name = f"projects/{settings.project}/logs/{LOG_ACTIONS}"
    return CloudLogging(client_for(settings.logging_endpoint or None), name, WriterLimits(), tell)


@dataclass(frozen=True, slots=True)
class Parts:
    """The runtime, put together."""

    mailboxes: Mailboxes
    dispatch: Dispatch
    hearing: Hearing
    intake: Intake
    housekeeping: Housekeeping


def assemble(settings: Settings, env: Env, records: CloudLogging) -> Parts:
    """All parts that only need one another and the ports in `env`."""
    lines = JsonLines(sys.stdout)
    sink = FanOut([lines, records] if settings.audit_to_cloud_logging else [lines])
    auditor = Auditor(lines, sink, settings.identity)

    # These need one another: what is posted and told goes through names that are bound by the time it is.
    def post(key: Key, wake: Wake) -> None:
        mailboxes.post(key, wake)

    def changed(change: Change) -> None:
        dispatch.changed(change)

    def groups_look(project: str) -> None:
        cause = Cause("hearing", env.clock.now())
        for key in env.knowledge.resources.keys(Kind.GROUP):
            group = env.knowledge.resources.group(key)
            if group is not None and group.spec.project == project:
                mailboxes.post(key, Wake(Scope.NONE, cause))

    backlog = Backlog(env.clock, lambda: mailboxes.oldest_event)
    hearing = _hearing(settings, env, records, backlog, groups_look)
    tokens = TokenWork(env, signature_wait=settings.signature_wait.total_seconds())
    applier = Applier(env, tokens, auditor, changed, pass_limit=settings.pass_limit.total_seconds())
    observer, statuses = Observer(env), StatusWriter(env)
    groups = GroupLook(env, observer, applier, statuses, post, hearing.verdict)
    children = ChildLook(env, observer, applier, statuses, post)
    limits = Limits(
        looks_per_second=settings.max_looks_per_key_per_second,
        retry_first=settings.retry_first.total_seconds(),
        retry_max=settings.retry_max.total_seconds(),
    )
    mailboxes = Mailboxes(Reconciler(env, groups, children).look, env.clock, env.jitter, limits)
    dispatch = Dispatch(env, mailboxes.post, mailboxes.forget)
    intake = Intake(
        env.knowledge,
        hearing,
        mailboxes.post,
        env.clock,
        env.metrics,
        env.may_act,
        last_attempt=settings.max_delivery_attempts,
    )
    env.metrics.groups_not_ready.set_function(env.knowledge.resources.not_ready)
    env.metrics.oldest_event.set_function(backlog.age)
    env.metrics.saturation.set_function(lambda: mailboxes.saturation)
    env.metrics.waiting.set_function(lambda: mailboxes.waiting)
    env.metrics.records_dropped.set_function(lambda: records.counts.dropped + lines.dropped)
    return Parts(mailboxes, dispatch, hearing, intake, Housekeeping(env, dispatch, applier))


def _hearing(
    settings: Settings, env: Env, records: CloudLogging, backlog: Backlog, on_change: Callable[[str], None]
) -> Hearing:
    """The canary's way out and back; it is written like the audit records."""

    def write(at: datetime) -> None:
        records.write_entry(canary_entry(settings.project, settings.cluster_name, settings.identity, at))

    path = Path(
        project=settings.project,
        subscription=settings.subscription,
        cluster=settings.cluster_name,
        writer=settings.identity,
        interval=settings.canary_interval,
        limit=settings.deaf_limit,
    )
    ways = Ways(write, lambda: records.trouble, lambda: env.knowledge.index.projects, on_change)
    return Hearing(env.clock, env.metrics, env.knowledge.awaited, backlog, path, ways)
