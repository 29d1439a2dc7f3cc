"""What setMetadata accepts: key form and sizes (facts: TPU 5, limits). Messages name keys, never values."""

import re
from typing import Final

from simulator.seams import Json
from simulator.world.errors import invalid, invalid_field

__all__ = ["read_items"]

_KEY: Final = re.compile(r"[a-zA-Z0-9-_]{1,127}")
_VALUE_LIMIT: Final = 262_144
_TOTAL_LIMIT: Final = 512 * 1024


def read_items(body: Json) -> dict[str, str]:
    """The items of a Metadata body as a mapping; raises 400."""
    items: dict[str, str] = {}
    total = 0
    for index, item in enumerate(body.get("items") or []):
        key, value = str(item.get("key", "")), str(item.get("value", ""))
        where = f"metadata.items[{index}].key"
        if not _KEY.fullmatch(key):
            raise invalid_field(where, key, "Must be a match of regex '[a-zA-Z0-9-_]{1,127}'")
        if key in items:
            raise invalid(f"Duplicate metadata key '{key}'.")
        if len(value.encode()) > _VALUE_LIMIT:
            raise invalid(f"The value of metadata key '{key}' is larger than {_VALUE_LIMIT} bytes.")
        total += len(key.encode()) + len(value.encode())
        items[key] = value
    if total >= _TOTAL_LIMIT:
        raise invalid(f"The metadata holds {total} bytes; it must stay below {_TOTAL_LIMIT}.")
    return items
