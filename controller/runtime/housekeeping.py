"""The slow, jittered look at what no key looks at: the index of custom resources, and the token Secrets."""

import asyncio
from contextlib import suppress

import structlog

from controller.core.actions import RevokeToken
from controller.core.failures import Failure
from controller.core.model import Cause, Key, Kind
from controller.runtime.apply import Applier
from controller.runtime.auditing import Pass
from controller.runtime.dispatch import Dispatch
from controller.runtime.env import Env
from controller.runtime.first_fill import FirstFill

log = structlog.get_logger(__name__)


class Housekeeping:
    """Lists once at the start, then every resync interval, and when asked to."""

    def __init__(self, env: Env, dispatch: Dispatch, applier: Applier) -> None:
        self._env = env
        self._dispatch = dispatch
        self._applier = applier
        self._wanted = asyncio.Event()

    async def start(self) -> None:
        """Everything that looks need to know before the first one. Raises a Failure."""
        self._env.cluster.tell_lost_tokens(self._token_lost)
        await self._tokens()
        await self._dispatch.list_again(FirstFill(self._env).run)

    def ask(self) -> None:
        """List again soon: a watch was interrupted, and reports no deletion that it slept through."""
        self._wanted.set()

    async def run(self) -> None:
        """Again and again, until cancelled."""
        pause = self._interval()
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wanted.wait(), pause)
            self._wanted.clear()
            try:
                await self.again()
                pause = self._interval()
            except Failure as failure:
                log.warning("housekeeping will be repeated", failure=str(failure))
                pause = self._env.policy.retry_max.total_seconds()

    async def again(self) -> None:
        """One round: what the watch had missed is drift, and wakes whom it concerns. Raises a Failure."""
        missed = await self._dispatch.list_again()
        if missed:
            self._env.metrics.drift.labels("custom_resources").inc(missed)
        await self._tokens()
        await self._revoke_strays()

    def _token_lost(self, token_id: str) -> None:
        """Only a list tells whether its Secret is gone too: the signer may be at work, or somebody at cluster-info."""
        if self._env.knowledge.vault.lives(token_id, self._env.clock.now()):
            self.ask()

    def _interval(self) -> float:
        return self._env.jitter.around(self._env.policy.resync, self._env.policy.resync_jitter).total_seconds()

    async def _tokens(self) -> None:
        asked = self._env.clock.now()
        lost = self._env.knowledge.vault.replace(await self._env.cluster.list_token_secrets(), asked)
        self._dispatch.tokens_gone(lost)
        self._env.metrics.tokens_live.set(self._env.knowledge.vault.live)

    async def _revoke_strays(self) -> None:
        """A token whose group is gone belongs to nothing: its group's deletion was cut short, or forced."""
        groups = frozenset(self._env.knowledge.resources.keys(Kind.GROUP))
        for token in self._env.knowledge.vault.strays(groups):
            key = Key(Kind.GROUP, token.namespace, token.group)
            cause = Cause("housekeeping", self._env.clock.now())
            of = Pass(f"{token.namespace}/{token.group}", key, cause, {}, generation=0)
            outcomes, _ = await self._applier.apply([RevokeToken(token.id, token.instance, "its group is gone")], of)
            self._env.metrics.orphans_deleted.labels("token").inc(sum(each.failure is None for each in outcomes))
