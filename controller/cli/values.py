"""Values of options, read so that a wrong one is answered with what is allowed."""

import math
from collections.abc import Callable
from enum import StrEnum
from typing import TypeVar

import typer

Choice = TypeVar("Choice", bound=StrEnum)


def choice(kind: type[Choice]) -> Callable[[str], Choice]:
    """A parser of one of an enum's values."""

    def parse(written: str) -> Choice:
        try:
            return kind(written)
        except ValueError:
            raise typer.BadParameter(f"{written!r} is none of {', '.join(kind)}") from None

    return parse


def choices(kind: type[StrEnum]) -> str:
    """An enum's values, as the help shows them."""
    return "|".join(kind)


def whole_number(written: str) -> int:
    """A parser of whole numbers."""
    try:
        return int(written)
    except ValueError:
        raise typer.BadParameter(f"{written!r} is not a whole number") from None


def factor(written: str) -> float:
    """A parser of numbers from 0."""
    try:
        number = float(written)
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise typer.BadParameter(f"{written!r} is not a number from 0")
    return number
