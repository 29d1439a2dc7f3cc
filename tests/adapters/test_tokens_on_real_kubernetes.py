"""Join tokens on a real control plane: what makes one, what ends one, and what a dead or false one cannot do."""

import asyncio
import base64
import secrets
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from pydantic import SecretStr

from controller.adapters.clock import SystemClock
from controller.adapters.kube import KubeCluster
from controller.adapters.kube_client import KubeClient
from controller.core.observed import TokenView
from simulator.controlplane.binaries import binary
from simulator.controlplane.credentials import bootstrap
from simulator.seams import JoinRefusedError, JoinRequest
from tests.planes import RealPlane
from tests.scenarios.cluster import Cluster, connect

pytestmark = pytest.mark.controlplane

HOUR = timedelta(hours=1)


@pytest.fixture
async def cluster(real_plane: RealPlane) -> AsyncIterator[KubeCluster]:
    """The operator's adapter, as an administrator."""
    client = await KubeClient.connect(str(real_plane.kubeconfig))
    opened = KubeCluster(client, SystemClock())
    await opened.open()
    yield opened
    await opened.close()
    await client.close()
    # The cancelled watch takes leave of the API server over TLS; this loop would not outlive that.
    await asyncio.sleep(0.1)


@pytest.fixture
async def user(real_plane: RealPlane) -> AsyncIterator[Cluster]:
    async with connect(real_plane.kubeconfig) as connected:
        yield connected


def make_token(life: timedelta = HOUR, *, clock_is_off_by: timedelta = timedelta()) -> tuple[TokenView, SecretStr]:
    """A token as the operator's vault makes one."""
    now = SystemClock().now() + clock_is_off_by
    view = TokenView(
        id=secrets.token_hex(3),
        namespace="research",
        group="slice",
        instance=f"vm-{secrets.token_hex(4)}",
        instance_id="42",
        expires=(now + life).replace(microsecond=0),
        created=now,
    )
    return view, SecretStr(secrets.token_hex(8))


async def live_token(cluster: KubeCluster, life: timedelta = HOUR, **clock: timedelta) -> tuple[TokenView, str]:
    """A token whose Secret is there and signed, with its value."""
    view, secret = make_token(life, **clock)
    await cluster.create_token_secret(view, secret)
    assert await cluster.await_signature(view.id, 10)
    return view, f"{view.id}.{secret.get_secret_value()}"


async def request_with(plane: RealPlane, cluster: KubeCluster, view: TokenView, token: str) -> JoinRequest:
    """What the VM of a token joins with."""
    return JoinRequest(
        node_name=view.instance,
        token=token,
        ca_hashes=await cluster.ca_hashes(),
        provider_id=f"gce://my-gcp-project/us-central1-c/{view.instance}",
        labels={},
        taints=(),
        kubelet_version="v1.36.3",
        endpoint=plane.url.removeprefix("https://"),
    )


async def test_the_secret_is_as_kubeadm_makes_it(real_plane: RealPlane, cluster: KubeCluster, user: Cluster) -> None:
    view, value = await live_token(cluster)
    other = f"{secrets.token_hex(3)}.{secrets.token_hex(8)}"
    process = await asyncio.create_subprocess_exec(
        *(binary("kubeadm"), "token", "create", other, "--ttl", "1h", "--kubeconfig", str(real_plane.kubeconfig)),
        stdout=asyncio.subprocess.DEVNULL,
    )
    assert await process.wait() == 0
    ours = await user.get("Secret", "kube-system", f"bootstrap-token-{view.id}")
    kubeadms = await user.get("Secret", "kube-system", f"bootstrap-token-{other.partition('.')[0]}")
    await user.delete("Secret", "kube-system", f"bootstrap-token-{view.id}")
    await user.delete("Secret", "kube-system", f"bootstrap-token-{other.partition('.')[0]}")
    assert _shape(ours, value) == _shape(kubeadms, other)


def _shape(secret: dict[str, Any] | None, token: str) -> dict[str, Any]:
    """Type and data, with what differs between two tokens named instead. Ours says more of itself (description)."""
    assert secret is not None
    data = {key: base64.b64decode(value).decode() for key, value in secret["data"].items()}
    data.pop("description", None)
    public, _, private = token.partition(".")
    assert (data.pop("token-id"), data.pop("token-secret")) == (public, private)
    expires = data.pop("expiration")
    assert len(expires) == len("2026-12-01T10:00:00Z")
    return {"type": secret["type"], "data": data}


async def test_a_live_token_makes_a_node_with_its_certificate(real_plane: RealPlane, cluster: KubeCluster) -> None:
    view, token = await live_token(cluster)
    assert await bootstrap(await request_with(real_plane, cluster, view, token))
    await cluster.delete_token_secret(view.id)


@pytest.mark.parametrize("minutes", [-7, 7])
async def test_an_operators_clock_that_is_off_by_minutes_does_no_harm(
    cluster: KubeCluster, user: Cluster, minutes: int
) -> None:
    view, token = await live_token(cluster, clock_is_off_by=timedelta(minutes=minutes))
    assert await user.status_with(token) != 401
    await cluster.delete_token_secret(view.id)


async def test_a_revoked_token_is_nobodys(real_plane: RealPlane, cluster: KubeCluster, user: Cluster) -> None:
    view, token = await live_token(cluster)
    await cluster.delete_token_secret(view.id)
    await _until_refused(user, token)
    await _makes_no_node(user, await request_with(real_plane, cluster, view, token))


async def test_a_wrong_token_makes_no_node(real_plane: RealPlane, cluster: KubeCluster, user: Cluster) -> None:
    view, token = await live_token(cluster)
    wrong = f"{view.id}.{'0' * 16}"
    assert await user.status_with(wrong) == 401
    await _makes_no_node(user, await request_with(real_plane, cluster, view, wrong))
    request = await request_with(real_plane, cluster, view, token)
    await _makes_no_node(user, replace(request, ca_hashes=("sha256:" + "0" * 64,)))
    await cluster.delete_token_secret(view.id)


async def test_an_expired_token_makes_no_node_and_its_cleaning_may_race(
    real_plane: RealPlane, cluster: KubeCluster, user: Cluster
) -> None:
    view, token = await live_token(cluster, timedelta(seconds=3))
    await _until_refused(user, token)
    await _makes_no_node(user, await request_with(real_plane, cluster, view, token))
    # The tokencleaner deletes it at the same time: whoever comes second finds nothing to do.
    await cluster.delete_token_secret(view.id)
    assert await user.get("Secret", "kube-system", f"bootstrap-token-{view.id}") is None


async def _until_refused(user: Cluster, token: str) -> None:
    """Until the API server answers 401. What it has let in it keeps for 10 s, and nobody has come with this one yet."""
    async with asyncio.timeout(30):
        while await user.status_with(token) != 401:  # noqa: ASYNC110 - the API server's clock
            await asyncio.sleep(0.1)


async def _makes_no_node(user: Cluster, request: JoinRequest) -> None:
    with pytest.raises(JoinRefusedError):
        await bootstrap(request)
    assert await user.get("Node", "", request.node_name) is None
