"""metav1.Condition, and the one way to change a list of them.

The transition time says since when the *status* is as it is; a new reason or message never moves it.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Literal

from controller.api.base import ApiModel, Time, api_field

Status = Literal["True", "False", "Unknown"]


class Condition(ApiModel):
    """One aspect of an object's state."""

    type: str = api_field("Aspect that this is about, as Ready.", value="", required=True, minLength=1, maxLength=316)
    status: Status = api_field("Whether it is so.", value="Unknown", required=True, enum=["True", "False", "Unknown"])
    reason: str = api_field(
        "Why, in one word for machines.",
        value="",
        required=True,
        minLength=1,
        maxLength=1024,
        pattern="^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
    )
    message: str = api_field("Why, and what to do, for people.", value="", required=True, maxLength=32768)
    last_transition_time: Time | None = api_field("Since when the status is as it is.", required=True)
    observed_generation: int = api_field(
        "Generation of the spec that this was said of.", value=0, minimum=0, format="int64"
    )


def get_condition(conditions: Iterable[Condition], type_: str) -> Condition | None:
    """The condition of this type, None if there is none."""
    return next((condition for condition in conditions if condition.type == type_), None)


def set_condition(conditions: Iterable[Condition], new: Condition, now: datetime) -> tuple[Condition, ...]:
    """The conditions with `new` in the place of the one of its type, or last.

    Its transition time is set here: to that of the old one if the status is the same, else to `now`.
    """
    existing = tuple(conditions)
    old = get_condition(existing, new.type)
    same = old is not None and old.status == new.status and old.last_transition_time is not None
    since = old.last_transition_time if old is not None and same else now
    stamped = Condition(**{**dict(new), "last_transition_time": since})
    if old is None:
        return (*existing, stamped)
    return tuple(stamped if condition is old else condition for condition in existing)
