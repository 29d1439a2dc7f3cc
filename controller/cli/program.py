"""The commands, put together; and every way in which one ends, as an exit code."""

import sys
from importlib.metadata import version
from pathlib import PurePath
from typing import Annotated, Any, Final

import typer
from typer.main import get_command

from controller.cli import crds, demo, doctor, events, run, settings, simulator
from controller.cli.errors import INTERRUPTED, CommandError, complain

DISTRIBUTION: Final = "tpu-node-group-controller"
_NAME: Final = "tpu-node-group"
#: What kubectl looks for when it is asked for `kubectl tpu`.
_PLUGIN: Final = "kubectl-tpu"

app = typer.Typer(
    help="TPU slices as nodes of a Kubernetes cluster on Compute Engine, driven by events.",
    add_completion=False,
    # Boxes cut names and break values in the middle where a terminal is narrow; plain help does not.
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run", cls=run.ByChapter)(run.command)
app.command("doctor", cls=run.ByChapter, short_help="Look at an installation and say what to mend.")(doctor.command)
app.command("demo", short_help="Show a node group's whole life on this machine.")(demo.command)
app.command("simulator", short_help="Serve simulated Google Cloud and Kubernetes.")(simulator.command)
app.command("settings")(settings.command)
app.command("crds")(crds.command)
app.add_typer(events.app, name="events")


def _print_version(asked: bool) -> None:  # noqa: FBT001 - typer calls it with the option's value
    if asked:
        typer.echo(f"{_NAME} {version(DISTRIBUTION)}")
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


def called(path: str) -> str:
    """What a person typed to get here, by the path of the program: kubectl shows a plugin's name in two words."""
    return "kubectl tpu" if PurePath(path).stem == _PLUGIN else _NAME


def execute(arguments: list[str]) -> int:
    """Run a command; its exit code. Without arguments: the help."""
    program: Any = get_command(app)
    try:
        return int(program.main(arguments or ["--help"], prog_name=called(sys.argv[0]), standalone_mode=False) or 0)
    except CommandError as error:
        for line in error.lines:
            complain(line)
        return error.code
    except typer.TyperException as error:
        complain(f"{error.format_message().rstrip('.')}; --help says more")
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
