"""The programs of a control plane are found where they were built, at the versions that are pinned."""

import re
from pathlib import Path

import pytest

from simulator.controlplane.binaries import (
    ETCD,
    KUBERNETES,
    MissingBinaryError,
    binary,
    cache_folder,
    refuse_other_minor,
)

MODULE = Path(__file__).parents[2] / "controlplane" / "go.mod"


def program(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.touch(mode=0o755)
    return path


def test_the_versions_are_those_of_the_go_module() -> None:
    pinned = dict(re.findall(r"^\t(\S+) v(\S+)", MODULE.read_text("utf-8"), re.MULTILINE))
    assert (pinned["k8s.io/kubernetes"], pinned["go.etcd.io/etcd/server/v3"]) == (KUBERNETES, ETCD)


def test_the_cache_is_keyed_by_both_versions() -> None:
    assert cache_folder({"XDG_CACHE_HOME": "/cache", "HOME": "/home/me"}) == Path(
        f"/cache/tpu-node-group/kubernetes-{KUBERNETES}-etcd-{ETCD}"
    )
    assert cache_folder({"HOME": "/home/me"}).is_relative_to("/home/me/.cache/tpu-node-group")


def test_the_assets_come_first_and_the_cache_has_the_rest(tmp_path: Path) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "KUBEBUILDER_ASSETS": str(tmp_path / "assets")}
    built = {name: program(cache_folder(environment), name) for name in ("etcd", "kubeadm")}
    given = program(tmp_path / "assets", "etcd")
    assert binary("etcd", environment) == given
    assert binary("kubeadm", environment) == built["kubeadm"]


def test_what_is_missing_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "tpu-node-group").mkdir()
    with pytest.raises(MissingBinaryError, match=r"kubeadm is not in .*: run `make control-plane`"):
        binary("kubeadm", {"XDG_CACHE_HOME": str(tmp_path)})


def test_an_api_server_of_another_minor_version_is_refused_and_one_of_another_patch_is_not() -> None:
    refuse_other_minor("v1.36.0")
    with pytest.raises(MissingBinaryError, match=r"the kube-apiserver in KUBEBUILDER_ASSETS is v1\.34\.1, "):
        refuse_other_minor("v1.34.1")
