"""`run`: the operator itself. Its flags are the settings: one each, made from the model, so that none is forgotten."""

import inspect
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import typer
from pydantic.fields import FieldInfo
from typer.core import TyperCommand, TyperOption

from controller.cli.errors import FAILED, CommandError
from controller.settings import Settings, SettingsError, flag_name, load
from controller.settings.reference import default_of, group_of


class ByChapter(TyperCommand):
    """Help in the chapters of the settings, as docs/settings.md has them."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each chapter; what has none stands first."""
        options = [each for each in self.get_params(ctx) if isinstance(each, TyperOption)]
        own = [each for each in options if not each.rich_help_panel or each.name == "help"]
        chapters = {"Options": own}
        for option in options:
            if option not in own:
                chapters.setdefault(str(option.rich_help_panel), []).append(option)
        for title, members in chapters.items():
            with formatter.section(title):
                formatter.write_dl([record for each in members if (record := each.get_help_record(ctx))])


def _metavar(field: FieldInfo) -> str:
    """What may stand behind a flag, as the help shows it."""
    kind = field.annotation
    if get_origin(kind) is Literal:
        return "|".join(get_args(kind))
    names: dict[Any, str] = {bool: "true|false", int: "NUMBER", float: "NUMBER", str: "TEXT"}
    return names.get(kind, "DURATION,..." if get_origin(kind) is tuple else "DURATION")


def _option(name: str, field: FieldInfo) -> inspect.Parameter:
    default = default_of(field)
    shown = f"{field.description} [{default}]" if default else field.description
    option = typer.Option(
        flag_name(name), metavar=_metavar(field), help=shown, rich_help_panel=group_of(field), show_default=False
    )
    kind = Annotated[str | None, option]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)


def with_a_flag_for_each_setting(command: Callable[..., int]) -> Callable[..., int]:
    """Give the command the signature that typer reads its options from."""
    own = [each for each in inspect.signature(command).parameters.values() if each.kind is not each.VAR_KEYWORD]
    parameters = [*own, *(_option(name, field) for name, field in Settings.model_fields.items())]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    return command


def settings_of(flags: Mapping[str, str | None], config: Path | None, terraform: Path | None) -> Settings:
    """The settings of a command. Raises CommandError with every one that is wrong."""
    given = {name: value for name, value in flags.items() if value is not None}
    try:
        return load(given, os.environ, config, terraform=terraform)
    except SettingsError as error:
        raise CommandError(*error.problems) from None


ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="TOML file of settings.", show_default=False),
]

TerraformOption = Annotated[
    Path | None,
    typer.Option(
        "--from-terraform",
        metavar="FILE",
        help="What terraform output -json printed: settings that nothing else states.",
        show_default=False,
    ),
]


@with_a_flag_for_each_setting
def command(
    *,
    config: ConfigOption = None,
    from_terraform: TerraformOption = None,
    **flags: str | None,
) -> int:
    """Be the operator, until SIGTERM or SIGINT."""
    settings = settings_of(flags, config, from_terraform)
    from controller.app import run  # noqa: PLC0415 - imports Google's clients: seconds

    if problems := run(settings):
        raise CommandError(*problems, code=FAILED)
    return 0
