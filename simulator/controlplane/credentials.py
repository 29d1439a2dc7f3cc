"""A kubelet's TLS bootstrap on a real API server: trust by two proofs, then a certificate for the token.

The steps are those of `kubeadm join` and of the kubelet behind it (facts: TPU 4). No token gets into a text.
"""

import asyncio
import base64
import ssl
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from uuid import uuid4

import aiohttp
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from simulator.controlplane.client import Client, RefusedError, client
from simulator.kube.join_checks import id_and_secret, proved_authority, refuse_ready
from simulator.seams import JoinRefusedError, JoinRequest, Json

_CLUSTER_INFO: Final = "/api/v1/namespaces/kube-public/configmaps/cluster-info"
_REQUESTS: Final = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
_SIGNER: Final = "kubernetes.io/kube-apiserver-client-kubelet"
#: kubeadm gives TLS bootstrap five minutes; nothing here is as slow.
_PATIENCE: Final = 60.0
_POLL: Final = 0.05


async def bootstrap(request: JoinRequest) -> ssl.SSLContext:
    """What `kubeadm join` does up to the kubelet's start: TLS with the Node's own certificate.

    Raises JoinRefusedError where the control plane, or the joiner itself, refuses.
    """
    url = f"https://{request.endpoint}"
    try:
        authority = await _discover(url, request)
        async with client(url, trusting(authority), request.token) as joiner:
            refuse_ready(await joiner.find(f"/api/v1/nodes/{request.node_name}"))
            return await certified(joiner, request.node_name, authority)
    except RefusedError as error:
        raise JoinRefusedError(_why(request, error)) from None
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise JoinRefusedError(f"the control plane at {request.endpoint} cannot be reached: {error}") from None


async def certified(asker: Client, node_name: str, authority: str) -> ssl.SSLContext:
    """TLS with a new key and a certificate for `system:node:<name>`, which `asker` asks for.

    The control plane approves it of whoever may create `certificatesigningrequests/nodeclient`: of joiners by the rules
    of kubeadm, and of administrators. Raises RefusedError.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    name = f"node-csr-{uuid4().hex}"
    await asker.call("POST", _REQUESTS, _signing_request(name, node_name, key))
    return _with_certificate(authority, key, await _issued(asker, name))


def trusting(authority: str) -> ssl.SSLContext:
    """TLS that trusts this authority (PEM) alone."""
    return ssl.create_default_context(cadata=authority)


async def _discover(url: str, request: JoinRequest) -> str:
    """The authority: cluster-info read by nobody from anybody, proved, and read again from whom it names."""
    async with client(url, _trusting_anybody()) as nobody:
        seen = await _cluster_info(nobody)
    authority = proved_authority(seen, request)
    async with client(url, trusting(authority)) as nobody:
        again = await _cluster_info(nobody)
    if again.get("kubeconfig") != seen["kubeconfig"]:
        raise JoinRefusedError("the second read of the cluster-info ConfigMap did not match the first")
    return authority


async def _cluster_info(nobody: Client) -> Mapping[str, str]:
    info = await nobody.call("GET", _CLUSTER_INFO)
    data: Mapping[str, str] = info.get("data") or {}
    return data


def _trusting_anybody() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _signing_request(name: str, node_name: str, key: ec.EllipticCurvePrivateKey) -> Json:
    subject = x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:nodes"),
            x509.NameAttribute(NameOID.COMMON_NAME, f"system:node:{node_name}"),
        ]
    )
    signed = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    encoded = base64.b64encode(signed.public_bytes(Encoding.PEM)).decode()
    spec = {"request": encoded, "signerName": _SIGNER, "usages": ["digital signature", "client auth"]}
    return {"metadata": {"name": name}, "spec": spec}


async def _issued(asker: Client, name: str) -> bytes:
    """The certificate, once it was approved and signed. Raises RefusedError when it is denied or does not come."""
    deadline = asyncio.get_running_loop().time() + _PATIENCE
    while asyncio.get_running_loop().time() < deadline:
        status = (await asker.call("GET", f"{_REQUESTS}/{name}")).get("status") or {}
        if "certificate" in status:
            return base64.b64decode(status["certificate"])
        for condition in status.get("conditions") or ():
            if condition["type"] in {"Denied", "Failed"}:
                raise RefusedError(403, f"the certificate was refused: {condition.get('message', '')}")
        await asyncio.sleep(_POLL)
    raise RefusedError(504, f"no certificate was issued in {_PATIENCE:g} s")


def _with_certificate(authority: str, key: ec.EllipticCurvePrivateKey, issued: bytes) -> ssl.SSLContext:
    context = trusting(authority)
    # The ssl module loads keys from files only.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kubelet.pem")
        path.touch(mode=0o600)
        path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) + issued)
        context.load_cert_chain(path)
    return context


def _why(request: JoinRequest, error: RefusedError) -> str:
    if error.code == 401:
        return f'the API server does not accept the token with ID "{id_and_secret(request.token)[0]}": Unauthorized'
    return f"the API server refused: {error.message}"
