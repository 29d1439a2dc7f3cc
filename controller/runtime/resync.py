"""The safety net: when a key is looked at although nobody asked. Other looks do not put it off."""

from collections.abc import Callable
from typing import Final

from controller.core.model import Cause, Key, Kind, Scope, Wake
from controller.core.plan import Recheck
from controller.runtime.env import Env

_READS: Final = Scope.MIG | Scope.SPEC


def resync_recheck(env: Env, key: Key, wake: Wake, *, deaf: bool = False) -> Recheck:
    """The next resync of a key: drawn once, kept until it is due. While events are known not to come, much sooner."""
    memory, now = env.knowledge.memory(key), env.clock.now()
    due = now + env.jitter.around(env.policy.deaf_resync if deaf else env.policy.resync, env.policy.resync_jitter)
    planned = memory.next_resync
    if planned is None or planned <= now or wake.cause.kind == "resync" or (deaf and due < planned):
        memory.next_resync = planned = due
    return Recheck(planned, "resync", _READS)


def resync_groups(env: Env, post: Callable[[Key, Wake], None]) -> None:
    """Every group looks now: what events told for a while may not have reached us."""
    cause = Cause("resync", env.clock.now())
    for key in env.knowledge.resources.keys(Kind.GROUP):
        post(key, Wake(_READS, cause))
