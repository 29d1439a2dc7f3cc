"""The command line: `tpu-node-group`, and `kubectl-tpu`, which is the same program.

Parses, hands over, and turns every failure into one line and an exit code: 0 done, 1 failed, 2 wrong usage or input,
130 interrupted. A command imports its machinery when it is called: help and errors answer at once.
"""

import os
import sys
import threading
from importlib.metadata import version
from typing import Annotated, Any, Final

import typer
from typer.main import get_command

from controller.cli import crds, demo, events, run, simulator
from controller.cli.errors import INTERRUPTED, CommandError, complain

DISTRIBUTION: Final = "tpu-node-group-controller"

app = typer.Typer(
    help="TPU slices as nodes of a Kubernetes cluster on Compute Engine, driven by events.",
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run")(run.command)
app.command("demo")(demo.command)
app.command("simulator")(simulator.command)
app.command("crds")(crds.command)
app.add_typer(events.app, name="events")


def _print_version(asked: bool) -> None:  # noqa: FBT001 - typer calls it with the option's value
    if asked:
        typer.echo(f"tpu-node-group {version(DISTRIBUTION)}")
        raise typer.Exit


@app.callback()
def _root(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    """Holds what stands before a command's name."""


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit with its code."""
    code = execute(sys.argv[1:] if arguments is None else arguments)
    if any(not thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread()):
        # A call that gets no answer holds its thread, and Python would wait for it.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def execute(arguments: list[str]) -> int:
    """Run a command; its exit code. Without arguments: the help."""
    program: Any = get_command(app)
    try:
        return int(program.main(arguments or ["--help"], prog_name="tpu-node-group", standalone_mode=False) or 0)
    except CommandError as error:
        for line in error.lines:
            complain(line)
        return error.code
    except typer.TyperException as error:
        complain(f"{error.format_message().rstrip('.')}; --help says more")
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
