"""What must hold in every demo, whatever happened to the group; each breach is a sentence. Pure."""

from collections.abc import Iterable, Mapping, Sequence

from controller.demo.records import Life
from controller.demo.steps import Announcement
from controller.demo.witness import NodeLife, TokenSecret

#: Announcements after which a VM does not run until the world says RUNNING again.
_STOPS = ("hostError", "terminateOnHostMaintenance", "preempted", "guestTerminate")


def breaches(
    lives: Sequence[Life],
    nodes: Iterable[NodeLife],
    secrets: Mapping[str, TokenSecret],
    announcements: Sequence[Announcement],
) -> list[str]:
    """Everything that must not be, in the order of the VMs."""
    found: list[str] = []
    nodes = tuple(nodes)
    for life in lives:
        found.extend(_of_tokens(life, announcements))
        found.extend(_of_stale_nodes(life, nodes, secrets))
    return found


def _of_tokens(life: Life, announcements: Sequence[Announcement]) -> Iterable[str]:
    if len(life.tokens) > 1:
        yield f"{life.name} (id {life.id}) got {len(life.tokens)} tokens; one is enough for one incarnation"
    for token in life.tokens:
        ran = life.ran_at(token.at)
        stopped = [each for each in announcements if each.name == life.name and _stops(each) and each.at <= token.at]
        if ran is None or any(each.at > ran for each in stopped) or (life.deleted and life.deleted < token.at):
            yield f"{life.name} (id {life.id}) got its token while it was not RUNNING"


def _of_stale_nodes(life: Life, nodes: Iterable[NodeLife], secrets: Mapping[str, TokenSecret]) -> Iterable[str]:
    minted = [secrets[token.id].revision for token in life.tokens if token.id in secrets]
    for node in nodes:
        stale = node.name == life.name and node.instance_id not in {"", life.id}
        if stale and any(
            node.born_revision < revision and (node.gone_revision is None or node.gone_revision > revision)
            for revision in minted
        ):
            yield (
                f"{life.name} (id {life.id}) got a token while the Node of its predecessor "
                f"(id {node.instance_id}) was still there"
            )


def _stops(announcement: Announcement) -> bool:
    return announcement.method.endswith(_STOPS)
