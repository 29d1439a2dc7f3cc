"""The Kubernetes API: the port `Cluster`. One method is one call with its precondition; errors are Failures.

It never retries and never decides: a Conflict goes back to the caller, who reads again.
"""

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Final

import structlog
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from pydantic import SecretStr

from controller.adapters.kube_client import JSON_PATCH, MERGE_PATCH, METADATA_LIST, Call, KubeClient, path_of
from controller.adapters.kube_errors import is_failed_test
from controller.adapters.kube_watch import BACKOFF
from controller.adapters.tokens import NAMESPACE, SELECTOR, Signatures, secret_manifest, secret_name, token_view, utc
from controller.api.base import Json
from controller.api.constants import ANNOTATION_CORDON, API_VERSION
from controller.core.failures import Conflict, Failure, Gone, Rejected
from controller.core.model import Key, Kind
from controller.core.observed import Taint, TokenView
from controller.core.redaction import redacted
from controller.runtime.ports import Clock

log = structlog.get_logger(__name__)

_CUSTOM: Final = f"/apis/{API_VERSION}"
_CORE: Final = "/api/v1"
#: Seconds for which the CA's hashes are kept: it is rotated once in years, and read for each token.
_CA_CACHE: Final = 60.0
#: Seconds for which the version is kept: an upgrade is noticed by a look after that.
_VERSION_CACHE: Final = 300.0
_COMPONENT: Final = "tpu-node-group-controller"


