"""A real cluster as `GET /control/world` shows it: the kinds that the embedded one has, reduced in the same way."""

import asyncio
from collections.abc import Iterator

from simulator.controlplane.client import Client
from simulator.kube.builtins import builtin_registry
from simulator.kube.errors import qualified
from simulator.kube.snapshot import HISTORY, comparable
from simulator.seams import Json

_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class RealClusterView:
    """What the control face shows of the cluster; `admin` may read everything."""

    def __init__(self, admin: Client) -> None:
        self._admin = admin
        self._builtin = {
            item.id: f"{_base(item.api_version)}/{item.plural}"
            for item in builtin_registry().storage()
            if "list" in item.verbs
        }

    async def objects(self) -> Json:
        """All objects that are state, by `<resource>/<namespace>/<name>` (`<resource>/<name>` of the cluster's own)."""
        definitions = await self._admin.call("GET", _CRDS)
        shown = {key: path for key, path in self._builtin.items() if key not in HISTORY} | dict(_custom(definitions))
        found = await asyncio.gather(*(self._list(path) for path in shown.values()))
        return {
            key: body
            for resource_id, bodies in zip(shown, found, strict=True)
            for key, body in comparable(resource_id, bodies).items()
        }

    async def history(self) -> Json:
        """What comes and goes by itself: `events` and `leases`, as stored."""
        events, leases = await asyncio.gather(
            *(self._list(self._builtin[key]) for key in ("events", "leases.coordination.k8s.io"))
        )
        return {"events": events, "leases": leases}

    async def _list(self, path: str) -> list[Json]:
        """The objects of a resource, each with its kind, which the items of a list lack."""
        found = await self._admin.call("GET", path)
        head = {"apiVersion": found["apiVersion"], "kind": found["kind"].removesuffix("List")}
        return [{**head, **item} for item in found["items"]]


def _custom(definitions: Json) -> Iterator[tuple[str, str]]:
    for definition in definitions["items"]:
        spec = definition["spec"]
        stored = next(version["name"] for version in spec["versions"] if version["storage"])
        group, plural = spec["group"], spec["names"]["plural"]
        yield qualified(group, plural), f"/apis/{group}/{stored}/{plural}"


def _base(api_version: str) -> str:
    return "/api/v1" if api_version == "v1" else f"/apis/{api_version}"
