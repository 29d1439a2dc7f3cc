"""What a test needs of the machine: absent, the test is skipped here and fails in CI, which installs everything."""

import os
import shutil
from pathlib import Path
from typing import Final, NoReturn

import pytest

from simulator.controlplane.binaries import MissingBinaryError, binary
from simulator.machines import why_not
from simulator.pubsub.emulator import INSTALLED

#: Commands that packages put where PATH does not look.
_ELSEWHERE: Final = {"cloud-pubsub-emulator": INSTALLED}


def find(command: str) -> str | None:
    """Where a command is, on PATH or where its package keeps it; None when it is not installed."""
    elsewhere = _ELSEWHERE.get(command)
    return shutil.which(command) or (str(elsewhere) if elsewhere and elsewhere.exists() else None)


def need_control_plane() -> None:
    """Skip the calling test where Kubernetes was not built; in CI it fails instead."""
    for name in ("etcd", "kube-apiserver", "kube-controller-manager", "kubeadm"):
        need_binary(name)


def need_binary(name: str) -> Path:
    """The path of a program of `make control-plane`. Skips the calling test where it was not built; fails it in CI."""
    try:
        return binary(name)
    except MissingBinaryError as error:
        _lacking(str(error))


def need_machines() -> None:
    """Skip the calling test where VMs cannot be real machines, with the reason; in CI it fails instead."""
    reason = why_not()
    if reason is not None:
        _lacking(reason)


def need(command: str) -> str:
    """The path of a command. Skips the calling test where it is missing; in CI (CI=true) the test fails instead."""
    path = find(command)
    if path is None:
        _lacking(f"this test needs the command {command}")
    return path


def _lacking(message: str) -> NoReturn:
    if os.environ.get("CI") == "true":
        pytest.fail(f"{message}: .ci/run must install it")
    pytest.skip(message)
