"""A store with its controllers running, for tests that wait for what they do."""

import asyncio
import base64
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from simulator.kube.builtins import builtin_registry, create_default_namespaces
from simulator.kube.controllers import Authority, Controllers, ControllerSettings, start_controllers
from simulator.kube.resources import Resource
from simulator.kube.store import Store

Json = dict[str, Any]
START = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
AUTHORITY = Authority.create(START)
TOKEN = "abcdef.0123456789abcdef"
#: A custom resource, to be owned and to own.
WIDGETS = "widgets.example.com"
_WIDGET = Resource(
    group="example.com", version="v1", plural="widgets", kind="Widget", namespaced=True, subresources=("status",)
)


class Cluster:
    """The store, its clock, and its controllers."""

    def __init__(self, grace: timedelta = timedelta(seconds=50)) -> None:
        self.time = START
        registry = builtin_registry()
        registry.add(_WIDGET)
        self.store = Store(registry, lambda: self.time)
        create_default_namespaces(self.store)
        self._settings = ControllerSettings(node_grace=grace)
        self._controllers: Controllers | None = None
        self._changed = asyncio.Event()
        self.store.subscribe(lambda _change: self._changed.set())

    def start(self) -> None:
        """Start the controllers."""
        self._controllers = start_controllers(self.store, AUTHORITY, "https://127.0.0.1:6443", self._settings)

    async def stop(self) -> None:
        """Stop the controllers."""
        if self._controllers is not None:
            await self._controllers.stop()
            self._controllers = None

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until it holds of the store."""
        while not holds():
            self._changed.clear()
            await self._changed.wait()

    async def settled(self) -> None:
        """Wait until nothing changed for a while: for what must *not* happen."""
        while True:
            self._changed.clear()
            try:
                async with asyncio.timeout(0.05):
                    await self._changed.wait()
            except TimeoutError:
                return

    def widget(self, name: str, *owners: Json, namespace: str = "default", finalizers: tuple[str, ...] = ()) -> Json:
        """Create a widget."""
        metadata: Json = {"name": name, "namespace": namespace}
        if owners:
            metadata["ownerReferences"] = list(owners)
        if finalizers:
            metadata["finalizers"] = list(finalizers)
        return self.store.create(WIDGETS, {"metadata": metadata})

    def names(self, namespace: str = "default") -> list[str]:
        """The widgets that are there."""
        return [body["metadata"]["name"] for body in self.store.list(WIDGETS, namespace)]

    def token(self, text: str = TOKEN, *, lives: float = 3600, **data: str) -> Json:
        """Create a bootstrap Secret as kubeadm does; `data` overrides its fields (underscores for dashes)."""
        token_id, _, secret = text.partition(".")
        fields = {
            "token-id": token_id,
            "token-secret": secret,
            "expiration": (self.time + timedelta(seconds=lives)).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "usage-bootstrap-authentication": "true",
            "usage-bootstrap-signing": "true",
        } | {key.replace("_", "-"): value for key, value in data.items()}
        return self.store.create(
            "secrets",
            {
                "metadata": {"name": f"bootstrap-token-{token_id}", "namespace": "kube-system"},
                "type": "bootstrap.kubernetes.io/token",
                "data": {key: base64.b64encode(value.encode()).decode() for key, value in fields.items()},
            },
        )

    def signatures(self) -> dict[str, str]:
        """The signatures in cluster-info by key."""
        data = self.store.get("configmaps", "kube-public", "cluster-info")["data"]
        return {key: value for key, value in data.items() if key.startswith("jws-")}

    async def signed(self, token_id: str = TOKEN[:6]) -> None:
        """Wait for a token's signature."""
        await self.until(lambda: f"jws-kubeconfig-{token_id}" in self.signatures())


def owner(body: Json, *, block: bool = False) -> Json:
    """An ownerReference to this object."""
    reference: Json = {
        "apiVersion": body["apiVersion"],
        "kind": body["kind"],
        "name": body["metadata"]["name"],
        "uid": body["metadata"]["uid"],
    }
    return reference | {"blockOwnerDeletion": True} if block else reference
