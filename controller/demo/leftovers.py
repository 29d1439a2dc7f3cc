"""What both APIs hold, as a set of names, so that before and after can be compared. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from controller.demo.records import Told

#: Keys of the ConfigMap kube-public/cluster-info, one for each token that the cluster's address is signed with.
_SIGNATURE: Final = "jws-kubeconfig-"


def things_in(world: Told) -> frozenset[str]:
    """Every thing of the world outside `history`, by a name that says what it is.

    Compute resources by their path, Kubernetes objects as `Kind namespace/name`, signatures in cluster-info by the id
    of their token.
    """
    return frozenset(_things({key: value for key, value in world.items() if key != "history"}))


def _things(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        if "kind" in value and "metadata" in value:
            yield from _of_object(value)
            return
        for key, inner in value.items():
            if key.startswith("projects/"):
                yield key
            else:
                yield from _things(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _things(inner)


def _of_object(body: Told) -> Iterator[str]:
    meta = body["metadata"]
    yield f"{body['kind']} " + "/".join(filter(None, (meta.get("namespace"), meta["name"])))
    if body["kind"] == "ConfigMap" and meta["name"] == "cluster-info":
        for key in body.get("data") or {}:
            if key.startswith(_SIGNATURE):
                yield f"signature of {key.removeprefix(_SIGNATURE)} in cluster-info"
