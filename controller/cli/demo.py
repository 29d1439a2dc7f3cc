"""`demo`: the options of the demo, checked before anything is started."""

from typing import Annotated

import typer

from controller.cli.errors import CommandError
from controller.cli.values import choice, choices, whole_number
from controller.cli.world_options import ControlPlaneOption, PubSubOption, SeedOption
from controller.demo.options import NO_ACCOUNT, SERVICE_ACCOUNT, BadOptionError, DemoOptions, PubSub, Scenario


def command(
    *,
    scenario: Annotated[
        Scenario,
        typer.Option(parser=choice(Scenario), metavar=choices(Scenario), help="What happens to the group."),
    ] = Scenario.LIFE,
    nodes: Annotated[
        int, typer.Option(parser=whole_number, metavar="N", help="Hosts of the slice; a topology must exist for it.")
    ] = 2,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object at the end, nothing else.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the group up and say how to use kubectl.")] = False,
    pubsub: PubSubOption = PubSub.EMBEDDED,
    control_plane: ControlPlaneOption = "embedded",
    node_service_account: Annotated[
        str,
        typer.Option(metavar="EMAIL|none", help="Service account of the VMs; with none they cannot report their boot."),
    ] = SERVICE_ACCOUNT,
    seed: SeedOption = 1,
) -> int:
    """Show a node group's whole life on this machine, on simulated Google Cloud and Kubernetes."""
    try:
        options = DemoOptions(
            scenario=scenario,
            nodes=nodes,
            json=json,
            keep=keep,
            pubsub=pubsub,
            control_plane=control_plane,
            node_service_account="" if node_service_account == NO_ACCOUNT else node_service_account,
            seed=seed,
        )
    except BadOptionError as error:
        raise CommandError(str(error)) from None
    from controller.demo.main import run  # noqa: PLC0415 - imports the Kubernetes client: a second

    return run(options)
