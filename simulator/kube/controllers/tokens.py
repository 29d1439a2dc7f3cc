"""Bootstrap tokens as the control plane reads them from Secrets: when they count, for what, and how they sign.

Rules of k8s.io/cluster-bootstrap (token/util, token/jws). No value of a token ever gets into a text from here.
"""

import base64
import binascii
import hashlib
import hmac
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

SECRET_TYPE = "bootstrap.kubernetes.io/token"
NAMESPACE = "kube-system"
NAME_PREFIX = "bootstrap-token-"
SIGNATURE_PREFIX = "jws-kubeconfig-"
_TOKEN = re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})")


@dataclass(frozen=True, slots=True)
class BootstrapToken:
    """A well-formed bootstrap Secret. `expires` is None where the token lives for ever."""

    id: str
    secret: str = field(repr=False)
    expires: datetime | None
    usages: frozenset[str]

    def live(self, now: datetime) -> bool:
        """Whether it has not expired."""
        return self.expires is None or now < self.expires

    def opens_with(self, secret: str) -> bool:
        """Whether this is its secret half."""
        return hmac.compare_digest(self.secret.encode(), secret.encode())


def read_token(secret: Mapping[str, Any]) -> BootstrapToken | None:
    """The token of a Secret object; None if it is none, or malformed (expiration included): such a one is ignored."""
    if secret.get("type") != SECRET_TYPE or secret["metadata"].get("namespace") != NAMESPACE:
        return None
    try:
        data = {key: base64.b64decode(value).decode() for key, value in (secret.get("data") or {}).items()}
        expires = datetime.fromisoformat(data["expiration"]) if data.get("expiration") else None
    except (binascii.Error, ValueError):
        return None
    parsed = split_token(f"{data.get('token-id', '')}.{data.get('token-secret', '')}")
    named_for = secret["metadata"]["name"] == NAME_PREFIX + data.get("token-id", "")
    if parsed is None or not named_for or (expires is not None and expires.tzinfo is None):
        return None
    usages = {key.removeprefix("usage-bootstrap-") for key, value in data.items() if value == "true"}
    return BootstrapToken(*parsed, expires=expires, usages=frozenset(usages & {"authentication", "signing"}))


def split_token(token: str) -> tuple[str, str] | None:
    """Id and secret of `abcdef.0123456789abcdef`, None of anything else."""
    matched = _TOKEN.fullmatch(token)
    return None if matched is None else (matched[1], matched[2])


def sign(content: str, token_id: str, secret: str) -> str:
    """The detached JWS (HS256) of `content`.

    The key is the secret half alone, as token/jws/jws.go has it, though the documentation says the full token.
    """
    header = _encode(json.dumps({"alg": "HS256", "kid": token_id}, separators=(",", ":")).encode())
    signed = header + b"." + _encode(content.encode())
    signature = hmac.new(secret.encode(), signed, hashlib.sha256).digest()
    return (header + b".." + _encode(signature)).decode()


def _encode(raw: bytes) -> bytes:
    return base64.urlsafe_b64encode(raw).rstrip(b"=")
