"""The safety net: when a key is looked at although nobody asked. Other looks do not put it off."""

from controller.core.model import Key, Scope, Wake
from controller.core.plan import Recheck
from controller.runtime.env import Env


def resync_recheck(env: Env, key: Key, wake: Wake, *, deaf: bool = False) -> Recheck:
    """The next resync of a key: drawn once, kept until it is due. While events are known not to come, much sooner."""
    memory, now = env.knowledge.memory(key), env.clock.now()
    due = now + env.jitter.around(env.policy.deaf_resync if deaf else env.policy.resync, env.policy.resync_jitter)
    planned = memory.next_resync
    if planned is None or planned <= now or wake.cause.kind == "resync" or (deaf and due < planned):
        memory.next_resync = planned = due
    return Recheck(planned, "resync", Scope.MIG | Scope.SPEC)
