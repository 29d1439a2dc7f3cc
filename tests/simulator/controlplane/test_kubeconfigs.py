"""A kubeconfig says where the cluster is, whom to trust and who one is; what it lacks is named."""

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from simulator.controlplane.kubeconfigs import Access, KubeconfigError, read
from simulator.kube.serving import kubeconfig

Json = dict[str, Any]


def written(folder: Path, content: Json) -> Path:
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_the_current_context_of_a_user_with_a_token_is_read(tmp_path: Path) -> None:
    path = written(tmp_path, kubeconfig("https://127.0.0.1:1", "a-token", "admin", ca=b"authority"))
    assert read(path) == Access("https://127.0.0.1:1", "authority", "a-token", b"")


def test_the_current_context_of_a_user_with_a_certificate_is_read(tmp_path: Path) -> None:
    content = kubeconfig("https://127.0.0.1:1", "", "admin", ca=b"authority")
    content["users"][0]["user"] = {
        "client-certificate-data": encoded("certificate\n"),
        "client-key-data": encoded("key\n"),
    }
    assert read(written(tmp_path, content)) == Access("https://127.0.0.1:1", "authority", "", b"certificate\nkey\n")


def test_a_user_without_credentials_is_told(tmp_path: Path) -> None:
    path = written(tmp_path, kubeconfig("https://127.0.0.1:1", "", "admin", ca=b"authority"))
    with pytest.raises(KubeconfigError, match=r"the user in .* has neither a token nor client-certificate-data and"):
        read(path)


@pytest.mark.parametrize("lacking", ["clusters", "users", "contexts", "current-context"])
def test_a_context_that_leads_nowhere_is_told(tmp_path: Path, lacking: str) -> None:
    content = kubeconfig("https://127.0.0.1:1", "a-token", "admin", ca=b"authority")
    del content[lacking]
    with pytest.raises(KubeconfigError, match="has no current context with a server"):
        read(written(tmp_path, content))