class KubeCluster:
    """The port `Cluster`. `open()` starts the watch of signatures, `close()` ends it; the client is the caller's."""

    def __init__(self, client: KubeClient, clock: Clock, *, backoff: tuple[float, ...] = BACKOFF) -> None:
        self._client = client
        self._clock = clock
        self._signatures = Signatures(client, backoff=backoff)
        self._watching: asyncio.Task[None] | None = None
        self._hashes: tuple[str, ...] = ()
        self._hashes_until = 0.0
        self._version = ""
        self._version_until = 0.0

    async def open(self) -> None:
        """Begin to follow the signatures of cluster-info."""
        self._watching = asyncio.create_task(self._signatures.run(), name="cluster-info signatures")

    async def close(self) -> None:
        """Stop following."""
        if self._watching is not None:
            self._watching.cancel()
            with suppress(asyncio.CancelledError):
                await self._watching
            self._watching = None

    async def list_custom_resources(self, kind: Kind) -> list[Json]:
        """All objects of a kind, all namespaces, all pages."""
        items: list[Json] = []
        async for page in self._client.pages(Call("list", kind.plural, path_of(_CUSTOM, kind.plural))):
            items.extend(page.get("items") or ())
        return items

    async def create_custom_resource(self, kind: Kind, namespace: str, manifest: Json) -> Json:
        """Create; raises Conflict when the name exists."""
        subject = f"{namespace}/{manifest['metadata']['name']}"
        path = path_of(_CUSTOM, kind.plural, namespace)
        return await self._client.call(Call("create", kind.plural, path, subject, body=manifest))

    async def delete_custom_resource(self, key: Key, uid: str) -> None:
        """Delete with a UID precondition (background propagation); an absent one is fine."""
        await self._delete(_custom("delete", key), uid)

    async def patch_status(self, key: Key, uid: str, patch: Json) -> Json:
        """Merge patch on the status subresource; raises Conflict on another UID, Gone when it is not there.

        The API server takes nothing but the status from such a patch, so it ignores the UID in it (apiextensions-
        apiserver, status_strategy.go). The answer tells whose status it was: a wrong one is the caller's Conflict, and
        the other object's own look writes it anew.
        """
        call = _custom("patch", key, "status")
        body = {"metadata": {"uid": uid}, "status": patch}
        obj = await self._client.call(replace(call, body=body, content_type=MERGE_PATCH))
        if obj["metadata"]["uid"] != uid:
            raise Conflict(f"{call} met another object of this name: it was deleted and made anew.")
        return obj

    async def set_finalizers(self, key: Key, resource_version: str, finalizers: Sequence[str]) -> Json | None:
        """JSON patch with a resourceVersion test; None when the object went away with its last finalizer."""
        wanted = list(finalizers)
        changes: list[Json] = [{"op": "add", "path": "/metadata/finalizers", "value": wanted}]
        obj = await self._json_patch(_custom("patch", key), resource_version, changes)
        return None if not wanted and obj["metadata"].get("deletionTimestamp") else obj

    async def create_token_secret(self, token: TokenView, secret: SecretStr) -> None:
        """The bootstrap Secret; `secret` is the 16 characters after the dot. Raises Conflict when the id exists."""
        path = path_of(_CORE, "secrets", NAMESPACE)
        body = secret_manifest(token, secret)
        await self._client.call(Call("create", "secrets", path, f"{NAMESPACE}/{secret_name(token.id)}", body=body))

    async def delete_token_secret(self, token_id: str) -> None:
        """Delete; an absent one is fine."""
        name = secret_name(token_id)
        self._signatures.revoke(token_id)
        await self._delete(Call("delete", "secrets", path_of(_CORE, "secrets", NAMESPACE, name), f"{NAMESPACE}/{name}"))

    async def list_token_secrets(self) -> tuple[TokenView, ...]:
        """All bootstrap Secrets that bear our labels, as metadata only; one that somebody broke is left out."""
        path = path_of(_CORE, "secrets", NAMESPACE)
        call = Call("list", "secrets", path, query=(("labelSelector", SELECTOR),), accept=METADATA_LIST)
        views: list[TokenView] = []
        async for page in self._client.pages(call):
            views.extend(view for view in map(token_view, page.get("items") or ()) if view is not None)
        return tuple(views)

    def tell_lost_tokens(self, tell: Callable[[str], None]) -> None:
        """Call `tell` with the id of each token whose signature goes and whose Secret was not deleted by us."""
        self._signatures.tell_lost(tell)

    async def await_signature(self, token_id: str, timeout: float) -> bool:
        """Wait until cluster-info is signed with this token; False after `timeout` seconds."""
        return await self._signatures.wait(token_id, timeout)

    async def ca_hashes(self) -> tuple[str, ...]:
        """`sha256:<hex>` of every certificate in kube-system/kube-root-ca.crt, kept for a minute."""
        if self._clock.monotonic() >= self._hashes_until:
            name = "kube-root-ca.crt"
            path = path_of(_CORE, "configmaps", NAMESPACE, name)
            found = await self._client.call(Call("get", "configmaps", path, f"{NAMESPACE}/{name}"))
            self._hashes = ca_hashes_of((found.get("data") or {}).get("ca.crt") or "")
            self._hashes_until = self._clock.monotonic() + _CA_CACHE
        return self._hashes

    async def version(self) -> str:
        """What /version says (`v1.36.3`), kept for minutes; "" where an administrator forbids to ask."""
        if self._clock.monotonic() >= self._version_until:
            try:
                found = await self._client.call(Call("get", "version", "/version"))
                self._version = str(found.get("gitVersion") or "")
            except Rejected as failure:
                log.warning("the control plane's version is not known: skew is left to kubeadm", failure=str(failure))
                self._version = ""
            self._version_until = self._clock.monotonic() + _VERSION_CACHE
        return self._version

    async def label_node(self, name: str, uid: str, labels: Mapping[str, str]) -> None:
        """Merge labels into a Node with this UID."""
        await self._merge_node(name, {"metadata": {"uid": uid, "labels": dict(labels)}})

    async def taint_node(self, name: str, uid: str, resource_version: str, taints: Sequence[Taint]) -> None:
        """Replace the Node's taints, under its resourceVersion; raises Conflict when it changed."""
        value = [{"key": t.key, **({"value": t.value} if t.value else {}), "effect": t.effect} for t in taints]
        changes: list[Json] = [
            {"op": "test", "path": "/metadata/uid", "value": uid},
            {"op": "add", "path": "/spec/taints", "value": value},
        ]
        await self._json_patch(_node("patch", name), resource_version, changes)

    async def cordon_node(self, name: str, uid: str, by: str | None) -> None:
        """Cordon and mark as ours (`by`), or lift our cordon (None)."""
        annotations = {ANNOTATION_CORDON: by}
        spec = {"unschedulable": True if by is not None else None}
        await self._merge_node(name, {"metadata": {"uid": uid, "annotations": annotations}, "spec": spec})

    async def delete_node(self, name: str, uid: str, resource_version: str) -> None:
        """Delete with UID and resourceVersion preconditions; an absent one is fine; another raises Conflict."""
        await self._delete(_node("delete", name), uid, resource_version)

    async def post_event(self, key: Key, uid: str, *, warning: bool, reason: str, message: str, at: datetime) -> None:
        """A Kubernetes Event for people. Best effort: never raises. The same Event twice is one."""
        body = event_manifest(key, uid, warning=warning, reason=reason, message=message, at=at)
        path = path_of(_CORE, "events", key.namespace)
        try:
            await self._client.call(Call("create", "events", path, str(key), body=body))
        except Conflict:
            return
        except Failure as failure:
            log.warning("Kubernetes Event not posted", key=str(key), reason=reason, failure=str(failure))

    async def _merge_node(self, name: str, body: Json) -> None:
        await self._client.call(replace(_node("patch", name), body=body, content_type=MERGE_PATCH))

    async def _json_patch(self, call: Call, resource_version: str, changes: list[Json]) -> Json:
        test = {"op": "test", "path": "/metadata/resourceVersion", "value": resource_version}
        try:
            return await self._client.call(replace(call, body=[test, *changes], content_type=JSON_PATCH))
        except Rejected as failure:
            if is_failed_test(failure):
                message = f"{call} failed: it changed since it was read."
                raise Conflict(message, failure.code) from failure
            raise

    async def _delete(self, call: Call, uid: str = "", resource_version: str = "") -> None:
        options: Json = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
        preconditions = {"uid": uid, "resourceVersion": resource_version}
        if stated := {name: value for name, value in preconditions.items() if value}:
            options["preconditions"] = stated
        with suppress(Gone):
            await self._client.call(replace(call, body=options))


