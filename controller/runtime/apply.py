"""Act: the one place that changes anything outside. One case for each action, failures are values.

Before each act the lease is checked and a line is written; after it, the audit record. A pass acts for about a second:
what has not begun by then is left to the next look, so no plan grows stale under it.
"""

import asyncio
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import assert_never

import structlog

from controller.core.actions import (
    Action,
    Cordon,
    CreateChild,
    DeleteChild,
    DeleteResource,
    DeleteStaleNode,
    InjectToken,
    InsertResource,
    LabelNode,
    MintToken,
    Outcome,
    RevokeToken,
    ScrubMetadata,
    SetFinalizers,
    TaintNode,
    Uncordon,
)
from controller.core.failures import Failure
from controller.core.observed import OperationView
from controller.runtime.auditing import Auditor, Pass
from controller.runtime.custom_resources import Change
from controller.runtime.env import Env
from controller.runtime.token_work import TokenWork

log = structlog.get_logger(__name__)


class Applier:
    """Applies plans. `concurrency`: targets at one time; `pass_limit`: seconds in which a pass may begin acts.

    `on_change`: a custom resource came or went by an act of ours; the watch will tell it again, later.
    """

    def __init__(
        self,
        env: Env,
        tokens: TokenWork,
        auditor: Auditor,
        on_change: Callable[[Change], None],
        *,
        concurrency: int = 16,
        pass_limit: float = 1.0,
    ) -> None:
        self._env = env
        self._tokens = tokens
        self._auditor = auditor
        self._on_change = on_change
        self._concurrency = concurrency
        self._pass_limit = pass_limit

    async def apply(self, actions: Sequence[Action], of: Pass) -> tuple[list[Outcome], bool]:
        """The outcomes of what was begun, and whether all was. A target's later actions need its earlier ones."""
        deadline = self._env.clock.monotonic() + self._pass_limit
        slots = asyncio.Semaphore(self._concurrency)
        # Stable: within a target the order of the plan stays.
        ordered = sorted(actions, key=lambda action: action.target)
        chains = [list(chain) for _, chain in groupby(ordered, key=lambda action: action.target)]
        chains.sort(key=lambda chain: min(action.priority for action in chain))
        of.progress.left += len(ordered)
        results = await asyncio.gather(*(self._chain(chain, of, slots, deadline) for chain in chains))
        # A chain that a failure ended is not incomplete: it is looked at again behind a back-off, not at once.
        complete = all(
            len(done) == len(chain) or any(outcome.failure is not None for outcome in done)
            for chain, done in zip(chains, results, strict=True)
        )
        return [outcome for done in results for outcome in done], complete

    async def _chain(
        self, chain: Sequence[Action], of: Pass, slots: asyncio.Semaphore, deadline: float
    ) -> list[Outcome]:
        outcomes: list[Outcome] = []
        async with slots:
            for place, action in enumerate(chain, start=1):
                if self._env.clock.monotonic() > deadline:
                    of.progress.left -= len(chain) - len(outcomes)
                    break
                outcome = await self._act(action, of, follow=len(chain) - place)
                outcomes.append(outcome)
                if outcome.failure is not None:
                    break
        return outcomes

    async def _act(self, action: Action, of: Pass, *, follow: int) -> Outcome:
        """`follow`: how many acts of the chain wait for this one; when it fails, they are not begun."""
        self._env.may_act()
        started, begun = self._env.clock.now(), self._env.clock.monotonic()
        self._auditor.begin(action, of, started)
        try:
            fresh = not isinstance(action, InsertResource) or action.request_id in self._env.knowledge.unsent
            outcome = Outcome(action, operation=await self._do(action, of))
            if fresh:
                # The same request again would be no new operation, and be written to the log no second time.
                self._await_entry(outcome, begun)
        except Failure as failure:
            log.warning(
                "action failed",
                action=type(action).__name__,
                target=action.target,
                group=of.group,
                failure=str(failure),
            )
            outcome = Outcome(action, failure=failure)
            of.progress.left -= follow
        self._auditor.end(outcome, of, started, self._env.clock.monotonic() - begun)
        result = "failed" if outcome.failure is not None else "done"
        self._env.metrics.actions.labels(type(action).__name__, result).inc()
        return outcome

    def _await_entry(self, outcome: Outcome, begun: float) -> None:
        """An accepted mutation comes back as an entry of the audit log, or else the operator is deaf."""
        action, operation = outcome.action, outcome.operation
        if isinstance(action, InsertResource | DeleteResource) and operation is not None:
            verb = "insert" if isinstance(action, InsertResource) else "delete"
            now = self._env.clock.monotonic()
            self._env.knowledge.awaited.mutated(action.ref, verb, operation.name, begun, now)

    async def _do(self, action: Action, of: Pass) -> OperationView | None:
        match action:
            case InsertResource():
                self._env.knowledge.unsent.discard(action.request_id)
                return await self._env.cloud.insert(action.ref, dict(action.body), action.request_id)
            case DeleteResource():
                return await self._env.cloud.delete(action.ref, action.request_id)
            case MintToken():
                await self._tokens.mint(action, of)
            case RevokeToken():
                await self._tokens.revoke(action)
            case InjectToken():
                return await self._tokens.inject(action, of)
            case ScrubMetadata():
                return await self._tokens.scrub(action, of)
            case SetFinalizers() | CreateChild() | DeleteChild():
                await self._write_custom_resource(action)
            case LabelNode() | TaintNode() | DeleteStaleNode() | Cordon() | Uncordon():
                await self._write_node(action)
            case _:
                assert_never(action)
        return None

    async def _write_custom_resource(self, action: SetFinalizers | CreateChild | DeleteChild) -> None:
        """The answer is taken at once: the next look must not work from an older copy."""
        match action:
            case SetFinalizers():
                left = await self._env.cluster.set_finalizers(action.key, action.resource_version, action.finalizers)
                if left is not None:
                    self._env.knowledge.resources.wrote(action.key, left)
                elif (gone := self._env.knowledge.resources.gone(action.key)) is not None:
                    self._on_change(gone)
            case CreateChild():
                kind, namespace = action.key.kind, action.key.namespace
                raw = await self._env.cluster.create_custom_resource(kind, namespace, dict(action.manifest))
                change = self._env.knowledge.resources.apply(kind, "ADDED", raw)
                if change is not None:
                    self._on_change(change)
            case DeleteChild():
                await self._env.cluster.delete_custom_resource(action.key, action.uid)

    async def _write_node(self, action: LabelNode | TaintNode | DeleteStaleNode | Cordon | Uncordon) -> None:
        match action:
            case LabelNode():
                await self._env.cluster.label_node(action.node, action.uid, action.labels)
            case TaintNode():
                await self._env.cluster.taint_node(action.node, action.uid, action.resource_version, action.taints)
            case DeleteStaleNode():
                await self._env.cluster.delete_node(action.node, action.uid, action.resource_version)
            case Cordon():
                await self._env.cluster.cordon_node(action.node, action.uid, action.by)
            case Uncordon():
                await self._env.cluster.cordon_node(action.node, action.uid, None)
