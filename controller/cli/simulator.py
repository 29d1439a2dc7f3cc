"""`simulator`: the simulated Google Cloud and Kubernetes, served until interrupted."""

from pathlib import Path
from typing import Annotated

import typer

from controller.cli.values import choice, choices, factor, whole_number
from controller.demo.options import PubSub


def command(
    *,
    seed: Annotated[
        int, typer.Option(parser=whole_number, metavar="N", help="Seed of everything that the world draws.")
    ] = 1,
    pubsub: Annotated[
        PubSub,
        typer.Option(
            parser=choice(PubSub),
            metavar=choices(PubSub),
            help="What carries the events: our own Pub/Sub, or Google's emulator.",
        ),
    ] = PubSub.EMBEDDED,
    log_latency: Annotated[
        float, typer.Option(parser=factor, metavar="FACTOR", help="Times the latency of log entries; 0 is none.")
    ] = 1.0,
    timings: Annotated[
        float, typer.Option(parser=factor, metavar="FACTOR", help="Times every duration of the world; 0 is none.")
    ] = 1.0,
    kubernetes_version: Annotated[
        str, typer.Option(metavar="1.N", help="The version that the API server reports.")
    ] = "1.34",
    crds: Annotated[
        bool, typer.Option("--crds/--no-crds", help="Whether the operator's CRDs are there from the start.")
    ] = True,
    directory: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where the kubeconfigs are written.", show_default="a temporary folder"),
    ] = None,
) -> int:
    """Serve simulated Google Cloud and Kubernetes on loopback; one JSON line says where."""
    from simulator.app import run  # noqa: PLC0415 - imports every face: a second
    from simulator.options import SimulatorOptions  # noqa: PLC0415

    options = SimulatorOptions(
        seed=seed,
        pubsub=pubsub.value,
        log_latency=log_latency,
        timings=timings,
        kubernetes_version=kubernetes_version,
        crds=crds,
        directory=directory,
    )
    return run(options)
