"""`simulator`: the simulated Google Cloud and Kubernetes, served until interrupted."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from controller.cli.errors import FAILED, CommandError
from controller.cli.values import capacity as parse_capacity
from controller.cli.values import factor, port_of_face
from controller.cli.values import kubernetes_version as parse_kubernetes_version
from controller.cli.world_options import (
    ClusterOption,
    ControlPlaneOption,
    PlanOption,
    PubSubOption,
    RealJoinOption,
    SeedOption,
    check_real_join,
    installation_of,
)
from controller.demo.options import PubSub


def shell_lines(environment: Mapping[str, str]) -> str:
    """Assignments that a shell reads back as the same values."""
    return "".join(f"{name}={shlex.quote(value)}\n" for name, value in environment.items())


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"cannot write to {file}: {error.strerror}") from None


def command(  # noqa: PLR0913 - one for each option
    *,
    seed: SeedOption = 1,
    pubsub: PubSubOption = PubSub.EMBEDDED,
    control_plane: ControlPlaneOption = "embedded",
    real_join: RealJoinOption = False,
    log_latency: Annotated[
        float, typer.Option(parser=factor, metavar="FACTOR", help="Times the latency of log entries; 0 is none.")
    ] = 1.0,
    timings: Annotated[
        float, typer.Option(parser=factor, metavar="FACTOR", help="Times every duration of the world; 0 is none.")
    ] = 1.0,
    kubernetes_version: Annotated[
        str,
        typer.Option(parser=parse_kubernetes_version, metavar="1.N", help="The version that the embedded API reports."),
    ] = "1.34",
    project: Annotated[
        str, typer.Option(metavar="ID", help="The Google Cloud project of the event path.")
    ] = "my-gcp-project",
    plan: PlanOption = None,
    cluster: ClusterOption = "",
    crds: Annotated[
        bool, typer.Option("--crds/--no-crds", help="Whether the operator's CRDs are there from the start.")
    ] = True,
    capacity: Annotated[
        list[Any] | None,
        typer.Option(
            parser=parse_capacity,
            metavar="ZONE/TYPE=N",
            help="So many VMs of a machine type can start; repeatable.",
            show_default=False,
        ),
    ] = None,
    directory: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where the kubeconfigs are written.", show_default="a temporary folder"),
    ] = None,
    env_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Also write `env` there, as KEY=VALUE lines for a shell: set -a; . FILE; tpu-node-group run",
            show_default=False,
        ),
    ] = None,
    port: Annotated[
        list[Any] | None,
        typer.Option(
            parser=port_of_face,
            metavar="FACE=PORT",
            help="The port of a face, in place of any free one; repeatable.",
            show_default=False,
        ),
    ] = None,
) -> int:
    """Serve simulated Google Cloud and Kubernetes on loopback; one JSON line says where."""
    from simulator.app import StartError, announce, run  # noqa: PLC0415 - imports every face: a second
    from simulator.options import SimulatorOptions  # noqa: PLC0415

    check_real_join(real_join=real_join, control_plane=control_plane)
    options = SimulatorOptions(
        seed=seed,
        pubsub=pubsub.value,
        control_plane=control_plane,
        real_join=real_join,
        log_latency=log_latency,
        timings=timings,
        kubernetes_version=kubernetes_version,
        project=project,
        installation=installation_of(plan, cluster, pubsub),
        crds=crds,
        capacity=dict(capacity or ()),
        directory=directory,
        ports=dict(port or ()),
    )

    def ready(described: dict[str, Any]) -> None:
        if env_file:
            # First: whoever has read the line finds the file.
            _write(env_file, shell_lines(described["env"]))
        announce(described)

    try:
        run(options, ready)
    except StartError as error:
        raise CommandError(str(error), code=FAILED) from None
    return 0
