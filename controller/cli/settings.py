"""`settings`: what Terraform made, as the operator's settings, one NAME=value a line."""

from pathlib import Path
from typing import Annotated

import typer

from controller.cli.errors import CommandError
from controller.settings import SettingsError, env_name, load
from controller.settings.terraform import OutputError, operator_settings


def command(
    *,
    from_terraform: Annotated[
        Path, typer.Option("--from-terraform", metavar="FILE", help="What terraform output -json printed.")
    ],
    cluster_name: Annotated[
        str, typer.Option(metavar="NAME", help="Of outputs for several clusters, whose.", show_default=False)
    ] = "",
) -> int:
    """Print Terraform's outputs as lines for deploy/settings.env."""
    try:
        _, settings = operator_settings(from_terraform, cluster_name)
        # As `run` would read them: what is wrong is said here and not in the cluster.
        load({"cluster_name": cluster_name} if cluster_name else {}, {}, terraform=from_terraform)
    except OutputError as error:
        raise CommandError(str(error)) from None
    except SettingsError as error:
        raise CommandError(*error.problems) from None
    for name in sorted(settings):
        typer.echo(f"{env_name(name)}={settings[name]}")
    return 0
