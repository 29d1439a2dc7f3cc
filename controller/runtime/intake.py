"""From a delivered message to a wake in a mailbox: decode, route, post, ack. Synchronous and quick.

Acked when the wake is safe in the mailbox: from then on retries are the mailbox's, and a crash is covered by the resync
at start. One message never costs another anything. A replica that may not act (any more) takes nothing: the one that
may has perhaps looked already, and would not hear of it.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

import structlog

from controller.core.model import Key, Wake
from controller.core.route import Route, is_ours, route
from controller.runtime.hearing import Hearing
from controller.runtime.knowledge import Knowledge
from controller.runtime.leadership import NotLeader
from controller.runtime.metrics import Metrics
from controller.runtime.ports import Clock, MayAct
from sinks.intake.delivery import Answer, Delivery
from sinks.intake.entry import decode
from sinks.intake.events import Event, EventKind, Ignored, Resource, Unreadable, moment

log = structlog.get_logger(__name__)

#: An optimisation only: a duplicate costs a look, never correctness.
_REMEMBERED: Final = 20_000


class Intake:
    """Handles deliveries of the subscription. `last_attempt`: what is refused then, the dead-letter topic gets."""

    def __init__(
        self,
        knowledge: Knowledge,
        hearing: Hearing,
        post: Callable[[Key, Wake], None],
        clock: Clock,
        metrics: Metrics,
        may_act: MayAct,
        *,
        last_attempt: int = 5,
    ) -> None:
        self._knowledge = knowledge
        self._hearing = hearing
        self._post = post
        self._clock = clock
        self._metrics = metrics
        self._may_act = may_act
        self._last_attempt = last_attempt
        self._handled: OrderedDict[str, None] = OrderedDict()

    def handle(self, delivery: Delivery) -> Answer:
        """Take one message. What this raises, the stream answers with a nack."""
        try:
            refused = self._refused(delivery)
        except Exception:
            self._metrics.nacked.labels("failed").inc()
            raise
        if refused:
            self._metrics.nacked.labels(refused).inc()
            return Answer.NACK
        self._metrics.acked.inc()
        return Answer.ACK

    def _refused(self, delivery: Delivery) -> str:
        """Why it must come again; "" when it need not."""
        try:
            self._may_act()
        except NotLeader:
            return "not leading"
        match decode(delivery.data):
            case Unreadable(reason):
                return self._unreadable(delivery, reason)
            case Ignored(reason):
                self._metrics.ignored.labels(reason).inc()
            case Event() as event:
                self._event(event, delivery)
        return ""

    def _unreadable(self, delivery: Delivery, reason: str) -> str:
        """Nacked until the dead-letter policy takes it; without one it could only go round for ever."""
        self._metrics.unreadable.labels(reason).inc()
        log.warning("message cannot be read", message_id=delivery.message_id, reason=reason)
        if delivery.delivery_attempt >= self._last_attempt:
            self._metrics.dead_lettered.inc()
        return "unreadable" if delivery.delivery_attempt else ""

    def _event(self, event: Event, delivery: Delivery) -> None:
        self._metrics.events.labels(f"{event.resource}.{event.kind}").inc()
        now = self._clock.now()
        self._metrics.last_event.set(now.timestamp())
        age = (now - moment(event.at)).total_seconds()
        self._metrics.event_age.observe(max(0.0, age))
        self._hearing.heard(event, delivery.published)
        if event.resource is Resource.CANARY:
            return
        if self._is_duplicate(event.key):
            self._metrics.duplicates.inc()
            return
        found = route(event, self._knowledge.index, delivery.published)
        if found is None:
            ours = is_ours(event, self._knowledge.index)
            (self._metrics.nothing_new if ours else self._metrics.foreign).inc()
        else:
            self._wake(found)
            memory = self._knowledge.memory(found.key)
            memory.last_event = delivery.published
            if event.kind is not EventKind.INSERTED and memory.is_of_an_earlier_vm(event.name, event.instance_id):
                self._metrics.stale.inc()
        # Only now: an entry counts as seen when its wake is safe.
        self._remember(event.key)

    def _wake(self, found: Route) -> None:
        if found.hint is not None:
            hint = found.hint
            self._knowledge.memory(found.key).hint(hint.instance_id, (hint.reason, hint.message))
        self._post(found.key, found.wake)

    def _is_duplicate(self, key: str) -> bool:
        return key in self._handled

    def _remember(self, key: str) -> None:
        self._handled[key] = None
        if len(self._handled) > _REMEMBERED:
            self._handled.popitem(last=False)
