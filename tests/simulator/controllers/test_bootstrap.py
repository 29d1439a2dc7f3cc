"""Tokens sign cluster-info while they live, and disappear when they expire."""

import asyncio
import base64
import hashlib
import hmac
import json
from datetime import timedelta

import pytest
import yaml
from cryptography import x509

from simulator.kube.controllers.tokens import read_token, sign
from simulator.kube.errors import ApiError
from tests.simulator.controllers.cluster import AUTHORITY, TOKEN, Cluster


def unpadded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


async def test_a_new_token_signs_cluster_info_within_milliseconds(cluster: Cluster) -> None:
    started = asyncio.get_running_loop().time()
    cluster.token()
    await cluster.signed()
    assert asyncio.get_running_loop().time() - started < 1


async def test_the_signature_is_a_detached_jws_keyed_with_the_secret(cluster: Cluster) -> None:
    cluster.token()
    await cluster.signed()
    header, nothing, signature = cluster.signatures()["jws-kubeconfig-abcdef"].split(".")
    content = cluster.store.get("configmaps", "kube-public", "cluster-info")["data"]["kubeconfig"]
    payload = base64.urlsafe_b64encode(content.encode()).decode().rstrip("=")
    expected = hmac.new(b"0123456789abcdef", f"{header}.{payload}".encode(), hashlib.sha256).digest()
    assert json.loads(unpadded(header)) == {"alg": "HS256", "kid": "abcdef"}
    assert (nothing, unpadded(signature)) == ("", expected)


def test_the_signature_is_that_of_cluster_bootstraps_own_test() -> None:
    # k8s.io/cluster-bootstrap/token/jws/jws_test.go: content, id and secret of the happy path.
    assert sign(
        "Hello from the other side. I must have called a thousand times.", "joshua", "my voice is my passcode"
    ) == ("eyJhbGciOiJIUzI1NiIsImtpZCI6Impvc2h1YSJ9..VShe2taLd-YTrmWuRkcL_8QTNDHYxQIEBsAYYiIj1_8")


async def test_many_tokens_are_signed_by_few_writes(cluster: Cluster) -> None:
    await cluster.settled()
    for number in range(50):
        cluster.token(f"t{number:05d}.0123456789abcdef")
    before = cluster.store.revision
    await cluster.until(lambda: len(cluster.signatures()) == 50)
    assert cluster.store.revision - before <= 3


async def test_a_deleted_token_signs_no_longer(cluster: Cluster) -> None:
    cluster.token()
    await cluster.signed()
    cluster.store.delete("secrets", "kube-system", "bootstrap-token-abcdef")
    await cluster.until(lambda: cluster.signatures() == {})


async def test_an_expired_token_is_deleted_and_signs_no_longer(cluster: Cluster) -> None:
    cluster.token(lives=0)
    await cluster.until(lambda: cluster.store.list("secrets", "kube-system") == [])
    await cluster.settled()
    assert cluster.signatures() == {}


async def test_a_token_without_expiration_stays(cluster: Cluster) -> None:
    cluster.token(expiration="")
    await cluster.signed()
    cluster.time += timedelta(days=400)
    cluster.token("zzzzzz.0123456789abcdef")
    await cluster.signed("zzzzzz")
    assert sorted(cluster.signatures()) == ["jws-kubeconfig-abcdef", "jws-kubeconfig-zzzzzz"]


async def test_a_changed_kubeconfig_is_signed_anew(cluster: Cluster) -> None:
    cluster.token()
    await cluster.signed()
    old = cluster.signatures()
    info = cluster.store.get("configmaps", "kube-public", "cluster-info")
    cluster.store.update("configmaps", {**info, "data": {**info["data"], "kubeconfig": "other"}})
    await cluster.until(lambda: cluster.signatures() != old)
    assert cluster.signatures() == {"jws-kubeconfig-abcdef": sign("other", "abcdef", "0123456789abcdef")}


@pytest.mark.parametrize(
    "data",
    [
        {"usage_bootstrap_signing": "false"},
        {"expiration": "tomorrow"},
        {"token_secret": "short"},
        {"token_id": "uvwxyz"},
    ],
)
async def test_a_secret_that_is_no_signing_token_signs_nothing(cluster: Cluster, data: dict[str, str]) -> None:
    created = cluster.token(TOKEN, lives=60, **data)
    await cluster.settled()
    assert (cluster.signatures(), created["type"]) == ({}, "bootstrap.kubernetes.io/token")


async def test_another_secret_is_no_token(cluster: Cluster) -> None:
    body = {"metadata": {"name": "bootstrap-token-abcdef", "namespace": "default"}, "type": "Opaque"}
    assert read_token(cluster.store.create("secrets", body)) is None


async def test_a_token_tells_its_id_only(cluster: Cluster) -> None:
    assert "0123456789abcdef" not in repr(read_token(cluster.token()))


async def test_the_root_certificate_is_in_every_namespace_and_stays_there(cluster: Cluster) -> None:
    cluster.store.create("namespaces", {"metadata": {"name": "research"}})

    def published() -> bool:
        found = [cluster.store.find("configmaps", name, "kube-root-ca.crt") for name in ("kube-system", "research")]
        return all(item is not None and item["data"] == {"ca.crt": AUTHORITY.certificate} for item in found)

    await cluster.until(published)
    cluster.store.delete("configmaps", "research", "kube-root-ca.crt")
    await cluster.until(published)


async def test_a_terminating_namespace_is_left_without_it(cluster: Cluster) -> None:
    cluster.store.create("namespaces", {"metadata": {"name": "research"}})
    cluster.widget("held", namespace="research", finalizers=("example.com/hold",))
    await cluster.settled()
    cluster.store.delete("namespaces", None, "research")
    await cluster.settled()
    with pytest.raises(ApiError, match="not found"):
        cluster.store.get("configmaps", "research", "kube-root-ca.crt")


async def test_cluster_info_tells_the_server_and_the_pinned_certificate(cluster: Cluster) -> None:
    text = cluster.store.get("configmaps", "kube-public", "cluster-info")["data"]["kubeconfig"]
    told = yaml.safe_load(text)["clusters"][0]["cluster"]
    certificate = x509.load_pem_x509_certificate(base64.b64decode(told["certificate-authority-data"]))
    assert told["server"] == "https://127.0.0.1:6443"
    assert certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert AUTHORITY.hash.startswith("sha256:")


async def test_stopped_controllers_do_nothing_more(cluster: Cluster) -> None:
    await cluster.settled()
    await cluster.stop()
    cluster.token()
    await cluster.settled()
    assert cluster.signatures() == {}
