"""What `deploy/` holds, read as it is."""

from pathlib import Path
from typing import Any, Final

import yaml

Json = dict[str, Any]

ROOT: Final = Path(__file__).parents[2]
DEPLOY: Final = ROOT / "deploy"


def documents(name: str) -> list[Json]:
    """The objects of one file."""
    return list(yaml.safe_load_all((DEPLOY / name).read_text(encoding="utf-8")))


def all_documents() -> list[Json]:
    """The objects of every file but the CRDs, which tests/api looks after."""
    return [document for path in sorted(DEPLOY.glob("*.yaml")) for document in documents(path.name)]