def _custom(verb: str, key: Key, subresource: str = "") -> Call:
    resource = f"{key.kind.plural}/{subresource}" if subresource else key.kind.plural
    path = path_of(_CUSTOM, key.kind.plural, key.namespace, key.name, subresource)
    return Call(verb, resource, path, f"{key.namespace}/{key.name}")


def _node(verb: str, name: str) -> Call:
    return Call(verb, "nodes", path_of(_CORE, "nodes", name=name), name)


def ca_hashes_of(pem: str) -> tuple[str, ...]:
    """`sha256:<hex of the DER of SubjectPublicKeyInfo>` of each certificate: what kubeadm pins (facts: TPU 4)."""
    try:
        certificates = x509.load_pem_x509_certificates(pem.encode())
    except ValueError as error:
        raise Rejected("The ConfigMap kube-system/kube-root-ca.crt holds no certificate.") from error
    keys = (c.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo) for c in certificates)
    return tuple(f"sha256:{hashlib.sha256(key).hexdigest()}" for key in keys)


def event_manifest(key: Key, uid: str, *, warning: bool, reason: str, message: str, at: datetime) -> Json:
    """A core/v1 Event whose name follows from its content, so that posting it again is a Conflict."""
    text = redacted(message)[:1024]
    digest = hashlib.sha256("\n".join((uid, reason, text, utc(at))).encode()).hexdigest()
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{key.name}.{digest[:16]}", "namespace": key.namespace},
        "involvedObject": {
            "apiVersion": API_VERSION,
            "kind": key.kind.value,
            "namespace": key.namespace,
            "name": key.name,
            "uid": uid,
        },
        "reason": reason,
        "message": text,
        "type": "Warning" if warning else "Normal",
        "source": {"component": _COMPONENT},
        "reportingComponent": _COMPONENT,
        "firstTimestamp": utc(at),
        "lastTimestamp": utc(at),
        "count": 1,
    }
