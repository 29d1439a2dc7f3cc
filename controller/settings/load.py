"""Settings from where people put them, and what is wrong, named where it stands.

Flags come before the environment, that before the settings file, that before what Terraform put out.

The only reader of the environment. A value is never guessed: an unknown name is refused with the nearest known one.
"""

import difflib
import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from controller.settings.model import ENV_PREFIX, Settings
from controller.settings.terraform import OUTPUT, OutputError, operator_settings

#: Names the settings file, where no flag does.
CONFIG_VARIABLE: Final = f"{ENV_PREFIX}CONFIG"
#: Kubernetes sets these for a Service named tpu-node-group...: they are not ours.
_SERVICE_LINK: Final = re.compile(r".*(_SERVICE_HOST|_SERVICE_PORT(_\w+)?|_PORT(_\d+_(TCP|UDP|SCTP)(_\w+)?)?)")
_PROBLEMS: Final = {
    "int_parsing": "is not a whole number",
    "int_from_float": "is not a whole number",
    "int_type": "is not a whole number",
    "float_parsing": "is not a number",
    "float_type": "is not a number",
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "string_type": "must be text",
    "string_pattern_mismatch": "must match {pattern}",
    "greater_than_equal": "must be at least {ge:g}",
    "less_than_equal": "must be at most {le:g}",
    "less_than": "must be less than {lt:g}",
    "literal_error": "must be one of {expected}",
    "value_error": "{error}",
}


class SettingsError(Exception):
    """What is wrong with the settings: one sentence each, in `problems`."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("; ".join(problems))


def load(
    flags: Mapping[str, str],
    environ: Mapping[str, str],
    file: Path | None = None,
    *,
    terraform: Path | None = None,
) -> Settings:
    """Settings from flags (by field name), environment, a TOML file of `name = value` lines, and Terraform's outputs.

    `environ` is the process's own environment. Raises SettingsError naming every wrong setting with its place.
    """
    path = file or (Path(environ[CONFIG_VARIABLE]) if environ.get(CONFIG_VARIABLE) else None)
    written = _read(path) if path else {}
    variables = _variables(environ)
    file_places = {name: f"{path}: {name}" for name in written}
    if terraform:
        cluster = (
            flags.get("cluster_name") or environ.get(variables.get("cluster_name", "")) or written.get("cluster_name")
        )
        put_out, put_places = _put_out(terraform, str(cluster or ""))
        written, file_places = put_out | written, put_places | file_places
    unknown = [
        *(_unknown(file_places[name], name, Settings.model_fields) for name in written if not _known(name)),
        *(
            _unknown(variable, variable, map(env_name, Settings.model_fields))
            for name, variable in variables.items()
            if not _known(name)
        ),
    ]
    if unknown:
        raise SettingsError(unknown)
    places = (
        {name: f"{place} = " for name, place in file_places.items()}
        | {name: f"{variable}=" for name, variable in variables.items()}
        | {name: f"{flag_name(name)}=" for name in flags}
    )
    try:
        # The environment is the model's own source: it comes after what is handed over, hence the file's place here.
        return Settings(**{name: value for name, value in written.items() if name not in variables} | dict(flags))
    except ValidationError as error:
        raise SettingsError([_problem(each, places) for each in error.errors()]) from None


def env_name(field: str) -> str:
    """The environment variable of a setting."""
    return ENV_PREFIX + field.upper()


def flag_name(field: str) -> str:
    """The command line flag of a setting."""
    return "--" + field.replace("_", "-")


def _known(name: str) -> bool:
    return name in Settings.model_fields


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError([f"{path}: cannot read the settings file: {error.strerror}"]) from None
    except UnicodeDecodeError:
        raise SettingsError([f"{path}: the settings file is not UTF-8 text"]) from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError([f"{path}: the settings file is not TOML: {error}"]) from None
    except RecursionError:
        raise SettingsError([f"{path}: the settings file is nested too deeply"]) from None


def _put_out(path: Path, cluster: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Settings of Terraform's outputs, and where each stands."""
    try:
        name, settings = operator_settings(path, cluster)
    except OutputError as error:
        raise SettingsError([str(error)]) from None
    return settings, {setting: f"{path}: {OUTPUT}.{name}.{setting}" for setting in settings}


def _variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Field name -> variable, of all variables that are meant for us."""
    ours = (name for name in environ if name.upper().startswith(ENV_PREFIX) and name.upper() != CONFIG_VARIABLE)
    return {name[len(ENV_PREFIX) :].lower(): name for name in ours if not _SERVICE_LINK.fullmatch(name)}


def _unknown(place: str, name: str, known: Any) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"{place} is no setting" + (f": did you mean {near[0]}?" if near else "; docs/settings.md has them all")


def _problem(error: ErrorDetails, places: Mapping[str, str]) -> str:
    context = error.get("ctx", {})
    if not error["loc"]:
        return str(context["error"])
    field = str(error["loc"][0])
    if error["type"] == "missing":
        return f"{field} is not set: give {flag_name(field)} or {env_name(field)}"
    template = _PROBLEMS.get(error["type"])
    said = template.format(**context) if template else error["msg"]
    shown = json.dumps(error["input"], ensure_ascii=False, default=str)
    return f"{places.get(field, f'{field}=')}{shown} {said}"
