"""The port `Cluster`, through the real client, against a server that writes down what it is asked."""

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from pydantic import SecretStr
from structlog.typing import EventDict

from controller.adapters.kube import KubeCluster
from controller.adapters.kube_client import METADATA_LIST, KubeClient
from controller.core.failures import Bug, Conflict, Gone, Rejected, Retry
from controller.core.model import Key, Kind
from controller.core.observed import Taint, TokenView
from tests.adapters.conftest import BEARER
from tests.adapters.fakes import FakeClock
from tests.adapters.scripted_server import ScriptedServer, WatchStream

GROUPS = "/apis/tpu.google.com/v1alpha1/namespaces/research/tpunodegroups"
KEY = Key(Kind.GROUP, "research", "slice-a")
PATH = f"{GROUPS}/slice-a"
NODE = "/api/v1/nodes/vm-0"
SECRETS = "/api/v1/namespaces/kube-system/secrets"
CLUSTER_INFO = "/api/v1/namespaces/kube-public/configmaps"
AT = datetime(2026, 12, 1, 10, tzinfo=UTC)
TOKEN = TokenView("abcdef", "research", "slice-a", "vm-0", "11", AT + timedelta(hours=1), AT)
SECRET = SecretStr("0123456789abcdef")
MANAGER = {"fieldManager": "tpu-node-group"}


@pytest.fixture
async def cluster(client: KubeClient, clock: FakeClock) -> AsyncIterator[KubeCluster]:
    opened = KubeCluster(client, clock, backoff=(0.01,))
    yield opened
    await opened.close()


def refused(code: int, reason: str, message: str = "no") -> dict[str, Any]:
    return {"kind": "Status", "code": code, "reason": reason, "message": message}


def an_object(version: str = "7", **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": "slice-a", "resourceVersion": version, **metadata}}


async def test_all_pages_of_a_kind_are_read_with_the_bearer_token(cluster: KubeCluster, server: ScriptedServer) -> None:
    path = "/apis/tpu.google.com/v1alpha1/workloadpolicies"
    server.answer("GET", path, {"metadata": {"continue": "c2"}, "items": [an_object("1")]})
    server.answer("GET", path, {"metadata": {}, "items": [an_object("2")]})
    assert await cluster.list_custom_resources(Kind.POLICY) == [an_object("1"), an_object("2")]
    assert [asked.query for asked in server.asked] == [{"limit": "500"}, {"limit": "500", "continue": "c2"}]
    assert [asked.headers["Authorization"] for asked in server.asked] == [f"Bearer {BEARER}"] * 2


async def test_a_status_is_merged_under_the_uid(cluster: KubeCluster, server: ScriptedServer) -> None:
    server.answer("PATCH", f"{PATH}/status", an_object("8", uid="u1"))
    assert await cluster.patch_status(KEY, "u1", {"nodesReady": "2/2"}) == an_object("8", uid="u1")
    [asked] = server.asked
    assert asked.body == {"metadata": {"uid": "u1"}, "status": {"nodesReady": "2/2"}}
    assert (asked.headers["Content-Type"], asked.query) == ("application/merge-patch+json", MANAGER)


async def test_a_status_that_went_to_another_object_of_the_name_is_a_conflict(
    cluster: KubeCluster, server: ScriptedServer
) -> None:
    server.answer("PATCH", f"{PATH}/status", an_object("8", uid="u2"))
    with pytest.raises(Conflict, match="it was deleted and made anew"):
        await cluster.patch_status(KEY, "u1", {})


@pytest.mark.parametrize(("code", "reason", "expected"), [(409, "Conflict", Conflict), (404, "NotFound", Gone)])
async def test_a_status_of_another_object_or_of_none_is_refused(
    code: int, reason: str, expected: type[Exception], cluster: KubeCluster, server: ScriptedServer
) -> None:
    server.answer("PATCH", f"{PATH}/status", refused(code, reason), code)
    with pytest.raises(expected, match="patch tpunodegroups/status research/slice-a failed"):
        await cluster.patch_status(KEY, "u1", {})


async def test_finalizers_are_replaced_under_the_resource_version(cluster: KubeCluster, server: ScriptedServer) -> None:
    server.answer("PATCH", PATH, an_object("8", finalizers=["a/b"]))
    assert await cluster.set_finalizers(KEY, "7", ["a/b"]) == an_object("8", finalizers=["a/b"])
    [asked] = server.asked
    assert asked.headers["Content-Type"] == "application/json-patch+json"
    assert asked.body == [
        {"op": "test", "path": "/metadata/resourceVersion", "value": "7"},
        {"op": "add", "path": "/metadata/finalizers", "value": ["a/b"]},
    ]


async def test_an_object_without_its_last_finalizer_is_gone_only_when_it_was_being_deleted(
    cluster: KubeCluster, server: ScriptedServer
) -> None:
    server.answer("PATCH", PATH, an_object("8", deletionTimestamp="2026-12-01T10:00:00Z"))
    server.answer("PATCH", PATH, an_object("9"))
    assert [await cluster.set_finalizers(KEY, "7", []) for _ in range(2)] == [None, an_object("9")]


async def test_a_failed_version_test_is_a_conflict_and_an_invalid_finalizer_is_not(
    cluster: KubeCluster, server: ScriptedServer
) -> None:
    by_test = "the server rejected our request due to an error in our request"
    server.answer("PATCH", PATH, refused(422, "Invalid", by_test), 422)
    server.answer("PATCH", PATH, refused(422, "Invalid", 'TPUNodeGroup "slice-a" is invalid: finalizers'), 422)
    with pytest.raises(Conflict, match="patch tpunodegroups research/slice-a failed: it changed since it was read"):
        await cluster.set_finalizers(KEY, "7", ["a/b"])
    with pytest.raises(Rejected, match="is invalid"):
        await cluster.set_finalizers(KEY, "7", ["a/b"])


async def test_a_custom_resource_is_deleted_under_its_uid_and_may_be_absent(
    cluster: KubeCluster, server: ScriptedServer
) -> None:
    server.answer("DELETE", PATH, refused(404, "NotFound"), 404)
    await cluster.delete_custom_resource(KEY, "u1")
    assert server.asked[0].body == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "propagationPolicy": "Background",
        "preconditions": {"uid": "u1"},
    }


