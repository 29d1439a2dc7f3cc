"""Starts a real control plane, waits until nodes could join it, and ends it without leaving a process.

Certificates and the rules for joiners are kubeadm's; bootstrap tokens authenticate, Node and RBAC authorize,
NodeRestriction admits, and the controller manager signs cluster-info, approves and signs certificates, and cleans
tokens.
"""

import asyncio
import secrets
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import aiohttp
import yaml

from simulator import children
from simulator.children import Child, ChildError
from simulator.controlplane import kubeadm, programs
from simulator.controlplane.binaries import binary, refuse_other_minor
from simulator.controlplane.client import Client, RefusedError, client
from simulator.controlplane.objects import apply, list_custom_resources
from simulator.controlplane.place import Place, reserved_ports
from simulator.kube.serving import kubeconfig
from simulator.seams import Json

ADMIN: Final = "admin"
_PATIENCE: Final = 120.0
_POLL: Final = 0.05
_CLUSTER_INFO: Final = "/api/v1/namespaces/kube-public/configmaps/cluster-info"
_AUTHORITY: Final = "/api/v1/namespaces/kube-system/configmaps/kube-root-ca.crt"
_TOKENS: Final = "/api/v1/namespaces/kube-system/secrets"


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlPlaneSettings:
    """What can differ."""

    #: Where the API server listens; an address of a bridge makes it reachable from network namespaces.
    address: str = "127.0.0.1"
    #: More names and addresses that its certificate is for.
    names: tuple[str, ...] = ()
    #: What cluster-info tells joiners (host:port), where that is not the address.
    endpoint: str = ""
    #: Without it, pods stay pending.
    scheduler: bool = False
    #: Applied before the controllers start: they find new kinds every half a minute only.
    manifests: Sequence[Json] = ()


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """A running one. `kubeconfig` is the admin's, of system:masters; `authority` the certificate as PEM."""

    place: Place
    kubeconfig: Path
    authority: str
    client: Client
    #: Kills the API server and starts it again, at the same address; returns when it is ready. Its watches break, and
    #: what they could have been resumed from is forgotten.
    restart_api_server: Callable[[], Awaitable[None]]

    @property
    def url(self) -> str:
        """The API server's."""
        return self.place.url


@asynccontextmanager
async def control_plane(
    folder: Path, settings: ControlPlaneSettings = ControlPlaneSettings()
) -> AsyncIterator[ControlPlane]:
    """Start one in an empty folder that is its own, about nine seconds; end it on leaving.

    Raises ChildError when a program fails or is not ready in time, MissingBinaryError when it was not built.
    """
    async with AsyncExitStack() as stack:
        ports = stack.enter_context(reserved_ports(settings.address, "127.0.0.1", "127.0.0.1"))
        place = Place(
            folder=folder,
            address=settings.address,
            port=ports[0],
            etcd_port=ports[1],
            etcd_peer_port=ports[2],
            names=settings.names,
            endpoint=settings.endpoint,
        )
        yield await _Start(stack, place, settings).all()


