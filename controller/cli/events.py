"""`events decode`: what the operator would make of log entries, for people and for `gcloud logging read`."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from controller.cli.errors import FAILED, WRONG_INPUT, CommandError, complain

#: Bytes of one input: a device, or a pipe that never ends, must not fill the memory.
_MOST: Final = 256 << 20

app = typer.Typer(help="Look at log entries as the operator does.")


class _InputError(Exception):
    """Says why an input cannot be read."""


@app.callback()
def _group() -> None:
    """Keeps `decode` a command of its own: typer would fold a group of one."""


_HELP = """Print what the operator makes of log entries, one JSON line for each.

FILE has one entry, an array of them, or one a line, also as Pub/Sub pushes them; - or nothing reads standard input.
"""


@app.command("decode", help=_HELP)
def decode(
    files: Annotated[
        list[str] | None,
        # Told in the help of the command: a row of its own would show the type as Python writes it.
        typer.Argument(metavar="FILE", hidden=True, show_default=False),
    ] = None,
) -> int:
    """One JSON line an entry on stdout; 0 when all was read, 2 when a file could not be.

    Of several files, the one with something unreadable in it is named on stderr: the lines do not tell them apart.
    """
    from sinks.intake.document import decode_document, to_json  # noqa: PLC0415 - only when called
    from sinks.intake.events import Unreadable  # noqa: PLC0415

    code = 0
    names = files or ["-"]
    for name in names:
        try:
            document = _read(name)
        except _InputError as error:
            complain(f"cannot read {'standard input' if name == '-' else name}: {error}")
            code = WRONG_INPUT
            continue
        for entry in decode_document(document):
            _print(to_json(entry))
            if isinstance(entry, Unreadable) and len(names) > 1:
                complain(f"{name}: {entry.reason}")
    return code


def _print(result: dict[str, Any]) -> None:
    """One line, escaped: the terminal's encoding may not have what an entry has."""
    try:
        typer.echo(json.dumps(result))
    except BrokenPipeError:
        # Whoever reads has had enough, and typer ends in silence.
        raise
    except OSError as error:
        raise CommandError(f"cannot write to standard output: {error.strerror}", code=FAILED) from error


def _read(name: str) -> bytes:
    """All of a file, or of standard input. Raises _InputError, with the reason in words."""
    try:
        if name != "-":
            with Path(name).open("rb") as file:
                document = file.read(_MOST + 1)
        elif sys.stdin is None:
            raise _InputError("it is closed")
        else:
            document = sys.stdin.buffer.read(_MOST + 1)
    except OSError as error:
        raise _InputError(error.strerror or str(error)) from error
    except ValueError as error:
        # A name that no file can have.
        raise _InputError(str(error)) from error
    if len(document) > _MOST:
        raise _InputError(f"it has more than {_MOST >> 20} MiB; decode it in parts")
    return document
