"""Bootstrap tokens on the wire: the Secret as kubeadm makes it, its metadata read back, and its signature awaited.

Facts: TPU 4 (k8s.io/cluster-bootstrap v1.36.3). The Secret's value is built here and only here; it is never read back:
tokens are listed as metadata, so a list holds no secret.
"""

import asyncio
import base64
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import structlog
from pydantic import SecretStr

from controller.adapters.kube_client import Call, KubeClient, path_of
from controller.adapters.kube_watch import BACKOFF, ListWatch
from controller.api.base import Json
from controller.api.constants import (
    ANNOTATION_TOKEN_EXPIRES,
    ANNOTATION_TOKEN_INSTANCE,
    LABEL_TOKEN_GROUP_NAME,
    LABEL_TOKEN_GROUP_NAMESPACE,
    LABEL_TOKEN_INSTANCE_ID,
)
from controller.core.failures import Bug
from controller.core.observed import TokenView

log = structlog.get_logger(__name__)

NAMESPACE: Final = "kube-system"
SELECTOR: Final = f"{LABEL_TOKEN_GROUP_NAME},{LABEL_TOKEN_INSTANCE_ID}"
_PREFIX: Final = "bootstrap-token-"
_SIGNATURE: Final = "jws-kubeconfig-"
_GROUP: Final = "system:bootstrappers:kubeadm:default-node-token"
_ID: Final = re.compile(r"[a-z0-9]{6}")
_SECRET: Final = re.compile(r"[a-z0-9]{16}")


def secret_name(token_id: str) -> str:
    """The name that makes a Secret a bootstrap token."""
    return f"{_PREFIX}{token_id}"


def utc(at: datetime) -> str:
    """A time as Kubernetes writes it: `2026-12-01T10:00:00Z`."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def secret_manifest(token: TokenView, secret: SecretStr) -> Json:
    """The Secret. `secret` is the 16 characters after the dot. Raises Bug where it (or the id) has another form."""
    if not _ID.fullmatch(token.id) or not _SECRET.fullmatch(secret.get_secret_value()):
        raise Bug(f"The bootstrap token for {token.instance} is not of the form [a-z0-9]{{6}}.[a-z0-9]{{16}}.")
    data = {
        "token-id": token.id,
        "token-secret": secret.get_secret_value(),
        "expiration": utc(token.expires),
        "usage-bootstrap-authentication": "true",
        "usage-bootstrap-signing": "true",
        "auth-extra-groups": _GROUP,
        "description": f"Join token of the TPU VM {token.instance} of {token.namespace}/{token.group}",
    }
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": secret_name(token.id),
            "namespace": NAMESPACE,
            "labels": {
                LABEL_TOKEN_GROUP_NAMESPACE: token.namespace,
                LABEL_TOKEN_GROUP_NAME: token.group,
                LABEL_TOKEN_INSTANCE_ID: token.instance_id,
            },
            "annotations": {
                ANNOTATION_TOKEN_INSTANCE: token.instance,
                ANNOTATION_TOKEN_EXPIRES: utc(token.expires),
            },
        },
        "type": "bootstrap.kubernetes.io/token",
        "data": {key: base64.b64encode(value.encode()).decode() for key, value in data.items()},
    }


def token_view(obj: Mapping[str, Any]) -> TokenView | None:
    """A Secret's metadata as a token; None (and a warning) where somebody broke it."""
    metadata = obj["metadata"]
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    try:
        return TokenView(
            id=metadata["name"].removeprefix(_PREFIX),
            namespace=labels[LABEL_TOKEN_GROUP_NAMESPACE],
            group=labels[LABEL_TOKEN_GROUP_NAME],
            instance=annotations[ANNOTATION_TOKEN_INSTANCE],
            instance_id=labels[LABEL_TOKEN_INSTANCE_ID],
            expires=datetime.fromisoformat(annotations[ANNOTATION_TOKEN_EXPIRES]),
            created=datetime.fromisoformat(metadata["creationTimestamp"]),
        )
    except (KeyError, ValueError):
        log.warning(
            "Secret bears our labels, but not all that we write on one; delete it if nobody else needs it",
            secret=f"{NAMESPACE}/{metadata['name']}",
        )
        return None


class Signatures:
    """Which tokens kube-public/cluster-info is signed with: one watch, however many wait.

    `run()` it as a task. A joiner that comes before its signature waits five seconds more (facts: TPU 4).
    """

    def __init__(self, client: KubeClient, *, backoff: tuple[float, ...] = BACKOFF) -> None:
        self._signed: frozenset[str] = frozenset()
        self._waiting: dict[str, set[asyncio.Future[None]]] = {}
        self._revoked: set[str] = set()
        self._tell: Callable[[str], None] = _nobody_asked
        path = path_of("/api/v1", "configmaps", "kube-public")
        query = (("fieldSelector", "metadata.name=cluster-info"),)
        listing = Call("list", "configmaps", path, "kube-public/cluster-info", query)
        self._watch = ListWatch(client, listing, self, backoff=backoff)
        self._listed = False

    async def run(self) -> None:
        """Follow cluster-info until cancelled."""
        await self._watch.run()

    def tell_lost(self, tell: Callable[[str], None]) -> None:
        """Call `tell` with the id of each token that loses its signature without `revoke`: its Secret may be gone."""
        self._tell = tell

    def revoke(self, token_id: str) -> None:
        """The Secret of this token is about to be deleted by us."""
        if token_id in self._signed:
            self._revoked.add(token_id)

    async def wait(self, token_id: str, timeout: float) -> bool:
        """True once cluster-info is signed with this token, False after `timeout` seconds."""
        if token_id in self._signed:
            return True
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(token_id, set())
        waiting.add(future)
        try:
            async with asyncio.timeout(timeout):
                await future
        except TimeoutError:
            return False
        finally:
            waiting.discard(future)
            if not waiting:
                self._waiting.pop(token_id, None)
        return True

    def list_begins(self) -> None:
        """See `Sink`."""
        self._listed = False

    def listed(self, obj: Json) -> None:
        """See `Sink`."""
        self._listed = True
        self.changed(obj)

    def list_ends(self) -> None:
        """See `Sink`."""
        if not self._listed:
            self._take(frozenset())

    def changed(self, obj: Json) -> None:
        """See `Sink`."""
        keys = obj.get("data") or {}
        self._take(frozenset(key.removeprefix(_SIGNATURE) for key in keys if key.startswith(_SIGNATURE)))
        for token_id in self._waiting.keys() & self._signed:
            for future in self._waiting[token_id]:
                if not future.done():
                    future.set_result(None)

    def gone(self, _obj: Json) -> None:
        """See `Sink`."""
        self._take(frozenset())

    def _take(self, signed: frozenset[str]) -> None:
        lost, self._signed = self._signed - signed, signed
        unexpected = sorted(lost - self._revoked)
        self._revoked -= lost
        for token_id in unexpected:
            self._tell(token_id)


def _nobody_asked(_token_id: str) -> None:
    """Until somebody asks to be told."""
