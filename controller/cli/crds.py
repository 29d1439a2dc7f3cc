"""`crds`: the four CustomResourceDefinitions, generated from the models."""

from pathlib import Path
from typing import Annotated

import typer

from controller.cli.errors import CommandError


def command(
    *,
    output_dir: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write one file each, and a kustomization.", show_default=False),
    ] = None,
) -> int:
    """Print the CustomResourceDefinitions, for kubectl apply -f -."""
    from controller.api.crd import crds_yaml, write_crds  # noqa: PLC0415 - builds the models

    if output_dir is None:
        typer.echo(crds_yaml(), nl=False)
        return 0
    try:
        write_crds(output_dir)
    except OSError as error:
        raise CommandError(f"cannot write to {output_dir}: {error.strerror}") from None
    return 0
