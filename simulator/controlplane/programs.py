"""The command lines of a control plane's programs. Pure."""

from typing import Final

from simulator.controlplane.kubeadm import ADVERTISED, SERVICES
from simulator.controlplane.place import Place

#: No HTTPS of their own: nobody asks them anything.
_SILENT: Final = ("--secure-port=0", "--leader-elect=false")


def etcd(place: Place) -> tuple[str, ...]:
    """One member, which trusts the machine not to crash."""
    return (
        "etcd",
        f"--data-dir={place.folder / 'etcd'}",
        f"--listen-client-urls={place.etcd_url}",
        f"--advertise-client-urls={place.etcd_url}",
        f"--listen-peer-urls={place.etcd_peer_url}",
        f"--initial-advertise-peer-urls={place.etcd_peer_url}",
        f"--initial-cluster=default={place.etcd_peer_url}",
        "--socket-reuse-port",
        "--unsafe-no-fsync",
        "--log-level=warn",
    )


def kube_apiserver(place: Place) -> tuple[str, ...]:
    """As kubeadm starts it, on a port that is shared with its reservation, with static tokens beside certificates."""
    pki = place.certificates
    return (
        "kube-apiserver",
        f"--etcd-servers={place.etcd_url}",
        f"--bind-address={place.address}",
        f"--secure-port={place.port}",
        "--permit-port-sharing",
        f"--advertise-address={ADVERTISED}",
        # The Service kubernetes has no endpoints: nothing here has a network of pods.
        "--endpoint-reconciler-type=none",
        f"--tls-cert-file={pki / 'apiserver.crt'}",
        f"--tls-private-key-file={pki / 'apiserver.key'}",
        f"--client-ca-file={pki / 'ca.crt'}",
        f"--kubelet-client-certificate={pki / 'apiserver-kubelet-client.crt'}",
        f"--kubelet-client-key={pki / 'apiserver-kubelet-client.key'}",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        f"--service-account-key-file={pki / 'sa.pub'}",
        f"--service-account-signing-key-file={pki / 'sa.key'}",
        f"--service-cluster-ip-range={SERVICES}",
        f"--token-auth-file={place.tokens_file}",
        "--enable-bootstrap-token-auth",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
    )


def kube_controller_manager(place: Place) -> tuple[str, ...]:
    """All controllers that are on by default, and those of bootstrap tokens; it signs with the cluster's authority."""
    pki = place.certificates
    return (
        "kube-controller-manager",
        f"--kubeconfig={place.kubeconfig_of('controller-manager')}",
        "--controllers=*,bootstrapsigner,tokencleaner",
        f"--cluster-signing-cert-file={pki / 'ca.crt'}",
        f"--cluster-signing-key-file={pki / 'ca.key'}",
        f"--root-ca-file={pki / 'ca.crt'}",
        f"--service-account-private-key-file={pki / 'sa.key'}",
        "--use-service-account-credentials",
        *_SILENT,
    )


def kube_scheduler(place: Place) -> tuple[str, ...]:
    """The default scheduler."""
    return ("kube-scheduler", f"--kubeconfig={place.kubeconfig_of('scheduler')}", *_SILENT)
