"""The inventory of all groups at the start, by lists of VMs for many groups together instead of reads of each.

Best effort, and an economy only: a group that is not filled here is filled by its first look. That look asks the MIG
for its own rows all the same, which are newer than these lists and prove who the members are.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import structlog

from controller.core.child import link_of, status_of
from controller.core.children import child_ref
from controller.core.failures import Failure
from controller.core.model import Key, Kind
from controller.core.names import base_name_of
from controller.core.observed import ResourceRef
from controller.runtime.env import Env

log = structlog.get_logger(__name__)

#: Groups in one list: their names stand in its URL, 60 characters each.
_TOGETHER: Final = 50


class FirstFill:
    """Fills the memories of all groups that have a MIG. Run it once, before any look."""

    def __init__(self, env: Env) -> None:
        self._env = env

    async def run(self) -> None:
        """One list for each project and zone (or for so many groups of it as one list can name)."""
        for (project, zone), groups in self._by_place().items():
            for first in range(0, len(groups), _TOGETHER):
                try:
                    await self._fill(project, zone, groups[first : first + _TOGETHER])
                except Failure as failure:
                    log.warning("VMs could not be listed, each group reads its own", zone=zone, failure=str(failure))

    def _by_place(self) -> dict[tuple[str, str], list[tuple[Key, ResourceRef]]]:
        places: dict[tuple[str, str], list[tuple[Key, ResourceRef]]] = defaultdict(list)
        resources = self._env.knowledge.resources
        for key in resources.keys(Kind.GROUP):
            group = resources.group(key)
            child = resources.children_of(group.metadata.uid).get(Kind.MIG) if group is not None else None
            if group is not None and child is not None and link_of(status_of(child[1])):
                ref = child_ref(group, Kind.MIG)
                places[ref.project, ref.location].append((key, ref))
        return places

    async def _fill(self, project: str, zone: str, groups: Sequence[tuple[Key, ResourceRef]]) -> None:
        knowledge = self._env.knowledge
        began = {key: knowledge.memory(key).sequence for key, _ in groups}
        listed = await self._env.cloud.list_instances(project, zone, *(f"{ref.name}-" for _, ref in groups))
        for key, ref in groups:
            own = [instance for instance in listed if base_name_of(instance.name) == ref.name]
            knowledge.memory(key).fill(own, knowledge.known_names(key, ref.name), began[key])
