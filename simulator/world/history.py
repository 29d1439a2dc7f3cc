"""What the world remembers of each VM after the fact: the demo measures RUNNING to token from it.

Holds token ids (public), never a token.
"""

from dataclasses import dataclass, field
from datetime import datetime

from simulator.clock import log_time
from simulator.seams import Json, Now

__all__ = ["History", "InstanceHistory"]


@dataclass(slots=True)
class InstanceHistory:
    """The life of one instance id."""

    name: str
    project: str
    zone: str
    created: datetime
    running: list[datetime] = field(default_factory=list)
    #: (token id, when the setMetadata that put it there took effect)
    tokens: list[tuple[str, datetime]] = field(default_factory=list)
    deleted: datetime | None = None

    def body(self) -> Json:
        """As in the control face's snapshot; times in UTC with microseconds."""
        return {
            "name": self.name,
            "project": self.project,
            "zone": self.zone,
            "createdAt": log_time(self.created),
            "runningAt": [log_time(at) for at in self.running],
            "tokens": [{"tokenId": token, "effectAt": log_time(at)} for token, at in self.tokens],
            "deletedAt": None if self.deleted is None else log_time(self.deleted),
        }


class History:
    """Every VM that ever was, by instance id."""

    def __init__(self, now: Now) -> None:
        self._now = now
        self.instances: dict[str, InstanceHistory] = {}

    def created(self, instance_id: str, name: str, project: str, zone: str) -> None:
        """The VM exists."""
        self.instances[instance_id] = InstanceHistory(name, project, zone, self._now())

    def running(self, instance_id: str) -> None:
        """The VM reached RUNNING (again)."""
        self.instances[instance_id].running.append(self._now())

    def token(self, instance_id: str, token_id: str) -> None:
        """A token took effect in the VM's metadata."""
        self.instances[instance_id].tokens.append((token_id, self._now()))

    def deleted(self, instance_id: str) -> None:
        """The VM is gone."""
        self.instances[instance_id].deleted = self._now()
