"""Objects of a real API server by manifest: where each kind is, applying them, and waiting until a kind is served."""

import asyncio
from typing import Final

from simulator.controlplane.client import Client, RefusedError
from simulator.seams import Json

_MANAGER: Final = "tpu-node-group-simulator"
_APPLY: Final = "application/apply-patch+yaml"
_CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_POLL: Final = 0.05
_PATIENCE: Final = 30.0


async def apply(admin: Client, manifest: Json) -> Json:
    """Server-side apply of a whole object, by force; a CRD is served when this returns. Raises RefusedError."""
    path = await path_of(admin, manifest)
    applied = await admin.call("PATCH", f"{path}?fieldManager={_MANAGER}&force=true", manifest, _APPLY)
    if manifest["kind"] == "CustomResourceDefinition":
        await _until_served(admin, manifest)
    return applied


async def list_custom_resources(admin: Client) -> None:
    """Read a page of every custom resource. Raises RefusedError while the server still reads them in (429)."""
    for definition in (await admin.call("GET", _CRDS))["items"]:
        spec = definition["spec"]
        for version in spec["versions"]:
            await admin.call("GET", f"/apis/{spec['group']}/{version['name']}/{spec['names']['plural']}?limit=1")


async def path_of(admin: Client, manifest: Json) -> str:
    """The URL's path of the object that a manifest describes, by discovery."""
    version, metadata = manifest["apiVersion"], manifest["metadata"]
    base = "/api/v1" if version == "v1" else f"/apis/{version}"
    for resource in (await admin.call("GET", base))["resources"]:
        if resource["kind"] == manifest["kind"] and "/" not in resource["name"]:
            place = f"namespaces/{metadata.get('namespace', 'default')}/" if resource["namespaced"] else ""
            return f"{base}/{place}{resource['name']}/{metadata['name']}"
    raise RefusedError(404, f"the server has no {manifest['kind']} in {version}")


async def _until_served(admin: Client, definition: Json) -> None:
    spec, path = definition["spec"], f"{_CRDS}/{definition['metadata']['name']}"
    lists = [f"/apis/{spec['group']}/{version['name']}/{spec['names']['plural']}" for version in spec["versions"]]
    async with asyncio.timeout(_PATIENCE):
        while True:
            served = [await _is_served(admin, each) for each in lists]
            if _established(await admin.call("GET", path)) and all(served):
                return
            await asyncio.sleep(_POLL)


async def _is_served(admin: Client, path: str) -> bool:
    try:
        return await admin.find(path) is not None
    except RefusedError as error:
        # "storage is (re)initializing": the server lists what there is, for the first time.
        if error.code != 429:
            raise
        return False


def _established(definition: Json) -> bool:
    conditions = definition.get("status", {}).get("conditions") or ()
    return any(item["type"] == "Established" and item["status"] == "True" for item in conditions)
