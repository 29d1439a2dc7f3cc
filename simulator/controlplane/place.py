"""Where one control plane is: its folder, its files, its address and its ports."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path


def host_port(host: str, port: int) -> str:
    """As in a URL: an IPv6 address stands in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """`folder` is its own. The API server listens on `address`; its certificate names that and `names`."""

    folder: Path
    address: str
    port: int
    etcd_port: int
    etcd_peer_port: int
    names: tuple[str, ...] = ()
    #: What cluster-info tells joiners, as host:port.
    endpoint: str = field(default="")

    def __post_init__(self) -> None:
        if not self.endpoint:
            object.__setattr__(self, "endpoint", host_port(self.address, self.port))

    @property
    def url(self) -> str:
        """The API server's."""
        return f"https://{host_port(self.address, self.port)}"

    @property
    def etcd_url(self) -> str:
        """Where etcd serves the API server, in plain text, on loopback."""
        return f"http://127.0.0.1:{self.etcd_port}"

    @property
    def etcd_peer_url(self) -> str:
        """Where etcd would meet its peers; it has none."""
        return f"http://127.0.0.1:{self.etcd_peer_port}"

    @property
    def certificates(self) -> Path:
        """The certificates and keys that kubeadm makes."""
        return self.folder / "pki"

    @property
    def kubeadm_file(self) -> Path:
        """The configuration of every phase of kubeadm."""
        return self.folder / "kubeadm.yaml"

    @property
    def tokens_file(self) -> Path:
        """The API server's static tokens: the admin's."""
        return self.folder / "tokens.csv"

    def kubeconfig_of(self, user: str) -> Path:
        """The kubeconfig that kubeadm writes for a component or an admin."""
        return self.folder / f"{user}.conf"

    def log(self, program: str) -> Path:
        """A program's output."""
        return self.folder / f"{program}.log"


@contextmanager
def reserved_ports(*addresses: str) -> Iterator[tuple[int, ...]]:
    """A free port on each address, which nobody else can take while the block lasts.

    A socket that is bound and does not listen holds each; the program that shall listen there shares the port with it
    (SO_REUSEPORT).
    """
    with ExitStack() as stack:
        ports = []
        for address in addresses:
            family = socket.AF_INET6 if ip_address(address).version == 6 else socket.AF_INET
            holder = stack.enter_context(socket.socket(family))
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            holder.bind((address, 0))
            ports.append(int(holder.getsockname()[1]))
        yield tuple(ports)
