"""The TLS bootstrap of a simulated kubelet on a real API server: who is refused, and what a Node is once it is in."""

import base64
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from secrets import token_hex

import pytest

from controller.api.constants import LABEL_INSTANCE_ID
from simulator.clock import utc_now
from simulator.controlplane.client import Client, RefusedError
from simulator.controlplane.control_plane import until
from simulator.controlplane.kubeconfigs import Access, connected, read
from simulator.controlplane.kubelets import RealKubelets
from simulator.kube.controllers.authority import spki_hash
from simulator.seams import JoinRefusedError, JoinRequest, Json
from tests.planes import RealPlane

pytestmark = pytest.mark.controlplane

SECRETS = "/api/v1/namespaces/kube-system/secrets"
CLUSTER_INFO = "/api/v1/namespaces/kube-public/configmaps/cluster-info"


@pytest.fixture
def access(real_plane: RealPlane) -> Access:
    return read(real_plane.kubeconfig)


@pytest.fixture
async def admin(access: Access) -> AsyncIterator[Client]:
    async with connected(access) as opened:
        yield opened


@pytest.fixture
async def kubelets(admin: Client, access: Access) -> AsyncIterator[RealKubelets]:
    made = RealKubelets(admin, access.url, access.authority, utc_now)
    yield made
    await made.close()


@pytest.fixture
async def name(admin: Client) -> AsyncIterator[str]:
    """Of a Node, which is gone after the test."""
    made = f"vm-{token_hex(4)}"
    yield made
    if await admin.find(f"/api/v1/nodes/{made}") is not None:
        await admin.call("DELETE", f"/api/v1/nodes/{made}")


def request_of(name: str, access: Access, token: str, instance_id: str = "11") -> JoinRequest:
    return JoinRequest(
        node_name=name,
        token=token,
        ca_hashes=(spki_hash(access.authority),),
        provider_id=f"gce://p/z/{name}",
        labels={LABEL_INSTANCE_ID: instance_id},
        taints=(("google.com/tpu", "present", "NoSchedule"),),
        kubelet_version="v1.36.0",
        endpoint=access.url.removeprefix("https://"),
    )


async def make_token(admin: Client, *usages: str, expires: datetime | None = None) -> str:
    """A token as kubeadm makes it; returns once it is signed, if it signs."""
    token_id, secret = token_hex(3), token_hex(8)
    until_when = expires or datetime.now(UTC) + timedelta(hours=1)  # noqa: TID251 - the API server's clock is the wall's
    data = {
        "token-id": token_id,
        "token-secret": secret,
        "expiration": until_when.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
        **{f"usage-bootstrap-{usage}": "true" for usage in usages},
    }
    body = {
        "metadata": {"name": f"bootstrap-token-{token_id}"},
        "type": "bootstrap.kubernetes.io/token",
        "data": {key: base64.b64encode(value.encode()).decode() for key, value in data.items()},
    }
    await admin.call("POST", SECRETS, body)

    async def signed() -> None:
        if f"jws-kubeconfig-{token_id}" not in (await admin.call("GET", CLUSTER_INFO))["data"]:
            raise RefusedError(404, "not signed yet")

    if "signing" in usages:
        await until("a signature", signed)
    return f"{token_id}.{secret}"


async def revoke(admin: Client, token: str) -> None:
    await admin.call("DELETE", f"{SECRETS}/bootstrap-token-{token.partition('.')[0]}")


async def refusal(kubelets: RealKubelets, request: JoinRequest) -> str:
    with pytest.raises(JoinRefusedError) as caught:
        await kubelets.join(request)
    assert request.token.partition(".")[2] not in str(caught.value)
    return str(caught.value)


