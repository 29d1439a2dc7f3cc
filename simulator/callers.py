"""Who calls, by the bearer token: the faces' one rule, so that counts of one caller are found under one name."""

import re
from typing import Final

__all__ = ["ANONYMOUS", "principal_of"]

ANONYMOUS: Final = "anonymous"
_PRINCIPAL: Final = re.compile(r"[a-z0-9.-]+@[a-z0-9.-]+\.[a-z]+")


def principal_of(authorization: str) -> str:
    """The e-mail that the bearer token is; anything else is anonymous, and never shown."""
    token = authorization.removeprefix("Bearer ").strip()
    return token if _PRINCIPAL.fullmatch(token) else ANONYMOUS