async def test_creating_what_exists_is_a_conflict(cluster: KubeCluster, server: ScriptedServer) -> None:
    server.answer("POST", GROUPS, refused(409, "AlreadyExists"), 409)
    with pytest.raises(Conflict, match="create tpunodegroups research/slice-a"):
        await cluster.create_custom_resource(Kind.GROUP, "research", an_object())


async def test_a_token_secret_is_as_kubeadm_makes_it_with_our_labels(
    cluster: KubeCluster, server: ScriptedServer
) -> None:
    server.answer("POST", SECRETS, {})
    await cluster.create_token_secret(TOKEN, SECRET)
    assert server.asked[0].body == {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": "bootstrap-token-abcdef",
            "namespace": "kube-system",
            "labels": {
                "tpu.google.com/node-group-namespace": "research",
                "tpu.google.com/node-group-name": "slice-a",
                "tpu.google.com/instance-id": "11",
            },
            "annotations": {
                "tpu.google.com/instance": "vm-0",
                "tpu.google.com/expires-at": "2026-12-01T11:00:00Z",
            },
        },
        "type": "bootstrap.kubernetes.io/token",
        "data": {
            "token-id": "YWJjZGVm",
            "token-secret": "MDEyMzQ1Njc4OWFiY2RlZg==",
            "expiration": "MjAyNi0xMi0wMVQxMTowMDowMFo=",
            "usage-bootstrap-authentication": "dHJ1ZQ==",
            "usage-bootstrap-signing": "dHJ1ZQ==",
            "auth-extra-groups": "c3lzdGVtOmJvb3RzdHJhcHBlcnM6a3ViZWFkbTpkZWZhdWx0LW5vZGUtdG9rZW4=",
            "description": "Sm9pbiB0b2tlbiBvZiB0aGUgVFBVIFZNIHZtLTAgb2YgcmVzZWFyY2gvc2xpY2UtYQ==",
        },
    }


@pytest.mark.parametrize("secret", ["0123456789ABCDEF", "abcdef.0123456789abcdef", ""])
async def test_a_secret_of_another_form_is_our_bug_and_is_not_quoted(secret: str, cluster: KubeCluster) -> None:
    with pytest.raises(Bug) as bug:
        await cluster.create_token_secret(TOKEN, SecretStr(secret))
    assert str(bug.value) == "The bootstrap token for vm-0 is not of the form [a-z0-9]{6}.[a-z0-9]{16}."


