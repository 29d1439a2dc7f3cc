"""The default identity: no two processes share one, and one that has ended can be seen to have."""

import os
import subprocess
import sys

from controller.settings.identity import default_identity, is_dead


def identity_of_another() -> str:
    """The default identity of a process that has ended by now."""
    code = "from controller.settings.identity import default_identity; print(default_identity())"
    ended = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603 - ours
    return ended.stdout.strip()


def test_two_processes_of_a_host_have_two_identities() -> None:
    assert identity_of_another() != default_identity()


def test_a_process_that_has_ended_is_dead_and_one_that_lives_is_not() -> None:
    assert is_dead(identity_of_another())
    assert not is_dead(default_identity())


def test_of_an_identity_of_another_host_or_form_nothing_is_known() -> None:
    assert not is_dead(f"elsewhere_1_{os.getpid()}")
    assert not is_dead("tpu-node-group-controller-0")
