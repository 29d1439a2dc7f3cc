"""One look at one key. The file to read first: everything that the operator does begins here.

Safe to call at any time, any number of times. A `Failure` never leaves: it comes back as a retry.
"""

import structlog

from controller.api.resources import TPUNodeGroup
from controller.core.failures import Failure
from controller.core.model import Key, Wake
from controller.runtime.child_look import ChildLook
from controller.runtime.env import Env
from controller.runtime.group_look import GroupLook
from controller.runtime.leadership import NotLeader
from controller.runtime.mailbox import Next
from controller.runtime.pacing import calling_group, calling_priority

log = structlog.get_logger(__name__)

_EVENT, _RESYNC = 1, 3


class Reconciler:
    """Hands each look to the one that knows its kind."""

    def __init__(self, env: Env, groups: GroupLook, children: ChildLook) -> None:
        self._env = env
        self._groups = groups
        self._children = children

    async def look(self, key: Key, wake: Wake) -> Next:
        """Look at a key; an object that is gone needs none."""
        metrics = self._env.metrics
        calling_group.set(f"{key.namespace}/{key.name}")
        calling_priority.set(_RESYNC if wake.cause.kind in {"resync", "start"} else _EVENT)
        metrics.looks.labels(key.kind, wake.cause.kind).inc()
        begun = self._env.clock.monotonic()
        following = await self._look(key, wake)
        seconds = self._env.clock.monotonic() - begun
        metrics.look_seconds.labels(key.kind).observe(seconds)
        log.debug(
            "looked",
            key=str(key),
            cause=wake.cause.kind,
            scope=str(wake.scope),
            instances=len(wake.instances),
            ms=round(seconds * 1000, 1),
        )
        if following.retry is not None:
            metrics.failed_looks.labels(key.kind).inc()
        return following

    async def _look(self, key: Key, wake: Wake) -> Next:
        resource = self._env.knowledge.resources.get(key)
        if resource is None:
            return Next()
        try:
            if isinstance(resource, TPUNodeGroup):
                return await self._groups.run(key, resource, wake)
            return await self._children.run(key, resource, wake)
        except NotLeader:
            # Another replica may be acting: this process is about to end, and does nothing more.
            return Next()
        except Failure as failure:
            log.warning("look will be repeated", key=str(key), cause=wake.cause.kind, failure=str(failure))
            return await self._failed(key, wake, failure)

    async def _failed(self, key: Key, wake: Wake, failure: Failure) -> Next:
        resource = self._env.knowledge.resources.get(key)
        try:
            if isinstance(resource, TPUNodeGroup):
                return await self._groups.failed(key, resource, wake, failure)
            if resource is not None:
                return await self._children.failed(key, resource, wake, failure)
        except (Failure, NotLeader) as again:
            log.warning("the failure could not be told", key=str(key), failure=str(again))
        return Next(retry=wake)
