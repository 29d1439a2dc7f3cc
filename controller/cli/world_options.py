"""Options that `simulator` and `demo` share: what the simulated world is like."""

from typing import Annotated, Any

import typer

from controller.cli.values import choice, choices, control_plane, whole_number
from controller.demo.options import PubSub

PubSubOption = Annotated[
    PubSub,
    typer.Option(
        parser=choice(PubSub),
        metavar=choices(PubSub),
        help="What carries the events: our own Pub/Sub, or Google's emulator.",
    ),
]
ControlPlaneOption = Annotated[
    Any,
    typer.Option(
        parser=control_plane,
        metavar="embedded|real|KUBECONFIG",
        help="Whose Kubernetes: our own API, a real control plane (make control-plane), or an admin's kubeconfig.",
        show_default="embedded",
    ),
]
SeedOption = Annotated[
    int, typer.Option(parser=whole_number, metavar="N", help="Seed of everything that the world draws.")
]
