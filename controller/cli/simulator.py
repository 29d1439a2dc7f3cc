"""`simulator`: the simulated Google Cloud and Kubernetes, served until interrupted."""

from typing import Annotated

import typer

from controller.cli.values import choice, choices, whole_number
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
) -> int:
    """Serve simulated Google Cloud and Kubernetes on loopback; one JSON line says where."""
    from simulator.app import SimulatorOptions, serve  # noqa: PLC0415 - imports every face: a second

    return int(serve(SimulatorOptions(seed=seed, pubsub=pubsub.value)) or 0)
