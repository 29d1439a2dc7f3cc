"""`events decode`: what the operator would make of log entries, for people and for `gcloud logging read`."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from controller.cli.errors import WRONG_INPUT, complain

app = typer.Typer(help="Look at log entries as the operator does.")


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
            document = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        except OSError as error:
            complain(f"cannot read {name}: {error.strerror}")
            code = WRONG_INPUT
            continue
        for entry in decode_document(document):
            typer.echo(json.dumps(to_json(entry), ensure_ascii=False))
            if isinstance(entry, Unreadable) and len(names) > 1:
                complain(f"{name}: {entry.reason}")
    return code