async def test_a_token_gives_a_node_all_that_it_was_asked_for_from_its_first_version(
    kubelets: RealKubelets, admin: Client, access: Access, name: str
) -> None:
    token = await make_token(admin, "authentication", "signing")
    await kubelets.join(request_of(name, access, token))
    node = await admin.call("GET", f"/api/v1/nodes/{name}")
    assert node["spec"]["providerID"] == f"gce://p/z/{name}"
    assert {"key": "google.com/tpu", "value": "present", "effect": "NoSchedule"} in node["spec"]["taints"]
    assert node["metadata"]["labels"][LABEL_INSTANCE_ID] == "11"
    lease = await admin.call("GET", f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{name}")
    assert lease["spec"]["holderIdentity"] == name
    await kubelets.post_status(name, ready=True, allocatable={"google.com/tpu": "4"}, at=utc_now())
    status = (await admin.call("GET", f"/api/v1/nodes/{name}"))["status"]
    assert status["allocatable"]["google.com/tpu"] == "4"
    said = await refusal(kubelets, request_of(name, access, token))
    assert said.startswith(f'a Node with name "{name}" and status "Ready" already exists in the cluster.')
    await revoke(admin, token)


async def test_no_wrong_token_makes_a_node(kubelets: RealKubelets, admin: Client, access: Access, name: str) -> None:
    good = await make_token(admin, "authentication", "signing")
    signing = await make_token(admin, "signing")
    authenticating = await make_token(admin, "authentication")
    token_id = good.partition(".")[0]
    request = request_of(name, access, good)
    assert "failed to verify JWS signature" in await refusal(kubelets, replace(request, token=f"{token_id}.{'0' * 16}"))
    assert "could not find a JWS signature" in await refusal(kubelets, replace(request, token=authenticating))
    assert "Unauthorized" in await refusal(kubelets, replace(request, token=signing))
    assert "are pinned" in await refusal(kubelets, replace(request, ca_hashes=("sha256:" + "0" * 64,)))
    assert "cannot be reached" in await refusal(kubelets, replace(request, endpoint="127.0.0.1:1"))
    await revoke(admin, good)
    assert "could not find a JWS signature" in await _once_unsigned(kubelets, admin, request)
    assert await admin.find(f"/api/v1/nodes/{name}") is None
    for token in (signing, authenticating):
        await revoke(admin, token)


async def _once_unsigned(kubelets: RealKubelets, admin: Client, request: JoinRequest) -> str:
    """The refusal once the signature of a revoked token is gone."""

    async def unsigned() -> None:
        if f"jws-kubeconfig-{request.token[:6]}" in (await admin.call("GET", CLUSTER_INFO))["data"]:
            raise RefusedError(409, "still signed")

    await until("no signature", unsigned)
    return await refusal(kubelets, request)


async def test_an_expired_token_is_cleaned_away_and_makes_no_node(
    kubelets: RealKubelets, admin: Client, access: Access, name: str
) -> None:
    past = datetime.now(UTC) - timedelta(seconds=1)  # noqa: TID251 - the API server's clock is the wall's
    token = await make_token(admin, "authentication", expires=past)

    async def cleaned() -> None:
        if await admin.find(f"{SECRETS}/bootstrap-token-{token[:6]}") is not None:
            raise RefusedError(409, "still there")

    await until("the token cleaner", cleaned)
    assert "could not find a JWS signature" in await refusal(kubelets, request_of(name, access, token))
    assert await admin.find(f"/api/v1/nodes/{name}") is None


async def test_a_kubelet_adopts_the_node_of_its_name_and_a_deleted_one_stays_deleted(
    kubelets: RealKubelets, admin: Client, access: Access, name: str
) -> None:
    path = f"/api/v1/nodes/{name}"
    await kubelets.register(request_of(name, access, "", "11"))
    await kubelets.post_status(name, ready=True, allocatable={"google.com/tpu": "4"}, at=utc_now())
    first = await admin.call("GET", path)
    await kubelets.register(request_of(name, access, "", "12"))
    adopted = await admin.call("GET", path)
    assert adopted["metadata"]["uid"] == first["metadata"]["uid"]
    assert adopted["metadata"]["labels"] == first["metadata"]["labels"]
    assert adopted["status"]["allocatable"]["google.com/tpu"] == "0"
    await admin.call("DELETE", path, {"preconditions": {"uid": first["metadata"]["uid"]}})
    await kubelets.post_status(name, ready=True, allocatable={}, at=utc_now())
    await kubelets.renew_lease(name, utc_now())
    assert await admin.find(path) is None
    await kubelets.register(request_of(name, access, "", "12"))
    anew: Json = await admin.call("GET", path)
    assert anew["metadata"]["labels"][LABEL_INSTANCE_ID] == "12"
