"""One look at a TPUNodeGroup: observe, plan, apply, write the status, say when to look next."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from controller.api.resources import TPUNodeGroup, TPUNodeGroupStatus
from controller.core.actions import Outcome, SetFinalizers
from controller.core.children import child_ref
from controller.core.failures import Failure
from controller.core.group import plan_group
from controller.core.group_status import group_status, only_details_differ
from controller.core.join import Phase
from controller.core.model import Cause, Key, Kind, Scope, Wake
from controller.core.plan import Recheck
from controller.core.retries import lasts, retry_after, retry_wake
from controller.core.snapshot import GroupSnapshot
from controller.core.verdicts import Verdict, failed_status
from controller.runtime.apply import Applier
from controller.runtime.auditing import Pass
from controller.runtime.env import Env
from controller.runtime.mailbox import Next
from controller.runtime.observe import Observer
from controller.runtime.resync import resync_recheck
from controller.runtime.statuses import StatusWriter

#: Counts and lists of hosts are written this often at most: a slice of thousands comes up within seconds.
_DETAILS_PACE = timedelta(milliseconds=250)


class GroupLook:
    """Looks at groups. `post`: asks a child to look; `events`: the verdict on the path of a project's events."""

    def __init__(
        self,
        env: Env,
        observer: Observer,
        applier: Applier,
        statuses: StatusWriter,
        post: Callable[[Key, Wake], None],
        events: Callable[[str], Verdict | None],
    ) -> None:
        self._env = env
        self._observer = observer
        self._applier = applier
        self._statuses = statuses
        self._post = post
        self._events = events

    async def run(self, key: Key, group: TPUNodeGroup, wake: Wake) -> Next:
        """Raises a Failure when something could not be read, or the status not be written."""
        mig_path = child_ref(group, Kind.MIG).path
        seen = self._env.knowledge.seen.get(mig_path)
        snapshot = await self._observer.group(key, group, wake)
        # Reading takes time: decide on the newest word of the user.
        current = self._env.knowledge.resources.group(key)
        if current is None:
            return Next()
        snapshot = replace(snapshot, group=current)
        now = self._env.clock.now()
        plan = plan_group(snapshot, self._env.policy, now)
        of = Pass(snapshot.mark, key, wake.cause, dict(wake.instances), current.metadata.generation, wake.mig)
        outcomes, complete = await self._applier.apply(plan.actions, of)
        await self._tell(key, snapshot, outcomes, now)
        if self._env.knowledge.seen.get(mig_path) is not seen and Kind.MIG in snapshot.children:
            self._post(snapshot.children[Kind.MIG].key, Wake(Scope.SPEC, wake.cause))
        following = self._following(key, wake, plan.rechecks, outcomes, complete=complete, now=now)
        if self._only_the_mig_lags(key, snapshot, now):
            following = replace(following, again=Wake(Scope.MIG, Cause("hosts_ready", now)))
        return following

    async def failed(self, key: Key, group: TPUNodeGroup, wake: Wake, failure: Failure) -> Next:
        """The look could not be finished: again later, and said in the status when it lasts."""
        memory = self._env.knowledge.memory(key)
        memory.failures += 1
        now = self._env.clock.now()
        if lasts(memory.failures, failure):
            fresh = failed_status(group, group.status, failure, now)
            await self._statuses.write(key, group, group.status, fresh)
        after = retry_after([failure], memory.failures, self._env.policy)
        return Next(retry=wake, retry_after=after.total_seconds())

    async def _tell(self, key: Key, snapshot: GroupSnapshot, outcomes: Sequence[Outcome], now: datetime) -> None:
        memory = self._env.knowledge.memory(key)
        current = self._env.knowledge.resources.group(key)
        if current is None or any(isinstance(outcome.action, SetFinalizers) for outcome in outcomes):
            return
        fresh = group_status(
            snapshot, outcomes, now, events=self._events(current.spec.project), last_event=memory.last_event
        )
        unread = next(iter(memory.unread.values()), None)
        if unread is not None and lasts(memory.failures + 1, unread):
            fresh = failed_status(current, fresh, unread, now)
        await self._write(key, current, fresh, now)
        for state in snapshot.states(now):
            if state.phase is Phase.READY and state.host.instance is not None:
                memory.hints.pop(state.host.instance.id, None)

    async def _write(self, key: Key, group: TPUNodeGroup, fresh: TPUNodeGroupStatus, now: datetime) -> None:
        """At once what somebody may act on; mere details, which change with every host, a few times a second."""
        memory = self._env.knowledge.memory(key)
        memory.details_due = None
        if fresh == group.status:
            return
        if memory.told is not None and only_details_differ(group.status, fresh) and now - memory.told < _DETAILS_PACE:
            memory.details_due = memory.told + _DETAILS_PACE
            return
        await self._statuses.write(key, group, group.status, fresh)
        memory.told = now

    def _only_the_mig_lags(self, key: Key, snapshot: GroupSnapshot, now: datetime) -> bool:
        """Whether the last host has just become Ready and the MIG was read before it had: its word is stale."""
        memory = self._env.knowledge.memory(key)
        states = snapshot.states(now)
        ready = sum(state.phase is Phase.READY for state in states) == snapshot.group.spec.node_count
        became, memory.hosts_ready = ready and not memory.hosts_ready, ready
        if not became or snapshot.mig is None or snapshot.whole(states):
            return False
        memory.quiet_looks = 0
        return True

    def _is_deaf(self, key: Key) -> bool:
        group = self._env.knowledge.resources.group(key)
        verdict = self._events(group.spec.project) if group is not None else None
        return verdict is not None and verdict.status == "False"

    def _following(
        self,
        key: Key,
        wake: Wake,
        rechecks: tuple[Recheck, ...],
        outcomes: Sequence[Outcome],
        *,
        complete: bool,
        now: datetime,
    ) -> Next:
        memory = self._env.knowledge.memory(key)
        failures = [outcome.failure for outcome in outcomes if outcome.failure is not None]
        failures.extend(memory.unread.values())
        memory.failures = memory.failures + 1 if failures else 0
        progressed = any(isinstance(o.action, SetFinalizers) and o.failure is None for o in outcomes)
        again = Wake(Scope.SPEC, wake.cause, dict(wake.instances)) if progressed or not complete else None
        details = (Recheck(memory.details_due, "details", Scope.NONE),) if memory.details_due else ()
        return Next(
            rechecks=(*rechecks, *details, resync_recheck(self._env, key, wake, deaf=self._is_deaf(key))),
            retry=retry_wake(outcomes, memory.unread, now),
            retry_after=retry_after(failures, memory.failures, self._env.policy).total_seconds(),
            again=again,
        )
