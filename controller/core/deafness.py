"""Whether entries of a project reach the operator, decided from what was expected and what came. Pure.

Everything is an age in seconds of a clock that never jumps: what the wall clocks of the operator and of Google say,
and by how much they differ, is of no account here.

Deaf is only who misses an entry that had to come: silence alone proves nothing, an idle project is silent. What is
late and comes all the same, older entries first, is a backlog: behind, not deaf.
"""

from dataclasses import dataclass
from typing import Final

from controller.api.reasons import Reason
from controller.core import deaf_words as words
from controller.core.deaf_words import Names
from controller.core.verdicts import Verdict

#: The share of the limit after which something is late enough to ask again.
SUSPICIOUS: Final = 1 / 6
#: So many canaries that audit entries have overtaken were not lost by chance.
_TELLING: Final = 3


@dataclass(frozen=True, slots=True)
class Stream:
    """How the subscription is held. `down_for` counts while it is not; `refused`: in a way that waiting cannot mend."""

    up: bool
    down_for: float = 0.0
    error: str = ""
    code: str = ""
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Missed:
    """Entries of one type (`resource.type`) that had to come and have not."""

    #: What was done or found, for people: `insert of projects/p/...`.
    what: str
    type: str
    #: Since it was accepted, or found.
    age: float
    #: Since its operation is known to have ended; None while it may be on its way.
    ended: float | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of the path of one project's entries."""

    #: Whether this is the project that the canaries are written in.
    own: bool
    stream: Stream
    #: The age of the oldest canary that was written and has not come back; None where there is none.
    canary: float | None = None
    #: How long ago the last canary that came back was written; None: none came back.
    answered: float | None = None
    #: How many canaries are out that were written well before the last audit entry of this project came.
    outlived: int = 0
    #: Whether a canary (of another project than the canaries': any entry of it) ever came.
    proven: bool = False
    #: Why canaries cannot be written, and since when. "" while they can.
    trouble: str = ""
    trouble_for: float = 0.0
    #: Since the last audit entry of this project; None: none came.
    audit: float | None = None
    #: Since the last entry of whatever project; None: none came.
    anything: float | None = None
    missed: tuple[Missed, ...] = ()
    #: What arrives is older than the limit: what is missed comes behind it.
    late: bool = False
    #: What arrives, or has arrived and waits, has been older than the limit for long.
    behind: bool = False


def judge(evidence: Evidence, names: Names, limit: float) -> Verdict:
    """What EventsFlowing says of the project. `limit`: how late an entry may be, in seconds."""
    stream = evidence.stream
    if not stream.up and stream.error and (stream.refused or stream.down_for > limit):
        return _deaf(Reason.STREAM_DOWN, words.stream_down(names, stream.error, stream.code))
    verdict = _by_canary(evidence, names, limit) or _by_missed(evidence, names, limit)
    if verdict is not None and not evidence.late:
        return verdict
    if verdict is not None or evidence.behind:
        return Verdict("True", Reason.BEHIND, words.behind(limit))
    if not evidence.proven:
        return Verdict("Unknown", Reason.AWAITING_FIRST_EVENT, "no event has been expected to be here yet")
    return Verdict("True", Reason.FLOWING, "events arrive")


def suspicious(evidence: Evidence, limit: float) -> bool:
    """Whether something is late enough to ask again before the limit: one lost canary must not decide alone."""
    ages = [missed.age for missed in evidence.missed]
    ages += [evidence.canary] if evidence.canary is not None and evidence.own else []
    return max(ages, default=0.0) > limit * SUSPICIOUS


def _by_canary(evidence: Evidence, names: Names, limit: float) -> Verdict | None:
    if evidence.trouble:
        # What was not written cannot come back. The writer has its own word for it.
        late = evidence.own and evidence.trouble_for > limit
        return _deaf(Reason.CANARY_NOT_WRITTEN, words.not_written(names, evidence.trouble)) if late else None
    if evidence.canary is None or evidence.canary <= limit:
        return None
    if not evidence.own:
        nothing = not _came_since(evidence.anything, evidence.canary, limit)
        return _deaf(Reason.NO_EVENTS, words.nothing(names, limit)) if nothing else None
    if not evidence.stream.up and evidence.stream.error and evidence.stream.down_for > limit * SUSPICIOUS:
        # A stream that has just been replaced, as streams are, is not to blame.
        return _deaf(Reason.STREAM_DOWN, words.stream_down(names, evidence.stream.error, evidence.stream.code))
    if evidence.outlived >= _TELLING:
        return _deaf(Reason.CANARY_MISSING, words.canary_missing(names, limit))
    return _deaf(Reason.NO_EVENTS, words.nothing(names, limit))


def _by_missed(evidence: Evidence, names: Names, limit: float) -> Verdict | None:
    overdue = tuple(missed for missed in evidence.missed if _is_overdue(missed, evidence, limit))
    if not overdue:
        return None
    oldest = max(missed.age for missed in overdue)
    if evidence.own and (evidence.answered is None or evidence.answered > oldest):
        # No canary was written since and has come back: it may yet tell that nothing comes at all.
        return None
    if not evidence.own and not _came_since(evidence.audit, oldest, limit):
        return _deaf(Reason.NO_EVENTS, words.nothing(names, limit, overdue[0].what))
    types = tuple(sorted({missed.type for missed in overdue}))
    return _deaf(Reason.ACTIVITY_MISSING, words.activity_missing(names, limit, overdue[0].what, types))


def _is_overdue(missed: Missed, evidence: Evidence, limit: float) -> bool:
    """An entry may come as late as its operation ends. Where not one audit entry came since, that is no excuse."""
    if missed.age <= limit:
        return False
    return (missed.ended is not None and missed.ended > limit) or not _came_since(evidence.audit, missed.age, limit)


def _came_since(last: float | None, age: float, limit: float) -> bool:
    """Whether an entry came that was not on its way already when something of this age began to be missed."""
    return last is not None and last < age - limit / 2


def _deaf(reason: Reason, message: str) -> Verdict:
    return Verdict("False", reason, message)
