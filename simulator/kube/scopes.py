"""Which part of an object a write covers: all but the status, or the status alone; and what the generation counts."""

from simulator.kube.edit import drop
from simulator.kube.resources import Resource
from simulator.seams import Json


def like(body: Json, key: str, source: Json) -> Json:
    """`body` with `key` as `source` has it."""
    return {**body, key: source[key]} if key in source else drop(body, (key,))


def managed_by(old: Json, new: Json) -> Json:
    """Of a status write, the metadata changes in its field owners only."""
    return {**old, "managedFields": new["managedFields"]} if "managedFields" in new else old


def content(body: Json, kind: Resource) -> Json:
    """What the generation counts the changes of: all but metadata and a separate status."""
    ignored = {"metadata", "status"} if "status" in kind.subresources else {"metadata"}
    return {key: value for key, value in body.items() if key not in ignored}
