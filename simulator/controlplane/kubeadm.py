"""What `kubeadm init` would do on a control plane's host, by its own phases: certificates, kubeconfigs, join rules."""

import asyncio
from pathlib import Path
from typing import Any, Final

import yaml

from simulator import children
from simulator.controlplane.binaries import KUBERNETES, binary
from simulator.controlplane.place import Place

#: kubeadm refuses a loopback address to advertise (facts: control plane 2). This one is for documentation (RFC 5737).
ADVERTISED: Final = "192.0.2.1"
SERVICES: Final = "10.96.0.0/12"
#: Whom kubeadm writes a kubeconfig for. super-admin is of system:masters.
_USERS: Final = ("super-admin", "controller-manager", "scheduler")


def configuration(place: Place, first_token: str) -> str:
    """The documents that every phase reads. `first_token` is made by the phase bootstrap-token."""
    documents: list[dict[str, Any]] = [
        {
            "apiVersion": "kubeadm.k8s.io/v1beta4",
            "kind": "InitConfiguration",
            "bootstrapTokens": [{"token": first_token, "ttl": "1h0m0s"}],
            "localAPIEndpoint": {"advertiseAddress": ADVERTISED, "bindPort": place.port},
            # Named here, or kubeadm looks for a container runtime and for the host's name.
            "nodeRegistration": {"name": "control-plane", "criSocket": "unix:///run/containerd/containerd.sock"},
        },
        {
            "apiVersion": "kubeadm.k8s.io/v1beta4",
            "kind": "ClusterConfiguration",
            "kubernetesVersion": f"v{KUBERNETES}",
            "certificatesDir": str(place.certificates),
            "controlPlaneEndpoint": place.endpoint,
            "apiServer": {"certSANs": ["127.0.0.1", "::1", "localhost", place.address, *place.names]},
            "networking": {"serviceSubnet": SERVICES},
        },
        # For kubelets of tests in containers: old control groups, none of their own (facts: control plane 3).
        {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            # Where a joiner has it; the default follows certificatesDir, which no joiner has.
            "authentication": {"x509": {"clientCAFile": "/etc/kubernetes/pki/ca.crt"}},
            "cgroupDriver": "cgroupfs",
            "cgroupsPerQOS": False,
            "enforceNodeAllocatable": ["none"],
            "failCgroupV1": False,
            "failSwapOn": False,
        },
    ]
    return yaml.safe_dump_all(documents, sort_keys=False)


async def make_certificates(place: Place) -> None:
    """The authority, everybody's certificates, and the kubeconfigs of the control plane's own components."""
    await _phase(place, "certs", "all")
    await asyncio.gather(*(_phase(place, "kubeconfig", user, "--kubeconfig-dir", str(place.folder)) for user in _USERS))
    for user in _USERS:
        path = place.kubeconfig_of(user)
        # Components are told the advertised address; nothing is there.
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
        config["clusters"][0]["cluster"]["server"] = place.url
        path.write_text(yaml.safe_dump(config), encoding="utf-8")


async def let_nodes_join(place: Place) -> None:
    """The ConfigMaps that `kubeadm join` reads, cluster-info, and the rules for joiners. Needs the API server."""
    kubeconfig = ("--kubeconfig", str(place.kubeconfig_of("super-admin")))
    await _phase(place, "upload-config", "all", *kubeconfig)
    await _phase(place, "bootstrap-token", "--skip-token-print", *kubeconfig)


async def _phase(place: Place, *arguments: str) -> None:
    command: tuple[str | Path, ...] = (binary("kubeadm"), "init", "phase", *arguments, "--config", place.kubeadm_file)
    await children.run(command, place.log("kubeadm"))
