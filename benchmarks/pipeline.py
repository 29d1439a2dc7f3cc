"""The operator's own event path, from the stream to the look, with a look that only notes for which events it came."""

from collections import defaultdict
from collections.abc import Callable
from datetime import timedelta
from typing import Final

from benchmarks import mix
from controller.adapters.clock import RandomJitter, SystemClock
from controller.core.model import Key, Wake
from controller.runtime.backlog import Backlog
from controller.runtime.hearing import Hearing, Path, Ways
from controller.runtime.intake import Intake
from controller.runtime.knowledge import Knowledge
from controller.runtime.mailbox import Limits as MailboxLimits
from controller.runtime.mailbox import Mailboxes, Next
from controller.runtime.metrics import Metrics
from controller.runtime.vault import TokenVault
from sinks.intake.delivery import Limits
from sinks.intake.subscription import ClientFactory, Subscription

_LONG: Final = timedelta(hours=1)


class Pipeline:
    """Subscription, intake and mailboxes as the operator has them.

    `looked` is told of every event at the beginning of the look that it woke: its insertId, as a number.
    """

    def __init__(self, client_factory: ClientFactory, path: str, looked: Callable[[int], None]) -> None:
        clock, metrics, knowledge = SystemClock(), Metrics(), Knowledge(TokenVault(_LONG, _LONG, 1, 1))
        knowledge.index = mix.index()
        self._looked = looked
        self._pending: dict[Key, list[int]] = defaultdict(list)
        self.mailboxes = Mailboxes(self._look, clock, RandomJitter(1), MailboxLimits())
        ears = Path(mix.PROJECT, path, "bench", "bench", _LONG, _LONG)
        ways = Ways(lambda _: None, lambda: "", lambda: (), lambda _: None)
        backlog = Backlog(clock, lambda: self.mailboxes.oldest_event)
        hearing = Hearing(clock, metrics, knowledge.awaited, backlog, ears, ways)
        intake = Intake(knowledge, hearing, self._post, clock, metrics, lambda: None)
        self.subscription = Subscription(client_factory, path, intake.handle, hearing.stream, Limits(), clock)

    def _post(self, key: Key, wake: Wake) -> None:
        self._pending[key].append(int(wake.cause.event.rpartition("|")[2]))
        self.mailboxes.post(key, wake)

    async def _look(self, key: Key, _: Wake) -> Next:
        # Between the mailbox's taking of the wake and this nothing else runs: what is pending is what the look is for.
        for stamp in self._pending.pop(key, ()):
            self._looked(stamp)
        return Next()