async def test_tokens_are_listed_as_metadata_and_a_broken_one_is_left_out(
    cluster: KubeCluster, server: ScriptedServer, logged: list[EventDict]
) -> None:
    metadata = {
        "name": "bootstrap-token-abcdef",
        "creationTimestamp": "2026-12-01T10:00:00Z",
        "labels": {
            "tpu.google.com/node-group-namespace": "research",
            "tpu.google.com/node-group-name": "slice-a",
            "tpu.google.com/instance-id": "11",
        },
        "annotations": {"tpu.google.com/instance": "vm-0", "tpu.google.com/expires-at": "2026-12-01T11:00:00Z"},
    }
    broken = {**metadata, "name": "bootstrap-token-broken", "annotations": {}}
    server.answer("GET", SECRETS, {"metadata": {}, "items": [{"metadata": metadata}, {"metadata": broken}]})
    assert await cluster.list_token_secrets() == (TOKEN,)
    [asked] = server.asked
    assert asked.headers["Accept"] == METADATA_LIST
    assert asked.query["labelSelector"] == "tpu.google.com/node-group-name,tpu.google.com/instance-id"
    assert [(line["log_level"], line["secret"]) for line in logged] == [
        ("warning", "kube-system/bootstrap-token-broken")
    ]


async def test_a_token_that_is_gone_already_is_deleted(cluster: KubeCluster, server: ScriptedServer) -> None:
    server.answer("DELETE", f"{SECRETS}/bootstrap-token-abcdef", refused(404, "NotFound"), 404)
    await cluster.delete_token_secret("abcdef")
    assert len(server.of("DELETE")) == 1


def cluster_info(version: str, *token_ids: str) -> dict[str, Any]:
    data = {f"jws-kubeconfig-{token_id}": "signature" for token_id in token_ids}
    return {"metadata": {"name": "cluster-info", "resourceVersion": version}, "data": {"kubeconfig": "x", **data}}


@pytest.fixture
async def signatures(cluster: KubeCluster, server: ScriptedServer) -> WatchStream:
    """The watch of cluster-info, opened, with the signature of `oldone` there from the start."""
    body = {"metadata": {"resourceVersion": "3"}, "items": [cluster_info("3", "oldone")]}
    server.answer("GET", CLUSTER_INFO, body)
    stream = server.watch(CLUSTER_INFO)
    await cluster.open()
    await stream.opened.wait()
    return stream


async def test_a_signature_that_is_there_is_not_waited_for(cluster: KubeCluster, signatures: WatchStream) -> None:
    assert await cluster.await_signature("oldone", 0.0) is True
    assert signatures.query["fieldSelector"] == "metadata.name=cluster-info"


async def test_all_who_wait_for_signatures_share_one_watch(
    cluster: KubeCluster, server: ScriptedServer, signatures: WatchStream
) -> None:
    waiting = [asyncio.create_task(cluster.await_signature(name, 30.0)) for name in ("first1", "first1", "second")]
    signatures.send("MODIFIED", cluster_info("4", "first1"))
    assert await asyncio.gather(*waiting[:2]) == [True, True]
    signatures.send("MODIFIED", cluster_info("5", "first1", "second"))
    assert await waiting[2] is True
    assert len([asked for asked in server.asked if "watch" in asked.query]) == 1


async def test_a_signature_that_does_not_come_is_not_waited_for_longer_than_told(
    cluster: KubeCluster, signatures: WatchStream
) -> None:
    assert signatures.opened.is_set()
    assert await cluster.await_signature("absent", 0.01) is False


async def test_a_token_that_loses_its_signature_is_told_unless_its_secret_was_deleted_here(
    cluster: KubeCluster, server: ScriptedServer, signatures: WatchStream
) -> None:
    lost: list[str] = []
    cluster.tell_lost_tokens(lost.append)
    signatures.send("MODIFIED", cluster_info("4", "oldone", "mine01", "others"))
    await cluster.await_signature("others", 30.0)
    server.answer("DELETE", f"{SECRETS}/bootstrap-token-mine01", {"kind": "Status", "status": "Success"})
    await cluster.delete_token_secret("mine01")
    signatures.send("MODIFIED", cluster_info("5", "oldone", "last01"))
    await cluster.await_signature("last01", 30.0)
    assert lost == ["others"]
    signatures.send("DELETED", cluster_info("6", "oldone", "last01"))
    signatures.send("ADDED", cluster_info("7", "next01"))
    await cluster.await_signature("next01", 30.0)
    assert lost == ["others", "last01", "oldone"]


