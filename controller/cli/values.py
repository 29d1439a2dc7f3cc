"""Values of options, read so that a wrong one is answered with what is allowed."""

import math
import re
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
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


def kubernetes_version(written: str) -> str:
    """A parser of Kubernetes' minor versions, of which there is only a major version 1."""
    if not re.fullmatch(r"1\.(0|[1-9][0-9]{0,2})", written):
        raise typer.BadParameter(f"{written!r} is not like 1.34: write 1.N")
    return written


def control_plane(written: str) -> str | Path:
    """A parser of whose Kubernetes it is: one of two words, or the path of a kubeconfig that is there."""
    if written in {"embedded", "real"}:
        return written
    if not Path(written).is_file():
        raise typer.BadParameter(f"{written!r} is neither embedded nor real, nor a kubeconfig: there is no such file")
    return Path(written)


def factor(written: str) -> float:
    """A parser of numbers from 0."""
    try:
        number = float(written)
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise typer.BadParameter(f"{written!r} is not a number from 0")
    return number


def capacity(written: str) -> tuple[tuple[str, str], int]:
    """A parser of `ZONE/TYPE=N`: how many VMs of a machine type can start in a zone."""
    place, _, count = written.partition("=")
    zone, _, machine_type = place.partition("/")
    if not (zone and machine_type and count.isdecimal()):
        raise typer.BadParameter(f"{written!r} is not like us-central1-c/ct6e-standard-1t=4")
    return (zone, machine_type), int(count)


def port_of_face(written: str) -> tuple[str, int]:
    """A parser of `FACE=PORT`."""
    from simulator.options import FACES  # noqa: PLC0415 - the operator does without the simulator

    face, _, number = written.partition("=")
    if face not in FACES or not number.isdecimal() or int(number) > 65535:
        raise typer.BadParameter(f"{written!r} is not like control=8080; faces are {', '.join(FACES)}")
    return face, int(number)
