"""Pages of a list: maxResults 0 to 500 (default 500), an opaque pageToken, nextPageToken (facts: GCE 1 and 4)."""

import base64
import binascii
from collections.abc import Mapping, Sequence

from simulator.seams import Json
from simulator.world.errors import invalid_field

__all__ = ["page"]

_LIMIT = 500


def page(items: Sequence[Json], query: Mapping[str, str]) -> tuple[Sequence[Json], str]:
    """The page that the query asks for of items sorted by name, and the token of the next ("" if none).

    A token names the last item of its page, so that items which come and go between pages shift nothing. Raises 400.
    """
    raw = query.get("maxResults", "")
    size = int(raw) if raw.isdigit() else (-1 if raw else _LIMIT)
    if not 0 <= size <= _LIMIT:
        raise invalid_field("maxResults", raw, f"Must be between 0 and {_LIMIT}.")
    after = _read(query.get("pageToken", ""))
    rest = [item for item in items if str(item["name"]) > after] if after else items
    shown = rest[: size or _LIMIT]
    more = len(rest) > len(shown)
    return shown, base64.urlsafe_b64encode(str(shown[-1]["name"]).encode()).decode() if more else ""


def _read(token: str) -> str:
    try:
        return base64.urlsafe_b64decode(token.encode()).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise invalid_field("pageToken", token, "The token is invalid.") from error
