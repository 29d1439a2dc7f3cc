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


@app.command("decode", help="Print what the operator makes of log entries, one JSON line for each.")
def decode(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE...|-]",
            help="Files with one entry, an array of them, or one a line, also as Pub/Sub pushes them;"
            " - or nothing reads standard input.",
            show_default=False,
        ),
    ] = None,
) -> int:
    """One JSON line an entry on stdout; 0 when all was read, 2 when a file could not be."""
    from sinks.intake.document import decode_document, to_json  # noqa: PLC0415 - only when called

    code = 0
    for name in files or ["-"]:
        try:
            document = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        except OSError as error:
            complain(f"cannot read {name}: {error.strerror}")
            code = WRONG_INPUT
            continue
        for entry in decode_document(document):
            typer.echo(json.dumps(to_json(entry), ensure_ascii=False))
    return code
