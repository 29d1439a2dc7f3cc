"""A missing command skips a test here and fails it in CI."""

import sys
from pathlib import Path

import pytest

from tests.needs import need


def test_a_command_that_is_there_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    assert need("python") == str(Path(sys.executable).parent / "python")


def test_a_missing_command_skips_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="this test needs the command no-such-command"):
        need("no-such-command")


def test_in_ci_a_missing_command_fails_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match=r"\.ci/run must install it"):
        need("no-such-command")
