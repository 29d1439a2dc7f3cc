"""The sample custom resources, and what the API server would make of a manifest that is created."""

from pathlib import Path
from typing import Any, Final

import yaml

from controller.api.resources import Resource, TPUNodeGroup, parse

Json = dict[str, Any]

SAMPLES: Final = Path(__file__).parents[1] / "data" / "cr"


def sample(number: str) -> list[Resource]:
    """The objects of a sample file, by its number; their UID is `uid-<name>`."""
    (path,) = SAMPLES.glob(f"{number}-*.yaml")
    return [created(manifest) for manifest in yaml.safe_load_all(path.read_text())]


def sample_group(number: str) -> TPUNodeGroup:
    """The one group of a sample file."""
    (group,) = sample(number)
    assert isinstance(group, TPUNodeGroup)
    return group


def created(manifest: Json) -> Resource:
    """A manifest as an object with a UID."""
    return parse({**manifest, "metadata": {**manifest["metadata"], "uid": f"uid-{manifest['metadata']['name']}"}})