class _Start:
    """The steps of a start, in their order; the stack kills in the opposite one."""

    def __init__(self, stack: AsyncExitStack, place: Place, settings: ControlPlaneSettings) -> None:
        self._stack = stack
        self._place = place
        self._settings = settings
        self._children: dict[str, Child] = {}
        self._admin_token = secrets.token_urlsafe(24)
        self._first_token = f"{secrets.token_hex(3)}.{secrets.token_hex(8)}"

    async def all(self) -> ControlPlane:
        place = self._place
        _write(place.kubeadm_file, kubeadm.configuration(place, self._first_token))
        _write(place.tokens_file, f'{self._admin_token},{ADMIN},{ADMIN},"system:masters"\n')
        await kubeadm.make_certificates(place)
        await self._launch(programs.etcd(place))
        await self._launch(programs.kube_apiserver(place))
        authority = (place.certificates / "ca.crt").read_text(encoding="utf-8")
        admin = await self._stack.enter_async_context(
            client(place.url, ssl.create_default_context(cadata=authority), self._admin_token)
        )
        await self._until("the API server", lambda: admin.text("/readyz"))
        refuse_other_minor((await admin.call("GET", "/version"))["gitVersion"])
        for manifest in self._settings.manifests:
            await apply(admin, manifest)
        await self._launch(programs.kube_controller_manager(place))
        if self._settings.scheduler:
            await self._launch(programs.kube_scheduler(place))
        await kubeadm.let_nodes_join(place)
        await self._tell_joiners(admin)
        await self._until_controllers_work(admin)
        config = place.folder / f"{ADMIN}.kubeconfig"
        content = kubeconfig(place.url, self._admin_token, ADMIN, ca=authority.encode())
        _write(config, yaml.safe_dump(content, sort_keys=False))

        async def restart() -> None:
            await self._children["kube-apiserver"].kill()
            await self._launch(programs.kube_apiserver(place))
            await self._until("the API server", lambda: admin.text("/readyz"))
            await self._until("the custom resources", lambda: list_custom_resources(admin))

        return ControlPlane(place, config, authority, admin, restart)

    async def _launch(self, command: Sequence[str]) -> None:
        name, *arguments = command
        child = await children.start((binary(name), *arguments), self._place.log(name))
        self._stack.push_async_callback(child.kill)
        self._children[name] = child

    async def _tell_joiners(self, admin: Client) -> None:
        """Where the control plane is: kubeadm writes the address at which it found it itself."""
        told = f"https://{self._place.endpoint}"
        if told != self._place.url:
            kubeconfig = (await admin.call("GET", _CLUSTER_INFO))["data"]["kubeconfig"]
            changed = {"data": {"kubeconfig": kubeconfig.replace(self._place.url, told)}}
            await admin.call("PATCH", _CLUSTER_INFO, changed, "application/merge-patch+json")

    async def _until_controllers_work(self, admin: Client) -> None:
        """Until the first token was signed, and the authority is published; then the token goes."""
        token_id = self._first_token.partition(".")[0]
        await self._until("a signed cluster-info", lambda: _signed(admin, token_id))
        await self._until("the authority's ConfigMap", lambda: admin.call("GET", _AUTHORITY))
        await admin.call("DELETE", f"{_TOKENS}/bootstrap-token-{token_id}")
        await self._until("an unsigned cluster-info", lambda: _unsigned(admin, token_id))

    async def _until(self, what: str, look: Callable[[], Awaitable[object]]) -> None:
        """As `until`; raises ChildError too when a program ends meanwhile."""

        async def look_while_all_run() -> None:
            for child in self._children.values():
                child.check()
            await look()

        await until(what, look_while_all_run)


async def until(what: str, look: Callable[[], Awaitable[object]]) -> None:
    """Until `look` is neither refused nor without a connection. Raises ChildError when the patience ends."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _PATIENCE
    while True:
        try:
            await look()
        except (RefusedError, aiohttp.ClientError, OSError) as error:
            if loop.time() > deadline:
                raise ChildError(f"{what} did not come in {_PATIENCE:g} s: {error}") from error
        else:
            return
        await asyncio.sleep(_POLL)


async def _signed(admin: Client, token_id: str) -> None:
    data = (await admin.call("GET", _CLUSTER_INFO)).get("data") or {}
    if f"jws-kubeconfig-{token_id}" not in data:
        raise RefusedError(404, "cluster-info is not signed")


async def _unsigned(admin: Client, token_id: str) -> None:
    data = (await admin.call("GET", _CLUSTER_INFO)).get("data") or {}
    if f"jws-kubeconfig-{token_id}" in data:
        raise RefusedError(409, "cluster-info is still signed")


def _write(path: Path, text: str) -> None:
    path.touch(mode=0o600)
    path.write_text(text, encoding="utf-8")
