"""What every part of the runtime works with, put together once by the composition root."""

from dataclasses import dataclass

from controller.core.plan import Policy
from controller.runtime.knowledge import Knowledge
from controller.runtime.metrics import Metrics
from controller.runtime.ports import Clock, Cloud, Cluster, Jitter, MayAct


@dataclass(frozen=True, slots=True)
class Env:
    """Ports, settings for decisions, and the shared knowledge."""

    cloud: Cloud
    cluster: Cluster
    clock: Clock
    jitter: Jitter
    policy: Policy
    knowledge: Knowledge
    metrics: Metrics
    #: Checked before every mutation.
    may_act: MayAct
