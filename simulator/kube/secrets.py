"""What the server does with Secrets: encodes plain text, keeps their type, refuses what is no base64.

No refusal repeats a value.
"""

import base64
import binascii
from collections.abc import Iterator
from typing import Any

from simulator.kube.edit import drop
from simulator.kube.errors import Cause
from simulator.seams import Json


def completed(body: Json) -> Json:
    """A new Secret with its default type; also for those that come without going through the API."""
    return {**encoded(body), "type": body.get("type") or "Opaque"}


def encoded(body: Json) -> Json:
    """The Secret with `stringData` moved into `data`."""
    plain = body.get("stringData")
    if plain is None:
        return body
    added = {key: base64.b64encode(value.encode()).decode() for key, value in plain.items()}
    return {**drop(body, ("stringData",)), "data": {**(body.get("data") or {}), **added}}


def check(new: Json, old: Json | None) -> Iterator[Cause]:
    """Why a Secret may not be stored."""
    for key, value in (new.get("data") or {}).items():
        if not _is_base64(value):
            yield Cause(f"data[{key}]", "FieldValueInvalid", "Invalid value: the value is no base64")
    if old is None:
        return
    if new.get("type", "Opaque") != old.get("type", "Opaque"):
        why = f'Invalid value: "{new.get("type")}": field is immutable'
        yield Cause("type", "FieldValueInvalid", why)
    if old.get("immutable") and (new.get("data") != old.get("data") or not new.get("immutable")):
        yield Cause("data", "FieldValueForbidden", "Forbidden: field is immutable when `immutable` is set")


def _is_base64(value: Any) -> bool:
    try:
        base64.b64decode(value, validate=True)
    except (binascii.Error, TypeError, ValueError):
        return False
    return True
