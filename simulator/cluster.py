"""The Kubernetes side of a simulator: the API over TLS, its controllers, its users and their kubeconfigs."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

import yaml

from controller.api.constants import CONTROLLER_NAMESPACE
from controller.api.crd import crd_manifests
from controller.api.shipped import shipped
from simulator.kube.authorization import Rbac
from simulator.kube.builtins import BUILTINS, CRDS, builtin_registry
from simulator.kube.certificates import server_context
from simulator.kube.controllers import Authority, ControllerSettings, start_controllers
from simulator.kube.joining import EmbeddedKubernetes
from simulator.kube.server import ServerSettings, kubernetes_app
from simulator.kube.serving import kubeconfig, serving
from simulator.kube.snapshot import ClusterView
from simulator.kube.store import Store
from simulator.options import SimulatorOptions
from simulator.seams import CallFaults, CallLog, Kubernetes, KubernetesView, Now

__all__ = ["OPERATOR", "Cluster", "embedded_cluster", "write_private"]

ADMIN = "admin"
#: The operator's account of the cluster, as deploy/rbac.yaml makes it.
OPERATOR = f"system:serviceaccount:{CONTROLLER_NAMESPACE}:tpu-node-group-controller"
#: What the kubeconfigs call their users, and the files before `.kubeconfig`.
_CALLED = {ADMIN: ADMIN, OPERATOR: "tpu-node-group-operator"}


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running cluster. The kubeconfigs are files that only this user can read."""

    kubelets: Kubernetes
    view: KubernetesView
    admin_kubeconfig: Path
    operator_kubeconfig: Path
    #: Of kubelets whose VM does not say which, as `v1.34.1`.
    version: str


@asynccontextmanager
async def embedded_cluster(
    options: SimulatorOptions, now: Now, folder: Path, calls: CallLog, faults: CallFaults
) -> AsyncIterator[Cluster]:
    """Start it with the CRDs (an option) and the operator's namespace, and stop it on leaving."""
    store = Store(builtin_registry(), now, random=Random(f"cluster {options.seed}"))
    authority = Authority.create(now())
    tokens = {user: secrets.token_urlsafe(24) for user in (ADMIN, OPERATOR)}
    app = kubernetes_app(
        store,
        users={token: user for user, token in tokens.items()},
        calls=calls,
        faults=faults,
        settings=ServerSettings(version=options.kubernetes_version),
        random=Random(f"api server {options.seed}"),
        allows=Rbac(store, superusers={ADMIN}),
    )
    async with serving(app, server_context(authority, now()), options.ports.get("kubernetes", 0)) as url:
        _prepare(store, crds=options.crds)
        controllers = start_controllers(store, authority, url, ControllerSettings(seed=options.seed))
        try:
            certificate = authority.certificate.encode()
            files = {
                user: write_private(folder / f"{name}.kubeconfig", kubeconfig(url, tokens[user], name, ca=certificate))
                for user, name in _CALLED.items()
            }
            kubelets, version = EmbeddedKubernetes(store, calls), f"v{options.kubernetes_version}.1"
            yield Cluster(kubelets, ClusterView(store), files[ADMIN], files[OPERATOR], version)
        finally:
            await controllers.stop()


def _prepare(store: Store, *, crds: bool) -> None:
    """What `kubectl apply -k deploy/` would have made, but for the Pod: a demo needs no installation of its own."""
    store.create("namespaces", {"metadata": {"name": CONTROLLER_NAMESPACE}})
    for manifest in yaml.safe_load_all(shipped("deploy/rbac.yaml")):
        group, _, version = manifest["apiVersion"].rpartition("/")
        kind = next(item for item in BUILTINS if (item.group, item.kind) == (group, manifest["kind"]))
        assert kind.version == version
        store.create(kind.id, manifest)
    for manifest in crd_manifests() if crds else ():
        store.create(CRDS, manifest)


def write_private(path: Path, content: object) -> Path:
    """A file as YAML that only this user can read."""
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return path
