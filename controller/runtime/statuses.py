"""Write a status, once a look and only if it changed; tell people of a change of Ready by a Kubernetes Event."""

from collections.abc import Mapping
from datetime import datetime

import structlog

from controller.api.conditions import Condition, get_condition
from controller.api.reasons import NORMAL, ConditionType, Reason
from controller.api.resources import Resource
from controller.core.merge_patch import merge_patch
from controller.core.model import Key
from controller.runtime.custom_resources import Status
from controller.runtime.env import Env

_EVENT_NAMES: Mapping[str, str] = {Reason.READY: "Provisioned", Reason.CREATED: "Provisioned"}


log = structlog.get_logger(__name__)


class StatusWriter:
    """The only writer of statuses."""

    def __init__(self, env: Env) -> None:
        self._env = env

    async def write(self, key: Key, resource: Resource, old: Status, fresh: Status) -> bool:
        """Write what changed. True if Ready changed its status or reason. Raises a Failure when it cannot write."""
        patch = merge_patch(old.to_manifest(), fresh.to_manifest())
        if not patch:
            return False
        self._env.may_act()
        raw = await self._env.cluster.patch_status(key, resource.metadata.uid, patch)
        self._env.knowledge.resources.wrote(key, raw, fresh)
        before = get_condition(old.conditions, ConditionType.READY)
        after = get_condition(fresh.conditions, ConditionType.READY)
        if after is None or (before and (before.status, before.reason) == (after.status, after.reason)):
            return False
        log.info("ready", key=str(key), status=after.status, reason=after.reason, message=after.message)
        await self._tell(key, resource, after, self._env.clock.now())
        return True

    async def _tell(self, key: Key, resource: Resource, ready: Condition, at: datetime) -> None:
        await self._env.cluster.post_event(
            key,
            resource.metadata.uid,
            warning=ready.status != "True" and ready.reason not in NORMAL,
            reason=_EVENT_NAMES.get(ready.reason, ready.reason),
            message=ready.message,
            at=at,
        )
