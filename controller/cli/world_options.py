"""Options that `simulator` and `demo` share: what the simulated world is like."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from controller.cli.errors import CommandError
from controller.cli.values import choice, choices, control_plane, whole_number
from controller.demo.options import PubSub

if TYPE_CHECKING:
    from simulator.plan import Installation

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
PlanOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="A Terraform plan, as terraform show -json prints it: the event path is made as planned, and what is "
        "missing in the plan is missing.",
        show_default=False,
    ),
]
ClusterOption = Annotated[
    str, typer.Option(metavar="NAME", help="Of a plan for several clusters, whose.", show_default=False)
]
RealJoinOption = Annotated[
    bool,
    typer.Option(
        "--real-join", help="VMs run the real startup script, kubeadm and kubelet (as root, on a real control plane)."
    ),
]
SeedOption = Annotated[
    int, typer.Option(parser=whole_number, metavar="N", help="Seed of everything that the world draws.")
]


def installation_of(plan: Path | None, cluster: str, pubsub: PubSub) -> "Installation | None":
    """What a plan would make; None without one. Raises CommandError."""
    if plan is None:
        return None
    from simulator.plan import PlanError, installation, read_plan  # noqa: PLC0415 - the operator does without

    if pubsub is PubSub.EMULATOR:
        raise CommandError("--plan needs --pubsub embedded: Google's emulator knows no roles")
    try:
        return installation(read_plan(plan), cluster)
    except PlanError as error:
        raise CommandError(f"--plan: {error}") from None


def check_real_join(*, real_join: bool, control_plane: str | Path) -> None:
    """Raises CommandError where the options contradict each other: nothing of kubeadm's is in the embedded API."""
    if real_join and control_plane == "embedded":
        raise CommandError("--real-join needs a real control plane: add --control-plane real, or a kubeconfig")
