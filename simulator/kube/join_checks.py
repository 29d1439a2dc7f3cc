"""What `kubeadm join` checks before it trusts a control plane and asks it for anything. Pure.

The same for the embedded API and for a real one: only how cluster-info is read differs. No token gets into a text.
"""

import base64
from collections.abc import Mapping
from functools import lru_cache

import yaml

from simulator.kube.controllers.authority import spki_hash
from simulator.kube.controllers.tokens import SIGNATURE_PREFIX, sign, split_token
from simulator.kube.kubelet_objects import is_ready
from simulator.seams import JoinRefusedError, JoinRequest, Json


def id_and_secret(token: str) -> tuple[str, str]:
    """Both halves of a token. Raises JoinRefusedError if it is none."""
    parts = split_token(token)
    if parts is None:
        raise JoinRefusedError("the bootstrap token is not of the form [a-z0-9]{6}.[a-z0-9]{16}")
    return parts


def proved_authority(info: Mapping[str, str], request: JoinRequest) -> str:
    """The authority's certificate (PEM) out of the data of cluster-info.

    It must be signed with the token, and be one of the pinned ones. Raises JoinRefusedError.
    """
    token = id_and_secret(request.token)
    kubeconfig, signature = info.get("kubeconfig"), info.get(SIGNATURE_PREFIX + token[0])
    if kubeconfig is None or signature is None:
        why = f'could not find a JWS signature in the cluster-info ConfigMap for token ID "{token[0]}"'
        raise JoinRefusedError(f"couldn't validate the identity of the API Server: {why}")
    if signature != sign(kubeconfig, *token):
        raise JoinRefusedError(
            "failed to verify JWS signature of received cluster info object, can't trust this API Server"
        )
    authority, found = _authority(kubeconfig)
    if found not in request.ca_hashes:
        why = f'none of the public keys "{found}" are pinned'
        raise JoinRefusedError(f"cluster CA found in cluster-info ConfigMap is invalid: {why}")
    return authority


def refuse_ready(node: Json | None) -> None:
    """Raise JoinRefusedError where a Ready Node has the joiner's name already."""
    if node is not None and is_ready(node):
        raise JoinRefusedError(
            f'a Node with name "{node["metadata"]["name"]}" and status "Ready" already exists in the cluster. You must '
            "delete the existing Node or change the name of this new joining Node"
        )


@lru_cache(maxsize=4)
def _authority(kubeconfig: str) -> tuple[str, str]:
    """The certificate in cluster-info's kubeconfig, and its pin: the same for all joiners, so it is read once."""
    cluster = yaml.safe_load(kubeconfig)["clusters"][0]["cluster"]
    certificate = base64.b64decode(cluster["certificate-authority-data"]).decode()
    return certificate, spki_hash(certificate)
