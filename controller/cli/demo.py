"""`demo`: the options of the demo, checked before anything is started."""

from typing import Annotated

import typer

from controller.cli.errors import CommandError
from controller.cli.values import choice, choices, whole_number
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
from controller.demo.options import NO_ACCOUNT, PROJECT, SERVICE_ACCOUNT, BadOptionError, DemoOptions, PubSub, Scenario


def command(  # noqa: PLR0913 - one for each option
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
    real_join: RealJoinOption = False,
    node_service_account: Annotated[
        str | None,
        typer.Option(
            metavar="EMAIL|none",
            help="Service account of the VMs; with none they cannot report their boot.",
            show_default=f"{SERVICE_ACCOUNT}, or the plan's",
        ),
    ] = None,
    plan: PlanOption = None,
    cluster: ClusterOption = "",
    seed: SeedOption = 1,
) -> int:
    """Show a node group's whole life on this machine, on simulated Google Cloud and Kubernetes."""
    check_real_join(real_join=real_join, control_plane=control_plane)
    made = installation_of(plan, cluster, pubsub)
    account = node_service_account or (made.node_service_account if made else SERVICE_ACCOUNT)
    try:
        options = DemoOptions(
            scenario=scenario,
            nodes=nodes,
            json=json,
            keep=keep,
            pubsub=pubsub,
            control_plane=control_plane,
            real_join=real_join,
            node_service_account="" if account == NO_ACCOUNT else account,
            seed=seed,
            project=made.project if made else PROJECT,
            plan=plan,
            cluster=cluster,
        )
    except BadOptionError as error:
        raise CommandError(str(error)) from None
    from controller.demo.main import run  # noqa: PLC0415 - imports the Kubernetes client: a second

    return run(options)
