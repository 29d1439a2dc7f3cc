"""Settings out of Terraform: `terraform output -json`, whose output `operator_settings` has them for each cluster."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

__all__ = ["OUTPUT", "OutputError", "operator_settings"]

#: Of the root module (terraform/examples/complete): cluster -> setting -> value.
OUTPUT: Final = "operator_settings"
_HOW: Final = "write the file by terraform output -json > FILE"


class OutputError(ValueError):
    """The file does not say what the settings are. The message says what is wrong with it."""


def operator_settings(path: Path, cluster: str) -> tuple[str, dict[str, Any]]:
    """The cluster's name and its settings. `cluster` may be "" where there is one only. Raises OutputError."""
    clusters = _clusters(path)
    names = ", ".join(sorted(clusters))
    if cluster and cluster not in clusters:
        raise OutputError(f"{path}: {OUTPUT} has no cluster {cluster}; it has {names}")
    if not cluster and len(clusters) > 1:
        raise OutputError(f"{path}: {OUTPUT} is of several clusters: say --cluster-name, one of {names}")
    name = cluster or next(iter(clusters))
    # Terraform writes null for what is not set.
    return name, {key: value for key, value in clusters[name].items() if value is not None}


def _clusters(path: Path) -> Mapping[str, Mapping[str, Any]]:
    try:
        outputs = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise OutputError(f"{path}: cannot read Terraform's outputs: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise OutputError(f"{path}: Terraform's outputs are not JSON: {_HOW}") from error
    output = outputs.get(OUTPUT) if isinstance(outputs, dict) else None
    if not isinstance(output, dict) or "value" not in output:
        raise OutputError(f"{path}: there is no output {OUTPUT}: {_HOW}, where terraform/examples/complete was applied")
    clusters = output["value"]
    if not isinstance(clusters, dict) or not clusters or not all(isinstance(each, dict) for each in clusters.values()):
        raise OutputError(f"{path}: {OUTPUT} must have the settings of each cluster under its name")
    return clusters
