"""What all tests share: the marks of those that `make test` leaves to others (CONTRIBUTING.md)."""

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marks; `--strict-markers` refuses any other."""
    for mark in (
        "slow: takes more than a few seconds",
        "emulator: needs Google's Pub/Sub emulator and Java",
        "kubectl: needs kubectl",
        "controlplane: needs a real Kubernetes control plane (make control-plane)",
        "faults: fails, loses and delays calls and events in whole lives (every test of a file test_faults_*)",
    ):
        config.addinivalue_line("markers", mark)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the sweeps of faults by their files: none of them can slip into the everyday tests."""
    for item in items:
        if item.path.name.startswith("test_faults_"):
            item.add_marker("faults")
