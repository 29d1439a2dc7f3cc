"""The Kubernetes API as the demo's user has it: apply, delete, watch, over the kubeconfig that the simulator wrote."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from kubernetes.aio import client, config, watch

from controller.api.base import Json
from controller.api.constants import GROUP, LABEL_TOKEN_INSTANCE_ID, VERSION
from controller.demo.options import GROUP_NAME, NAMESPACE, ControlPlane
from controller.demo.witness import Witness

_PLURAL: Final = "tpunodegroups"
#: Neither has annotations.
_LOADER: Final[Any] = config
_WATCH: Final[Any] = watch


class Cluster:
    """One user's connection."""

    def __init__(self, api: client.ApiClient) -> None:
        self._api = api
        self._core = client.CoreV1Api(api)
        self._custom = client.CustomObjectsApi(api)
        self._leases = client.CoordinationV1Api(api)

    async def apply(self, manifest: Json) -> None:
        """Create the group."""
        await self._custom.create_namespaced_custom_object(GROUP, VERSION, NAMESPACE, _PLURAL, manifest)

    async def delete(self) -> None:
        """Delete the group, in the background."""
        await self._custom.delete_namespaced_custom_object(GROUP, VERSION, NAMESPACE, _PLURAL, GROUP_NAME)

    async def control_plane(self) -> ControlPlane:
        """Where it is, as VMs are told."""
        version = await client.VersionApi(self._api).get_code()
        server = urlsplit(self._api.configuration.host)
        assert server.hostname is not None
        assert server.port is not None
        return ControlPlane(f"{version.major}.{version.minor}", server.hostname, server.port)

    async def leader(self, namespace: str) -> str:
        """Who holds a Lease in the operator's namespace; "" when nobody does."""
        leases = await self._leases.list_namespaced_lease(namespace)
        holders = (lease.spec.holder_identity for lease in leases.items if lease.spec)
        return next((holder for holder in holders if holder), "")

    async def watch_group(self, witness: Witness) -> None:
        """Show the witness every change of the group, until cancelled."""
        listing = self._custom.list_namespaced_custom_object
        only = f"metadata.name={GROUP_NAME}"
        await _follow(witness.see_group, listing, GROUP, VERSION, NAMESPACE, _PLURAL, field_selector=only)

    async def watch_nodes(self, witness: Witness) -> None:
        """Show the witness every change of a Node, until cancelled."""
        await _follow(witness.see_node, self._core.list_node)

    async def watch_tokens(self, witness: Witness) -> None:
        """Show the witness every change of a token Secret of the operator, until cancelled."""
        listing = self._core.list_namespaced_secret
        await _follow(witness.see_secret, listing, "kube-system", label_selector=LABEL_TOKEN_INSTANCE_ID)


async def _follow(see: Callable[[str, Json], None], listing: Any, *where: str, **arguments: Any) -> None:
    """What is there, then every change; again from the start when the server ends the watch for good."""
    while True:
        # As plain objects: a model of every Node in every event costs the machine more than the operator does.
        async with _WATCH.Watch(return_type="object").stream(listing, *where, **arguments) as events:
            async for event in events:
                see(event["type"], event["raw_object"])


def said(error: client.ApiException) -> str:
    """What the API server answered, for people."""
    try:
        return str(json.loads(error.body or "")["message"])
    except (TypeError, ValueError, KeyError):
        return f"{error.status} {error.reason}"


@asynccontextmanager
async def connect(kubeconfig: Path) -> AsyncIterator[Cluster]:
    """A connection by this kubeconfig's current context."""
    settings = client.Configuration()
    await _LOADER.load_kube_config(config_file=str(kubeconfig), client_configuration=settings)
    async with client.ApiClient(settings) as api:
        yield Cluster(api)
