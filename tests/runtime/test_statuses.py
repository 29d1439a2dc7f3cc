"""A status is written when it changed, as little of it as changed, and people hear of a change of Ready."""

from typing import Any

import pytest

from controller.api.resources import TPUNodeGroupStatus
from controller.core.failures import Gone
from controller.core.model import Kind
from controller.runtime.leadership import NotLeader
from controller.runtime.statuses import StatusWriter
from tests.core.builders import GROUP, GROUP_KEY, UID, make_condition
from tests.runtime.virtual_time import BEGINNING
from tests.runtime.world import World


class Writing(World):
    """A writer for the group, which the API server answers with a next version."""

    def __init__(self) -> None:
        super().__init__()
        manifest: dict[str, Any] = GROUP.to_manifest()
        self.env.knowledge.resources.apply(Kind.GROUP, "ADDED", manifest)
        self.cluster.answer = {**manifest, "metadata": {**manifest["metadata"], "resourceVersion": "8"}}
        self.writer = StatusWriter(self.env)

    async def write(self, old: TPUNodeGroupStatus, fresh: TPUNodeGroupStatus) -> bool:
        """Write."""
        return await self.writer.write(GROUP_KEY, GROUP, old, fresh)

    def calls(self, method: str) -> list[tuple[Any, ...]]:
        """What a method was called with."""
        return [call[1:] for call in self.cluster.calls if call[0] == method]


def status(ready: str = "", reason: str = "", **fields: Any) -> TPUNodeGroupStatus:
    """A status with this Ready condition."""
    conditions = (make_condition(ready, reason, "says why"),) if ready else ()  # type: ignore[arg-type]
    return TPUNodeGroupStatus(conditions=conditions, **fields)


async def test_what_did_not_change_is_not_written() -> None:
    world = Writing()
    assert await world.write(status("True", "Ready"), status("True", "Ready")) is False
    assert (world.cluster.calls, world.checks) == ([], 0)


async def test_only_what_changed_is_sent_and_then_known() -> None:
    world = Writing()
    fresh = status("True", "Ready", nodes_ready="2/2")
    assert await world.write(status("True", "Ready", nodes_ready="1/2"), fresh) is False
    assert world.calls("patch_status") == [(GROUP_KEY, UID, {"nodesReady": "2/2"})]
    group = world.env.knowledge.resources.group(GROUP_KEY)
    assert group is not None
    assert (group.status, group.metadata.resource_version) == (fresh, "8")


async def test_nothing_is_written_without_the_lease() -> None:
    world = Writing()
    world.lease = NotLeader("lost")
    with pytest.raises(NotLeader):
        await world.write(status(), status("True", "Ready"))
    assert world.cluster.calls == []


async def test_a_status_that_could_not_be_written_is_not_taken_for_written() -> None:
    world = Writing()
    world.cluster.fail("patch_status", Gone("gone"))
    with pytest.raises(Gone):
        await world.write(status(), status("True", "Ready"))
    group = world.env.knowledge.resources.group(GROUP_KEY)
    assert group is not None
    assert group.status == TPUNodeGroupStatus()


@pytest.mark.parametrize(
    ("old", "fresh", "warning", "reason"),
    [
        pytest.param(status(), status("False", "Provisioning"), False, "Provisioning", id="it begins"),
        pytest.param(status("False", "Provisioning"), status("True", "Ready"), False, "Provisioned", id="it is Ready"),
        pytest.param(status("True", "Ready"), status("False", "HostError"), True, "HostError", id="it is lost"),
        pytest.param(
            status("False", "Provisioning"), status("False", "Stockout"), True, "Stockout", id="the reason is another"
        ),
        pytest.param(
            status("True", "Ready"), status("Unknown", "ReconcileError"), True, "ReconcileError", id="unknown"
        ),
        pytest.param(
            status("True", "Ready"), status("False", "FromALaterRelease"), True, "FromALaterRelease", id="a new word"
        ),
    ],
)
async def test_people_are_told_when(
    old: TPUNodeGroupStatus,
    fresh: TPUNodeGroupStatus,
    warning: bool,  # noqa: FBT001
    reason: str,
) -> None:
    world = Writing()
    assert await world.write(old, fresh) is True
    assert world.calls("post_event") == [(GROUP_KEY, UID, warning, reason, "says why", BEGINNING)]


async def test_people_are_not_told_of_what_does_not_change_ready() -> None:
    world = Writing()
    assert await world.write(status("True", "Ready", nodes_ready="1/2"), status("True", "Ready")) is False
    assert world.calls("post_event") == []
