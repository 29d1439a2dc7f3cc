"""`doctor`: looks at a live installation. Its flags are the settings of `run`, so that both look at the same things."""

import asyncio
import json as json_text
from typing import Annotated

import typer

from controller.cli.errors import FAILED, CommandError
from controller.cli.run import ConfigOption, TerraformOption, settings_of, with_a_flag_for_each_setting
from controller.cli.values import factor


@with_a_flag_for_each_setting
def command(
    *,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object, nothing else.")] = False,
    timeout: Annotated[
        float, typer.Option(parser=factor, metavar="SECONDS", help="Longest that one call may take.")
    ] = 10.0,
    probe: Annotated[
        str,
        typer.Option(
            metavar="SUBSCRIPTION",
            help="Also write one log entry and await it at this subscription, which nobody else pulls.",
            show_default=False,
        ),
    ] = "",
    config: ConfigOption = None,
    from_terraform: TerraformOption = None,
    **flags: str | None,
) -> int:
    """Look at an installation step by step and say what to mend. It changes nothing; with --probe it writes one entry.

    Run it as the operator, with the operator's settings: permissions and roles are those of whoever runs it. Exit code
    0: nothing failed; 1: something did.
    """
    settings = settings_of(flags, config, from_terraform)
    if probe == settings.subscription:
        raise CommandError("--probe is the operator's own subscription: doctor would take its messages; name another")
    from controller.doctor.examine import examine  # noqa: PLC0415 - imports Google's clients: seconds
    from controller.doctor.findings import well  # noqa: PLC0415
    from controller.doctor.show import show, stdout_console  # noqa: PLC0415

    findings = asyncio.run(examine(settings, timeout=timeout, probe=probe))
    if json:
        typer.echo(json_text.dumps({"ok": well(findings), "checks": [each.shown() for each in findings]}, indent=2))
    else:
        show(findings, stdout_console())
    return 0 if well(findings) else FAILED
