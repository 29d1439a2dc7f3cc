"""`docs/settings.md`, written from the model: names, defaults and meanings cannot go stale. Pure."""

from itertools import groupby
from typing import Any, Final

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from controller.settings.duration import format_duration
from controller.settings.load import CONFIG_VARIABLE, env_name, flag_name
from controller.settings.model import Settings

_HEAD: Final = f"""# Settings

Every setting of `tpu-node-group run`, by flag, by environment variable, or by a line in a TOML file named with
`--config FILE` or `{CONFIG_VARIABLE}`. A flag beats the environment, the environment beats the file, the file beats
what Terraform put out (`--from-terraform FILE`, printed by `terraform output -json`), and that beats the default.
`tpu-node-group settings --from-terraform FILE` prints the latter as variables, one a line, for `deploy/settings.env`.

Exit code 2: what was asked cannot be. A name that is no setting, a value that cannot be, or a settings file that cannot
be read; each is named, and nothing was started. Exit code 1: what was asked can be, and could not be done. The value is
well written, but what it names is not there or does not let the operator in: no such kubeconfig or context, no
credentials, an address that is taken. Exit code 0: ended by SIGTERM or SIGINT.

Durations are a number with `ms`, `s`, `m` or `h` (`250ms`, `30s`, `5m`, `1h`); a bare number means seconds. A series of
durations is separated by commas (`5s,15s,30s`). Switches are `true` or `false`.

```toml
# settings.toml: names as below, with underscores
subscription = "projects/my-project/subscriptions/tpu-node-group"
node_service_account = "tpu-nodes@my-project.iam.gserviceaccount.com"
resync_interval = "15m"
```

*This page is written by `make docs` from `controller/settings/model.py`.*
"""


def group_of(field: FieldInfo) -> str:
    """The chapter that a setting stands in."""
    extra = field.json_schema_extra
    assert isinstance(extra, dict)
    return str(extra["group"])


def default_of(field: FieldInfo) -> str:
    """A setting's default as a person would write it; "" where it is empty."""
    if field.default_factory is not None:
        return "the host name"
    return "required" if field.default is PydanticUndefined else _written(field.default)


def _written(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(_written(each) for each in value)
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str | int | float) else format_duration(value)


def page() -> str:
    """The whole page."""
    chapters = [
        f"\n## {title}\n\n| flag | variable | default | what it is for |\n|---|---|---|---|\n"
        + "".join(map(_row, fields))
        for title, fields in groupby(Settings.model_fields.items(), key=lambda item: group_of(item[1]))
    ]
    return _HEAD + "".join(chapters)


def _row(item: tuple[str, FieldInfo]) -> str:
    name, field = item
    default = default_of(field)
    shown = default if default in {"", "required", "the host name"} else f"`{default}`"
    return f"| `{flag_name(name)}` | `{env_name(name)}` | {shown} | {field.description} |\n"
