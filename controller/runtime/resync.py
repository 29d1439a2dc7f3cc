"""The safety net: when a key is looked at although nobody asked. Other looks do not put it off."""

from controller.core.model import Key, Scope, Wake
from controller.core.plan import Recheck
from controller.runtime.env import Env


def resync_recheck(env: Env, key: Key, wake: Wake) -> Recheck:
    """The next resync of a key: drawn once, kept until it is due."""
    memory, now = env.knowledge.memory(key), env.clock.now()
    if memory.next_resync is None or wake.cause.kind == "resync" or memory.next_resync <= now:
        memory.next_resync = now + env.rest.jittered(env.policy.resync, env.policy.resync_jitter)
    return Recheck(memory.next_resync, "resync", Scope.MIG | Scope.SPEC)
