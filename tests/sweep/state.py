"""What there is of one group, in words that are the same for every group that has come to the same end. Pure.

Names, ids, times and addresses of a single life are left out; that a Node is that of its VM of now is said.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

Json = dict[str, Any]

_GROUP: Final = re.compile(r"run\d{4}")
_MADE: Final = re.compile(r"-(mig|template|policy)-[0-9a-f]{8}(-[a-z0-9]{4})?")
#: What differs from life to life and says nothing of its end.
_OWN: Final = frozenset(
    {
        *("creationTimestamp", "lastStartTimestamp", "lastStopTimestamp", "lastTransitionTime", "lastEventTime"),
        *("id", "uid", "fingerprint", "resourceVersion", "operationName", "operationType", "requestId", "resourceId"),
        *("networkIP", "address", "lastProgressCheck", "generation", "observedGeneration"),
    }
)
#: Metadata of a VM by its place in the slice, which is drawn, and by the cluster that it joins.
_PLACE: Final = frozenset({"tpu-env", "worker-id", "worker-network-endpoints", "kubeadm-ca-hash"})
_ID: Final = "tpu.google.com/instance-id"

States = Mapping[str, tuple[str, ...]]


def states_of(world: Json) -> States:
    """What there is of each group of a sweep (`run0001`): each field of each object, sorted."""
    ids = {path.rpartition("/")[2]: body["id"] for path, body in world["compute"].items() if "/instances/" in path}
    found: dict[str, list[str]] = {}
    for part in ("compute", "kubernetes"):
        for path, body in world[part].items():
            group = _GROUP.search(path) or _GROUP.search(json.dumps(body))
            if group is not None:
                fields = _fields(path, _owned(body, ids))
                found.setdefault(group[0], []).extend(_nameless(field, group[0]) for field in fields)
    return {group: tuple(sorted(lines)) for group, lines in found.items()}


def vms_of(world: Json, group: str) -> dict[str, Json]:
    """The VMs of a group by name."""
    found = {path.rpartition("/")[2]: body for path, body in world["compute"].items() if "/instances/" in path}
    return {name: vm for name, vm in found.items() if name.startswith(f"{group}-")}


def difference(wanted: tuple[str, ...], found: tuple[str, ...]) -> str:
    """What is missing, and what is there instead."""
    missing, unexpected = Counter(wanted) - Counter(found), Counter(found) - Counter(wanted)
    return f"missing {[*missing.elements()][:12]}; unexpected {[*unexpected.elements()][:12]}"


def _owned(body: Json, ids: Mapping[str, str]) -> Json:
    """A Node with its VM's id in words."""
    labels = body.get("metadata", {}).get("labels", {})
    if body.get("kind") != "Node" or _ID not in labels:
        return body
    of_now = labels[_ID] == ids.get(body["metadata"]["name"])
    worded = {**labels, _ID: "its VM's" if of_now else "another VM's"}
    return {**body, "metadata": {**body["metadata"], "labels": worded}}


def _nameless(field: str, group: str) -> str:
    made = _MADE.sub(lambda found: f"-{found[1]}{'-vm' if found[2] else ''}", field)
    return re.sub(r"uid=[0-9a-f-]+", "uid=", made).replace(group, "GROUP")


def _fields(path: str, value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, each in value.items():
            if key not in _OWN:
                yield from _fields(f"{path} {key}", each)
    elif isinstance(value, list):
        for number, each in enumerate(value):
            named = isinstance(each, dict) and (each.get("key") or each.get("type"))
            if named not in _PLACE:
                yield from _fields(f"{path} {named or number}", each)
    else:
        yield f"{path} = {value if len(str(value)) < 1000 else 'a long text'}"
