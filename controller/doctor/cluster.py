"""Checks of the Kubernetes cluster: the API server, the CRDs, the roles, the running operator, the control plane."""

import asyncio
import ssl
from collections.abc import Iterator
from typing import Final

from controller.api.base import Json
from controller.api.constants import API_VERSION
from controller.api.crd import crd_manifests
from controller.core.model import Kind
from controller.doctor.events import unanswered
from controller.doctor.expected import grants
from controller.doctor.findings import Verdict, failed, ok, skipped
from controller.doctor.installation import Installation
from controller.doctor.unread import UnreadError

_APPLY: Final = "kubectl apply -k deploy/"
#: A Lease that was not renewed for so many of its durations belongs to nobody who runs.
_STALE: Final = 3
#: Questions of a kind at once.
_ABREAST: Final = 8


async def kubernetes(installation: Installation) -> Verdict:
    """The API server answers."""
    try:
        await installation.kubernetes()
    except UnreadError as unread:
        return failed(
            f"{unread.what} could not be read: {unread.why}",
            "set TPU_NODE_GROUP_KUBECONFIG to a kubeconfig that reaches the cluster, or run in the operator's Pod",
        )
    return ok("the API server answers")


async def crds(installation: Installation) -> Verdict:
    """They are there, with the fields of this version. Anybody may read the document that tells."""
    await installation.kubernetes()
    try:
        document = await installation.get(f"/openapi/v3/apis/{API_VERSION}", f"the OpenAPI document of {API_VERSION}")
    except UnreadError as unread:
        if unread.absent:
            return failed(f"{API_VERSION} is not served: the CRDs are not installed", _APPLY)
        return unanswered(unread)
    served = {kind: set(_paths(schema)) for kind, schema in _schemas(document)}
    lacking = []
    for manifest in crd_manifests():
        kind = manifest["spec"]["names"]["kind"]
        schema = manifest["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        missing = sorted(set(_paths(schema)) - served.get(kind, set()))
        if missing:
            lacking.append(f"{kind} lacks {missing[0]}" if kind in served else f"{kind} is not installed")
    if lacking:
        return failed(f"the CRDs are not of this version: {', '.join(lacking)}", _APPLY)
    return ok("all four are of this version")


def _schemas(document: Json) -> Iterator[tuple[str, Json]]:
    for schema in document["components"]["schemas"].values():
        for each in schema.get("x-kubernetes-group-version-kind") or ():
            yield each["kind"], schema


def _paths(schema: Json, path: str = "") -> Iterator[str]:
    """The fields of spec and status, as `spec.nodeCount`."""
    for name, below in (schema.get("properties") or {}).items():
        if not path and name not in {"spec", "status"}:
            continue
        yield f"{path}{name}"
        yield from _paths(below, f"{path}{name}.")
    for inner in ("items", "additionalProperties"):
        if isinstance(schema.get(inner), dict):
            yield from _paths(schema[inner], path)


async def rbac(installation: Installation) -> Verdict:
    """Who runs doctor may do what the operator's roles grant."""
    limit = asyncio.Semaphore(_ABREAST)

    async def may(attributes: Json) -> bool:
        async with limit:
            return await installation.may(attributes)

    asked = grants(installation.settings.namespace)
    await installation.kubernetes()
    try:
        allowed = await asyncio.gather(*(may(each) for each in asked))
    except UnreadError as unread:
        return unanswered(unread)
    missing = [_said(each) for each, granted in zip(asked, allowed, strict=True) if not granted]
    if missing:
        more = f", and {len(missing) - 4} more" if len(missing) > 4 else ""
        return failed(f"this account may not {', '.join(missing[:4])}{more}", f"{_APPLY} # its rbac.yaml")
    return ok(f"all {len(asked)} grants of the operator's roles")


def _said(attributes: Json) -> str:
    below = f"/{attributes['subresource']}" if "subresource" in attributes else ""
    where = f" in {attributes['namespace']}" if "namespace" in attributes else ""
    return f"{attributes['verb']} {attributes['resource']}{below}{where}"


async def operator(installation: Installation) -> Verdict:
    """Somebody leads, and has renewed the Lease lately."""
    settings = installation.settings
    await installation.kubernetes()
    deployment = f"kubectl -n {settings.namespace} get pods,events # and the operator's log"
    try:
        record = await installation.lease()
    except UnreadError as unread:
        return skipped(f"{unread.what} could not be read: {unread.why}")
    if record is None or not record.holder:
        return failed(f"nobody holds the Lease in {settings.namespace}: no operator runs", deployment)
    silent = installation.clock.now() - record.renewed
    if silent > record.duration * _STALE:
        message = f"{record.holder} has not renewed its Lease for {silent.total_seconds():.0f} s: it does not run"
        return failed(message, deployment)
    return ok(f"{record.holder} leads")


async def control_plane(installation: Installation) -> Verdict:
    """Where the VMs join answers from here, with a certificate of the CA whose hash they are given."""
    endpoints = sorted({endpoint for each in await installation.resources(Kind.GROUP) if (endpoint := _endpoint(each))})
    if not endpoints:
        return skipped("no TPUNodeGroup names one")
    trusted = ssl.create_default_context(cadata=await installation.authority())
    for endpoint in endpoints:
        host, _, port = endpoint.rpartition(":")
        mend = "set spec.bootstrapKubernetes.controlPlaneEndpoint (or controlPlaneIP) to the API server of this cluster"
        try:
            async with asyncio.timeout(installation.timeout):
                _, writer = await asyncio.open_connection(host.strip("[]"), int(port), ssl=trusted)
        except ssl.SSLCertVerificationError as error:
            return failed(
                f"{endpoint} shows a certificate that the cluster's CA did not make for it: {error.verify_message}",
                mend,
            )
        except OSError as error:
            said = error.strerror or str(error) or f"no answer within {installation.timeout:g} s"
            return failed(f"{endpoint} does not answer from here: {said}", mend)
        writer.close()
    return ok(f"{', '.join(endpoints)} shows a certificate of the cluster's CA")


def _endpoint(group: Json) -> str:
    bootstrap = group["spec"].get("bootstrapKubernetes") or {}
    host, port = bootstrap.get("controlPlaneIP", ""), bootstrap.get("controlPlanePort", 6443)
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return str(bootstrap.get("controlPlaneEndpoint") or (address if host else ""))


async def control_plane_from_vms(_installation: Installation) -> Verdict:
    """Not from here."""
    return skipped(
        "doctor does not run in the VMs' subnet",
        "on a VM there: curl -k https://CONTROL_PLANE:6443/version; if it hangs, open the port in the firewall",
    )
