"""One look at a child: observe, plan, apply, write the status, say when to look next."""

from collections.abc import Callable, Sequence

from controller.api.resources import ChildStatus, Resource
from controller.core.actions import Outcome, SetFinalizers
from controller.core.child import ChildPlan, ChildSnapshot, child_rechecks, link_of, plan_child, status_of
from controller.core.child_status import child_status
from controller.core.failures import Failure
from controller.core.model import Cause, Key, Kind, Scope, Wake
from controller.core.retries import is_settled, lasts, retry_after
from controller.core.verdicts import failed_status
from controller.runtime.apply import Applier
from controller.runtime.auditing import Pass
from controller.runtime.custom_resources import owner_of
from controller.runtime.env import Env
from controller.runtime.mailbox import Next
from controller.runtime.observe import Observer
from controller.runtime.resync import resync_recheck
from controller.runtime.statuses import StatusWriter


class ChildLook:
    """Looks at children. `post`: asks the group, or a MIG that waited for this child, to look."""

    def __init__(
        self,
        env: Env,
        observer: Observer,
        applier: Applier,
        statuses: StatusWriter,
        post: Callable[[Key, Wake], None],
    ) -> None:
        self._env = env
        self._observer = observer
        self._applier = applier
        self._statuses = statuses
        self._post = post

    async def run(self, key: Key, child: Resource, wake: Wake) -> Next:
        """Raises a Failure when something could not be read, or the status not be written."""
        snapshot = await self._observer.child(key, child, status_of(child), wake)
        now = self._env.clock.now()
        decided = plan_child(snapshot, self._env.policy, now)
        owner = owner_of(child)
        of = Pass(f"{key.namespace}/{(owner or key).name}", key, wake.cause, {}, child.metadata.generation)
        outcomes, complete = await self._applier.apply(decided.plan.actions, of)
        if self._env.knowledge.resources.get(key) is None:
            return Next()
        await self._tell(key, wake, snapshot, decided, outcomes)
        return self._following(key, wake, snapshot, decided, outcomes, complete=complete)

    async def failed(self, key: Key, child: Resource, wake: Wake, failure: Failure) -> Next:
        """The look could not be finished: again later, and said in the status when it lasts."""
        memory = self._env.knowledge.memory(key)
        memory.failures += 1
        if lasts(memory.failures, failure):
            await self._write(key, wake, failed_status(child, status_of(child), failure, self._env.clock.now()))
        after = retry_after([failure], memory.failures, self._env.policy)
        return Next(retry=Wake(wake.scope | Scope.MIG, wake.cause), retry_after=after.total_seconds())

    async def _tell(
        self, key: Key, wake: Wake, snapshot: ChildSnapshot, decided: ChildPlan, outcomes: Sequence[Outcome]
    ) -> None:
        if any(isinstance(outcome.action, SetFinalizers) for outcome in outcomes):
            return
        fresh = child_status(snapshot, decided, outcomes, self._env.clock.now())
        if decided.again and fresh.request_id:
            self._env.knowledge.unsent.add(fresh.request_id)
        await self._write(key, wake, fresh)

    async def _write(self, key: Key, wake: Wake, fresh: ChildStatus) -> None:
        current = self._env.knowledge.resources.get(key)
        if current is None:
            return
        before = status_of(current)
        if await self._statuses.write(key, current, before, fresh):
            owner = owner_of(current)
            if owner is not None:
                # Until a MIG has its link its group reads no VM: what events told of them by then was not looked at.
                found = key.kind is Kind.MIG and link_of(fresh) and not link_of(before)
                self._post(owner, Wake(Scope.MIG if found else Scope.SPEC, wake.cause))
            elif key.kind is not Kind.MIG:
                # A MIG that was applied on its own may have waited for this template or policy.
                for other in self._env.knowledge.resources.keys(Kind.MIG):
                    self._post(other, Wake(Scope.SPEC, wake.cause))

    def _following(
        self,
        key: Key,
        wake: Wake,
        snapshot: ChildSnapshot,
        decided: ChildPlan,
        outcomes: Sequence[Outcome],
        *,
        complete: bool,
    ) -> Next:
        memory = self._env.knowledge.memory(key)
        now = self._env.clock.now()
        failures = [o.failure for o in outcomes if o.failure is not None and not is_settled(o)]
        if not failures and decided.failure is not None:
            failures = [decided.failure]
        memory.failures = memory.failures + 1 if failures else 0
        on_its_own = snapshot.metadata.controller_owner is None
        quiet = self._quiet_looks(key, snapshot) if on_its_own else 0
        rechecks = list(decided.plan.rechecks)
        rechecks += child_rechecks(snapshot, outcomes, self._env.policy, now, quiet_looks=quiet, follows=on_its_own)
        if on_its_own:
            rechecks.append(resync_recheck(self._env, key, wake))
        look_again = decided.again or not complete or any(_progressed(outcome) for outcome in outcomes)
        after = retry_after(failures, memory.failures, self._env.policy)
        memory.held_until = now + after if failures else None
        return Next(
            rechecks=tuple(rechecks),
            retry=Wake(Scope.MIG, Cause("retry", now)) if failures else None,
            retry_after=after.total_seconds(),
            again=Wake(Scope.SPEC if decided.again else Scope.MIG, wake.cause) if look_again else None,
        )

    def _quiet_looks(self, key: Key, snapshot: ChildSnapshot) -> int:
        memory = self._env.knowledge.memory(key)
        if snapshot.read and snapshot.resource is not None and snapshot.resource.mig is not None:
            memory.take_mig(snapshot.resource.mig)
        return memory.quiet_looks


def _progressed(outcome: Outcome) -> bool:
    """Whether the next look decides otherwise, with no event to wait for."""
    if outcome.failure is not None:
        return is_settled(outcome)
    if isinstance(outcome.action, SetFinalizers):
        return True
    return outcome.operation is not None and outcome.operation.done
