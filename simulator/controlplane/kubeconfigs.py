"""Reading a kubeconfig: where the cluster is, whom to trust, and who one is."""

import base64
import ssl
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from simulator.controlplane.client import Client, client
from simulator.controlplane.credentials import trusting


class KubeconfigError(Exception):
    """The kubeconfig cannot be used; the message says what it lacks."""


@dataclass(frozen=True, slots=True)
class Access:
    """The current context of a kubeconfig: a user with a token, or with a certificate and its key (PEM)."""

    url: str
    authority: str
    token: str
    certificate: bytes

    def tls(self) -> ssl.SSLContext:
        """TLS as this user."""
        context = trusting(self.authority)
        if self.certificate:
            # The ssl module loads keys from files only.
            with tempfile.NamedTemporaryFile() as file:
                file.write(self.certificate)
                file.flush()
                context.load_cert_chain(file.name)
        return context


def read(path: Path) -> Access:
    """The current context. Everything must be in the file itself, as kubeadm and kind write it.

    Raises KubeconfigError, and OSError when the file cannot be read.
    """
    config = yaml.safe_load(path.read_text(encoding="utf-8"))
    try:
        context = _named(config, "context", config["current-context"])
        cluster, user = _named(config, "cluster", context["cluster"]), _named(config, "user", context["user"])
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        pair = [base64.b64decode(user.get(f"client-{part}-data", "")) for part in ("certificate", "key")]
        access = Access(cluster["server"], authority, user.get("token", ""), b"".join(pair))
    except (KeyError, TypeError, StopIteration) as error:
        raise KubeconfigError(
            f"{path} has no current context with a server, its certificate-authority-data and a user: {error!r}"
        ) from error
    if not access.token and not all(pair):
        raise KubeconfigError(f"the user in {path} has neither a token nor client-certificate-data and client-key-data")
    return access


@asynccontextmanager
async def connected(access: Access) -> AsyncIterator[Client]:
    """A connection as the kubeconfig's user."""
    async with client(access.url, access.tls(), access.token) as opened:
        yield opened


def _named(config: Any, kind: str, name: str) -> Any:
    return next(item[kind] for item in config[f"{kind}s"] if item["name"] == name)
