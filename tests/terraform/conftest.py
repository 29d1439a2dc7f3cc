"""The tools, built once, and a copy of terraform/ that all tests read."""

import pytest

from tests.terraform.workspace import Tools, Workspace


@pytest.fixture(scope="session")
def tools() -> Tools:
    return Tools.made()


@pytest.fixture(scope="session")
def workspace(tools: Tools, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return Workspace.copied(tools, tmp_path_factory.mktemp("terraform") / "terraform")
