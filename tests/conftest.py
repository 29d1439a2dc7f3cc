"""What all tests share: a real control plane, and the marks of what `make test` leaves to others (CONTRIBUTING.md)."""

from collections.abc import Iterator

import pytest

from tests.needs import need_control_plane
from tests.planes import RealPlane, running_plane


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marks; `--strict-markers` refuses any other."""
    for mark in (
        "slow: takes more than a few seconds",
        "emulator: needs Google's Pub/Sub emulator and Java",
        "kubectl: needs kubectl",
        "controlplane: needs a real Kubernetes control plane (make control-plane)",
        "terraform: needs Terraform, and Go for the provider of the tests",
        "sweep: lives each life with each fault on each of its events (make sweep)",
        "faults: fails, loses and delays calls and events in whole lives (every test of a file test_faults_*)",
    ):
        config.addinivalue_line("markers", mark)


@pytest.fixture(scope="session")
def real_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealPlane]:
    """One real control plane for the whole session: a test keeps to a namespace, or leaves what it found."""
    need_control_plane()
    with running_plane(tmp_path_factory.mktemp("control-plane")) as plane:
        yield plane


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the sweeps of faults by their files: none of them can slip into the everyday tests."""
    for item in items:
        if item.path.name.startswith("test_faults_"):
            item.add_marker("faults")
