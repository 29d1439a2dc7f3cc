"""Starts and stops the controllers of one simulated cluster."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Protocol

from simulator.kube.controllers.authority import Authority
from simulator.kube.controllers.bootstrap import BootstrapSigner, TokenCleaner
from simulator.kube.controllers.garbage import GarbageCollector
from simulator.kube.controllers.namespaces import NamespaceLifecycle
from simulator.kube.controllers.nodes import NodeLifecycle
from simulator.kube.controllers.roots import RootPublisher, publish_cluster_info
from simulator.kube.store import Store


@dataclass(frozen=True, slots=True)
class ControllerSettings:
    """What differs between clusters and Kubernetes versions."""

    #: How long a Node may be silent before it is Unknown (40 s before 1.32).
    node_grace: timedelta = timedelta(seconds=50)
    #: Of what is drawn.
    seed: int = 0


class _Controller(Protocol):
    def stop(self) -> None: ...


class Controllers:
    """The running controllers."""

    def __init__(self, controllers: Sequence[_Controller]) -> None:
        self._controllers = controllers

    async def stop(self) -> None:
        """Stop them all; nothing of theirs happens afterwards."""
        for controller in self._controllers:
            controller.stop()
        await asyncio.sleep(0)


def start_controllers(
    store: Store, authority: Authority, server: str, settings: ControllerSettings = ControllerSettings()
) -> Controllers:
    """Start all controllers on a store that has the default namespaces. Needs a running event loop.

    `server`: the URL that cluster-info tells joiners.
    """
    publish_cluster_info(store, authority, server)
    return Controllers(
        (
            RootPublisher(store, authority),
            BootstrapSigner(store, Random(settings.seed)),
            TokenCleaner(store),
            GarbageCollector(store),
            NamespaceLifecycle(store),
            NodeLifecycle(store, settings.node_grace),
        )
    )
