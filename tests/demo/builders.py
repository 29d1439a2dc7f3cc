"""Short lives, acts and Nodes for the tests of the demo's pure parts. Times are seconds after one fixed moment."""

from datetime import UTC, datetime, timedelta

from controller.demo.records import Act, Life, Token
from controller.demo.steps import Announcement
from controller.demo.witness import NodeLife, TokenSecret

START = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def make_life(
    *,
    instance_id: str = "1",
    name: str = "vm-a",
    created: float = 0,
    running: tuple[float, ...] = (2,),
    tokens: tuple[tuple[str, float], ...] = (("aaaaaa", 3),),
    deleted: float | None = None,
) -> Life:
    return Life(
        id=instance_id,
        name=name,
        created=at(created),
        running=tuple(map(at, running)),
        tokens=tuple(Token(token, at(seconds)) for token, seconds in tokens),
        deleted=None if deleted is None else at(deleted),
    )


def make_act(
    seconds: float,
    action: str = "InjectToken",
    *,
    name: str = "vm-a@1",
    cause: str = "instance.inserted.last",
    cause_at: float | None = 2.5,
    outcome: str = "accepted",
) -> Act:
    return Act(
        action=action,
        resource=f"projects/p/zones/z/instances/{name}",
        at=at(seconds),
        outcome=outcome,
        cause=cause,
        cause_at=None if cause_at is None else at(cause_at),
    )


def make_node(
    *,
    name: str = "vm-a",
    instance_id: str = "1",
    born_revision: int = 10,
    gone_revision: int | None = None,
) -> NodeLife:
    gone = None if gone_revision is None else at(9)
    return NodeLife(name, f"uid-{instance_id}", instance_id, at(4), born_revision, gone, gone_revision)


def make_secret(name: str = "aaaaaa", instance_id: str = "1", revision: int = 20) -> dict[str, TokenSecret]:
    return {name: TokenSecret(name, instance_id, revision)}


def announce(seconds: float, method: str, name: str = "vm-a") -> Announcement:
    return Announcement(at(seconds), method, name, "")
