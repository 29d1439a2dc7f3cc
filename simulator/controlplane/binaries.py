"""Where the programs of a control plane are: in KUBEBUILDER_ASSETS, or in the cache that `make control-plane` fills."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

#: What tests/controlplane/go.mod pins.
KUBERNETES: Final = "1.36.3"
ETCD: Final = "3.6.8"


class MissingBinaryError(Exception):
    """A program is not there; the message says how to get it."""


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """The folder that `make control-plane` builds into and prints: one for each pair of versions."""
    cache = environment.get("XDG_CACHE_HOME") or Path(environment.get("HOME", "~"), ".cache").expanduser()
    return Path(cache, "tpu-node-group", f"kubernetes-{KUBERNETES}-etcd-{ETCD}")


def binary(name: str, environment: Mapping[str, str] = os.environ) -> Path:
    """The program `name`: etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubeadm, kubelet, criserver.

    KUBEBUILDER_ASSETS is the convention for a folder with etcd and kube-apiserver; the others may be beside them.
    Raises MissingBinaryError.
    """
    assets = environment.get("KUBEBUILDER_ASSETS", "")
    for folder in (assets, str(cache_folder(environment))):
        if folder and (found := shutil.which(name, path=folder)):
            return Path(found)
    raise MissingBinaryError(
        f"{name} is not in {cache_folder(environment)}: run `make control-plane` in a checkout of the repository "
        "(it builds Kubernetes once; it needs Go)"
    )


def refuse_other_minor(api_server: str) -> None:
    """Raise MissingBinaryError where KUBEBUILDER_ASSETS brought an API server of another minor version (`v1.34.1`).

    The controllers beside it may not be newer, and kubeadm's configuration is for its own version.
    """
    if api_server.lstrip("v").split(".")[:2] != KUBERNETES.split(".")[:2]:
        raise MissingBinaryError(
            f"the kube-apiserver in KUBEBUILDER_ASSETS is {api_server}, everything else here is v{KUBERNETES}: "
            "unset KUBEBUILDER_ASSETS and run `make control-plane`, or point it at binaries of that minor version"
        )
