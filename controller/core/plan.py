"""What a decision is: actions to take now, and when to look again."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from controller.core.actions import Action
from controller.core.desired import BootImages
from controller.core.model import Cause, Scope, Wake


@dataclass(frozen=True, slots=True)
class Recheck:
    """Look again at this time, in this scope. `kind` becomes the kind of the look's cause (`follow_up`, ...)."""

    at: datetime
    kind: str
    scope: Scope
    instances: tuple[str, ...] = ()

    @property
    def wake(self) -> Wake:
        """What the timer posts when it is due."""
        cause = Cause(self.kind, self.at)
        return Wake(self.scope, cause, dict.fromkeys(self.instances, cause))


@dataclass(frozen=True, slots=True)
class Plan:
    """Actions in order of priority, and the complete set of timers (they replace the key's earlier ones)."""

    actions: tuple[Action, ...] = ()
    rechecks: tuple[Recheck, ...] = ()


@dataclass(frozen=True, slots=True)
class Policy:
    """The operator's settings, as far as decisions need them."""

    follow_up_first: timedelta = timedelta(seconds=0.5)
    follow_up_max: timedelta = timedelta(seconds=8)
    operation_looks: tuple[timedelta, ...] = tuple(timedelta(seconds=s) for s in (5, 15, 30, 60))
    unconfirmed_looks: tuple[timedelta, ...] = tuple(timedelta(seconds=s) for s in (5, 15, 30))
    retry_first: timedelta = timedelta(seconds=1)
    retry_max: timedelta = timedelta(seconds=60)
    capacity_retry_first: timedelta = timedelta(seconds=30)
    capacity_retry_max: timedelta = timedelta(minutes=10)
    rejected_retry: timedelta = timedelta(minutes=5)
    resync: timedelta = timedelta(minutes=10)
    resync_jitter: float = 0.2
    deaf_resync: timedelta = timedelta(seconds=30)
    token_life: timedelta = timedelta(hours=1)
    token_renew_margin: timedelta = timedelta(minutes=10)
    node_service_account: str = ""
    images: BootImages = field(default_factory=lambda: BootImages("", ""))
    startup_script: str = ""


def doubling(first: timedelta, most: timedelta, attempt: int) -> timedelta:
    """`first`, twice that, four times, ... up to `most`; attempt 0 is the first."""
    return min(first * (1 << min(attempt, 30)), most)


def step_of(steps: tuple[timedelta, ...], since: datetime, now: datetime) -> datetime:
    """The first moment of a series of back-stop looks that is still to come; the last step repeats for ever."""
    for step in steps:
        if since + step > now:
            return since + step
    last = steps[-1]
    passed = int((now - since) / last) + 1
    return since + last * passed
