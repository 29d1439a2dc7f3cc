"""What the event path of the project is made of, editable: the log sink, and who may publish, pull and write.

The sink's own part (disabled, filter, a writer identity that needs roles/pubsub.publisher, a sink above that
intercepts) is facts: audit logs 5. When a permission that is taken away takes effect is documented nowhere: here it is
at once.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Final

from simulator.logging.query import Predicate, QueryError, compile_query
from simulator.logging.sink_filter import sink_filter
from simulator.plan import Installation
from simulator.seams import Json

__all__ = ["EventPath", "EventPathError", "Pieces", "planned"]


class EventPathError(ValueError):
    """A change that cannot be made. The message names the field and what it may be."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """The pieces, whole."""

    #: The sink exports nothing.
    disabled: bool = False
    #: The sink's filter.
    filter: str = ""
    #: The filter of a sink above that intercepts what it matches; "" where there is none.
    intercepts: str = ""
    #: The sink's writer identity may publish to the topic.
    publisher: bool = True
    #: The operator may pull the subscription.
    subscriber: bool = True
    #: The operator may write log entries.
    logger: bool = True
    #: The VMs' service account may write log entries.
    nodes_logger: bool = True
    #: Pub/Sub's service agent has both roles that moving dead letters takes.
    dead_letters: bool = True
    #: The project whose entries the sink takes; "" for one that takes those of all, as a folder's does.
    project: str = ""


class EventPath:
    """The pieces as they are. `whole`: what they are to begin with, None for all that there should be."""

    def __init__(self, whole: Pieces | None = None) -> None:
        self._whole = whole or Pieces(filter=sink_filter())
        #: Called after each change.
        self.on_change: list[Callable[[], None]] = []
        self._take(self._whole)

    def admits(self, entry: Json) -> bool:
        """Whether the sink exports this entry."""
        if self.pieces.disabled or not entry.get("logName", "").startswith(self._logs):
            return False
        return self._admits(entry) and not self._intercepts(entry)

    def change(self, body: Any) -> Json:
        """Change what the body names; null makes a field whole again. Returns all. Raises EventPathError."""
        if not isinstance(body, dict):
            raise EventPathError(f"the body must be a JSON object with any of {', '.join(_FIELDS)}")
        changes = {name: self._value(name, value) for name, value in body.items()}
        try:
            self._take(replace(self.pieces, **changes))
        except QueryError as error:
            raise EventPathError(f"unparseable filter: {error}") from error
        for tell in self.on_change:
            tell()
        return self.shown()

    def shown(self) -> Json:
        """All pieces by name."""
        return asdict(self.pieces)

    def _value(self, name: str, value: Any) -> Any:
        if name not in _FIELDS:
            raise EventPathError(f"unknown field {name!r}; allowed here are {', '.join(_FIELDS)}")
        whole = getattr(self._whole, name)
        if value is None:
            return whole
        if type(value) is not type(whole):
            wanted = "true or false" if isinstance(whole, bool) else "a filter"
            raise EventPathError(f'"{name}" is {value!r}; it must be {wanted}, or null for what it was at the start')
        return value

    def _take(self, pieces: Pieces) -> None:
        self._admits: Predicate = compile_query(pieces.filter)
        self._intercepts: Predicate = compile_query(pieces.intercepts) if pieces.intercepts else _nothing
        self._logs = f"projects/{pieces.project}/" if pieces.project else ""
        self.pieces = pieces


def planned(installation: Installation) -> Pieces:
    """The pieces as a plan would make them. Without a sink there is nothing that exports."""
    sink = installation.sink
    return Pieces(
        disabled=sink is None or sink.disabled,
        filter=sink.filter if sink else "",
        publisher=sink is not None and sink.publisher,
        subscriber=installation.subscriber,
        logger=installation.logger,
        nodes_logger=installation.nodes_logger,
        dead_letters=installation.moves_dead_letters,
        project=sink.project if sink else "",
    )


_FIELDS: Final = tuple(field.name for field in fields(Pieces))


def _nothing(_entry: Json) -> bool:
    return False
