"""Options that `simulator` and `demo` share: what the simulated world is like."""

from typing import Annotated

import typer

from controller.cli.values import choice, choices, whole_number
from controller.demo.options import PubSub

PubSubOption = Annotated[
    PubSub,
    typer.Option(
        parser=choice(PubSub),
        metavar=choices(PubSub),
        help="What carries the events: our own Pub/Sub, or Google's emulator.",
    ),
]
SeedOption = Annotated[
    int, typer.Option(parser=whole_number, metavar="N", help="Seed of everything that the world draws.")
]