def a_certificate() -> tuple[str, str]:
    """A self-signed certificate (PEM) and the hash of its public key, made apart from the code under test."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "kubernetes")])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(AT).not_valid_after(AT + timedelta(days=1))
    pem = builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM).decode()
    der = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return pem, f"sha256:{hashlib.sha256(der).hexdigest()}"


async def test_every_certificate_of_the_cluster_is_hashed_and_kept_for_a_minute(
    cluster: KubeCluster, server: ScriptedServer, clock: FakeClock
) -> None:
    (first, first_hash), (second, second_hash) = a_certificate(), a_certificate()
    path = "/api/v1/namespaces/kube-system/configmaps/kube-root-ca.crt"
    server.answer("GET", path, {"data": {"ca.crt": first}})
    server.answer("GET", path, {"data": {"ca.crt": first + second}})
    seen = [await cluster.ca_hashes(), await cluster.ca_hashes()]
    clock.advance(60)
    assert [*seen, await cluster.ca_hashes()] == [(first_hash,), (first_hash,), (first_hash, second_hash)]


async def test_a_config_map_without_a_certificate_is_rejected(cluster: KubeCluster, server: ScriptedServer) -> None:
    server.answer("GET", "/api/v1/namespaces/kube-system/configmaps/kube-root-ca.crt", {"data": {"ca.crt": ""}})
    with pytest.raises(Rejected, match=r"kube-root-ca\.crt holds no certificate"):
        await cluster.ca_hashes()


async def test_the_version_is_asked_for_and_kept_for_five_minutes(
    cluster: KubeCluster, server: ScriptedServer, clock: FakeClock
) -> None:
    for version in ("v1.35.2", "v1.36.0"):
        server.answer("GET", "/version", {"major": "1", "gitVersion": version})
    seen = [await cluster.version(), await cluster.version()]
    clock.advance(300)
    assert [*seen, await cluster.version()] == ["v1.35.2", "v1.35.2", "v1.36.0"]


async def test_a_version_that_may_not_be_asked_for_is_not_known(cluster: KubeCluster, server: ScriptedServer) -> None:
    server.answer("GET", "/version", refused(403, "Forbidden"), status=403)
    assert await cluster.version() == ""


async def test_a_node_is_labelled_cordoned_and_freed_under_its_uid(
    cluster: KubeCluster, server: ScriptedServer
) -> None:
    server.answer("PATCH", NODE, {})
    await cluster.label_node("vm-0", "u1", {"a/b": "c"})
    await cluster.cordon_node("vm-0", "u1", "research/slice-a")
    await cluster.cordon_node("vm-0", "u1", None)
    mark = "tpu.google.com/cordoned-by"
    assert [asked.body for asked in server.asked] == [
        {"metadata": {"uid": "u1", "labels": {"a/b": "c"}}},
        {"metadata": {"uid": "u1", "annotations": {mark: "research/slice-a"}}, "spec": {"unschedulable": True}},
        {"metadata": {"uid": "u1", "annotations": {mark: None}}, "spec": {"unschedulable": None}},
    ]
    assert {asked.headers["Content-Type"] for asked in server.asked} == {"application/merge-patch+json"}


async def test_taints_are_replaced_under_uid_and_resource_version(cluster: KubeCluster, server: ScriptedServer) -> None:
    server.answer("PATCH", NODE, {})
    taints = [Taint("google.com/tpu", "present", "NoSchedule"), Taint("node.kubernetes.io/not-ready", "", "NoExecute")]
    await cluster.taint_node("vm-0", "u1", "7", taints)
    assert server.asked[0].body == [
        {"op": "test", "path": "/metadata/resourceVersion", "value": "7"},
        {"op": "test", "path": "/metadata/uid", "value": "u1"},
        {
            "op": "add",
            "path": "/spec/taints",
            "value": [
                {"key": "google.com/tpu", "value": "present", "effect": "NoSchedule"},
                {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"},
            ],
        },
    ]


async def test_a_node_of_another_uid_is_not_deleted(cluster: KubeCluster, server: ScriptedServer) -> None:
    server.answer("DELETE", NODE, refused(409, "Conflict", "the UID in the precondition"), 409)
    with pytest.raises(Conflict, match="delete nodes vm-0"):
        await cluster.delete_node("vm-0", "u1", "7")
    assert server.asked[0].body["preconditions"] == {"uid": "u1", "resourceVersion": "7"}


async def test_an_event_is_for_people_and_never_raises(
    cluster: KubeCluster, server: ScriptedServer, logged: list[EventDict]
) -> None:
    path = "/api/v1/namespaces/research/events"
    server.answer("POST", path, {})
    server.answer("POST", path, refused(409, "AlreadyExists"), 409)
    server.answer("POST", path, refused(403, "Forbidden"), 403)
    for _ in range(3):
        await cluster.post_event(KEY, "u1", warning=True, reason="Stockout", message="none left", at=AT)
    bodies = [asked.body for asked in server.asked]
    assert bodies[0] == bodies[1] == bodies[2]
    assert re.fullmatch(r"slice-a\.[0-9a-f]{16}", bodies[0]["metadata"]["name"])
    assert {key: bodies[0][key] for key in ("type", "reason", "message", "involvedObject", "firstTimestamp")} == {
        "type": "Warning",
        "reason": "Stockout",
        "message": "none left",
        "involvedObject": {
            "apiVersion": "tpu.google.com/v1alpha1",
            "kind": "TPUNodeGroup",
            "namespace": "research",
            "name": "slice-a",
            "uid": "u1",
        },
        "firstTimestamp": "2026-12-01T10:00:00Z",
    }
    assert [line["event"] for line in logged] == ["Kubernetes Event not posted"]


def renew(kubeconfig: str) -> None:
    """What a plug-in or an administrator does: another bearer in the same file."""
    config = Path(kubeconfig)
    config.write_text(config.read_text(encoding="utf-8").replace(BEARER, "a-fresh-bearer"), encoding="utf-8")


async def test_a_refused_login_reads_the_credentials_again(
    cluster: KubeCluster, server: ScriptedServer, kubeconfig: str
) -> None:
    server.answer("GET", SECRETS, refused(401, "Unauthorized", "Unauthorized"), 401)
    server.answer("GET", SECRETS, {"metadata": {}, "items": []})
    renew(kubeconfig)
    with pytest.raises(Retry, match="renew the operator's credentials"):
        await cluster.list_token_secrets()
    assert await cluster.list_token_secrets() == ()
    assert server.asked[-1].headers["Authorization"] == "Bearer a-fresh-bearer"


async def test_a_kubeconfig_that_is_not_there_is_rejected_with_what_to_do() -> None:
    with pytest.raises(Rejected, match=r"kubeconfig /no/such/file failed: there is no such file\. Name a kubeconfig"):
        await KubeClient.connect("/no/such/file")


async def test_a_kubeconfig_that_is_no_yaml_is_rejected_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text("no yaml: [", encoding="utf-8")
    with pytest.raises(Rejected, match=r"while parsing a flow node expected [^\n]*\. Name a kubeconfig"):
        await KubeClient.connect(str(file))


async def test_a_context_that_is_not_there_is_rejected(kubeconfig: str) -> None:
    with pytest.raises(Rejected, match="context nowhere failed"):
        await KubeClient.connect(kubeconfig, "nowhere")


async def test_calls_are_observed_with_their_outcome(server: ScriptedServer, kubeconfig: str, clock: FakeClock) -> None:
    seen: list[tuple[str, str]] = []

    def observe(method: str, code: str, seconds: float) -> None:
        assert seconds >= 0
        seen.append((method, code))

    client = await KubeClient.connect(kubeconfig, observe=observe)
    cluster = KubeCluster(client, clock)
    server.answer("GET", SECRETS, {"metadata": {}, "items": []})
    await cluster.list_token_secrets()
    await cluster.delete_node("vm-0", "u1", "7")
    await client.close()
    assert seen == [("list secrets", "200"), ("delete nodes", "404")]
