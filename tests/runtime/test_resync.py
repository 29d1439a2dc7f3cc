"""The safety net, pulled for all groups at once."""

from controller.core.model import Key, Scope, Wake
from controller.runtime.resync import resync_groups
from tests.core.builders import GROUP_KEY
from tests.runtime.test_dispatch import ALL, Dispatching, wake


async def test_every_group_looks_and_its_children_do_not() -> None:
    world = Dispatching(*ALL)
    posted: list[tuple[Key, Wake]] = []
    resync_groups(world.env, lambda key, woken: posted.append((key, woken)))
    assert posted == [(GROUP_KEY, wake("resync", Scope.MIG | Scope.SPEC))]
