"""What all tests share: the marks of those that need more than Python, which `make test` leaves to `make test-slow`."""

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marks; `--strict-markers` refuses any other."""
    for mark in (
        "slow: takes more than a few seconds",
        "emulator: needs Google's Pub/Sub emulator and Java",
        "kubectl: needs kubectl",
    ):
        config.addinivalue_line("markers", mark)
