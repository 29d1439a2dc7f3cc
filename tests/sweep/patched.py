"""The operator as a program of its own, for sweeps: held at chosen moments, or with a bug in it.

It tells each event that it has handed over to a mailbox. `SWEEP_HOLD` (JSON, `[[group, event], ...]`): the look that
follows the first such event of this group never begins, and the program says `held`: the moment to be killed.
`SWEEP_BUG`: the name of one of `BUGS`, to see that a sweep finds it. Nothing of this is in the product.
"""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import Any, Final

from controller.cli import main
from controller.core.model import Key, Scope, Wake
from controller.core.observed import NodeView
from controller.runtime import intake, observe
from controller.runtime.intake import Intake
from controller.runtime.mailbox import Mailboxes, Next
from controller.runtime.reconcile import Reconciler
from sinks.intake.delivery import Answer, Delivery
from sinks.intake.entry import decode
from sinks.intake.events import Decoded, Event, EventKind

#: Acks leave within milliseconds of the hand-over: after so many seconds it is certainly theirs to be lost by a kill.
_ACKED: Final = 0.1


def say(event: str, **fields: str) -> None:
    """One JSON line on stdout, whole: what other lines wait in its buffer go before it."""
    sys.stdout.flush()
    os.write(sys.stdout.fileno(), json.dumps({"event": event, **fields}).encode() + b"\n")


def tell_and_hold(wanted: set[tuple[str, str]]) -> None:
    """Tell what is handed over, and hold the looks that follow what is wanted."""
    held: dict[Key, tuple[str, str]] = {}
    take, look = Intake.handle, Mailboxes._look

    def handed_over(self: Intake, delivery: Delivery) -> Answer:
        posted: list[Key] = []
        post = self._post

        def noting(key: Key, wake: Wake) -> None:
            posted.append(key)
            post(key, wake)

        self._post = noting
        try:
            answer = take(self, delivery)
        finally:
            self._post = post
        for key in posted:
            of = _named(decode(delivery.data))
            say("handed over", group=of[0], name=of[1])
            if of in wanted:
                wanted.discard(of)
                held[key] = of
        return answer

    async def held_look(self: Mailboxes, key: Key, wake: Wake) -> Next:
        if key in held:
            await asyncio.sleep(_ACKED)
            say("held", group=held[key][0], name=held[key][1])
            await asyncio.Event().wait()
        return await look(self, key, wake)

    Intake.handle = handed_over  # type: ignore[method-assign]
    Mailboxes._look = held_look  # type: ignore[method-assign]


def _named(event: Decoded) -> tuple[str, str]:
    """The group that an event concerns, and the event's name as planned faults have it."""
    assert isinstance(event, Event)
    name = event.cause if event.kind is EventKind.BOOTSTRAP else f"{event.cause}.{event.phase}"
    return event.name.partition("-")[0], name


def _answer_of_each_look(change: Callable[[Next], Next]) -> None:
    look: Callable[[Reconciler, Key, Wake], Awaitable[Next]] = Reconciler.look

    async def changed(self: Reconciler, key: Key, wake: Wake) -> Next:
        return change(await look(self, key, wake))

    Reconciler.look = changed  # type: ignore[method-assign]


def _not_retried() -> None:
    _answer_of_each_look(lambda following: replace(following, retry=None))


def _seen_all_the_same() -> None:
    def without_its_event(following: Next) -> Next:
        retry = following.retry
        return following if retry is None else replace(following, retry=Wake(Scope.NONE, retry.cause))

    _answer_of_each_look(without_its_event)


def _first_and_last_are_one() -> None:
    def by_operation(data: bytes) -> Decoded:
        event = decode(data)
        return replace(event, key=event.operation_id or event.key) if isinstance(event, Event) else event

    vars(intake)["decode"] = by_operation


def _name_is_identity() -> None:
    match_hosts = vars(observe)["match_hosts"]

    def by_name(inventory: Any, nodes: Iterable[NodeView], *rest: Any, **more: Any) -> Any:
        of_now = {name: vm.id for name, vm in inventory.instances.items()}
        adopted = [replace(node, instance_id=of_now.get(node.name, node.instance_id)) for node in nodes]
        return match_hosts(inventory, adopted, *rest, **more)

    vars(observe)["match_hosts"] = by_name


BUGS: Final[dict[str, Callable[[], None]]] = {
    "a failed look is not retried": _not_retried,
    "an event counts as seen although its look failed": _seen_all_the_same,
    "dedupe drops a distinct entry": _first_and_last_are_one,
    "name used instead of instance id": _name_is_identity,
}

if __name__ == "__main__":
    tell_and_hold({(group, event) for group, event in json.loads(os.environ.get("SWEEP_HOLD", "[]"))})
    BUGS.get(os.environ.get("SWEEP_BUG", ""), lambda: None)()
    main()
