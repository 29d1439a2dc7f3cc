"""The tables of manifests on a real API server: it takes what must be taken, and refuses the rest in the same words."""

from collections.abc import AsyncIterator
from copy import deepcopy
from typing import Any
from uuid import uuid4

import pytest

from controller.api.crd import crd_manifests
from simulator.controlplane.client import Client, RefusedError
from simulator.controlplane.kubeconfigs import connected, read
from simulator.controlplane.objects import path_of
from tests.api.bad_crs import BAD_CRS, BadCr, causes_in
from tests.api.good_crs import GOOD_CRS
from tests.api.manifests import changed
from tests.api.test_immutability import changes_that_are_refused
from tests.planes import RealPlane

pytestmark = pytest.mark.controlplane

Json = dict[str, Any]


class Admission:
    """Writes to a real API server, in a namespace of one's own, that leave nothing."""

    def __init__(self, admin: Client, namespace: str) -> None:
        self._admin = admin
        self._namespace = namespace

    async def refusals(self, manifest: Json, stored: Json | None = None) -> list[tuple[str, str]]:
        """(path, explanation) of what is refused of a creation, or of a replacement; [] when it is taken."""
        body = changed(deepcopy(manifest), {"metadata.namespace": self._namespace})
        path = await path_of(self._admin, body)
        if stored is None:
            return await self._said("POST", path.rpartition("/")[0], body)
        before = changed(deepcopy(stored), {"metadata.namespace": self._namespace})
        created = await self._admin.call("POST", path.rpartition("/")[0], before)
        try:
            version = {"metadata.resourceVersion": created["metadata"]["resourceVersion"]}
            return await self._said("PUT", path, changed(body, version))
        finally:
            await self._admin.call("DELETE", path)

    async def _said(self, method: str, path: str, body: Json) -> list[tuple[str, str]]:
        try:
            await self._admin.call(method, f"{path}?dryRun=All", body)
        except RefusedError as error:
            if error.code != 422:
                raise
            return causes_in(error.details)
        return []


@pytest.fixture
async def admission(real_plane: RealPlane) -> AsyncIterator[Admission]:
    async with connected(read(real_plane.kubeconfig)) as admin:
        name = f"admission-{uuid4().hex[:8]}"
        await admin.call("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        yield Admission(admin, name)
        await admin.call("DELETE", f"/api/v1/namespaces/{name}")


@pytest.mark.parametrize("bad", BAD_CRS, ids=lambda bad: bad.about)
async def test_a_bad_manifest_is_refused_with_these_words(admission: Admission, bad: BadCr) -> None:
    assert sorted(await admission.refusals(bad.manifest, bad.stored)) == sorted(bad.causes)


@pytest.mark.parametrize("about", GOOD_CRS)
async def test_a_good_manifest_is_accepted_and_may_be_applied_again(admission: Admission, about: str) -> None:
    assert await admission.refusals(GOOD_CRS[about]) == []
    assert await admission.refusals(GOOD_CRS[about], GOOD_CRS[about]) == []


async def test_a_field_that_is_fixed_may_be_neither_changed_nor_added_nor_removed(admission: Admission) -> None:
    taken = [
        f"{manifest['kind']} {path}"
        for path, stored, manifest in changes_that_are_refused()
        if path not in {field for field, _ in await admission.refusals(manifest, stored)}
    ]
    assert taken == []


async def test_the_definitions_are_taken_whole_with_the_cost_of_their_rules(real_plane: RealPlane) -> None:
    async with connected(read(real_plane.kubeconfig)) as admin:
        for manifest in crd_manifests():
            kept = await admin.call("GET", await path_of(admin, manifest))
            schema = manifest["spec"]["versions"][0]["schema"]
            assert kept["spec"]["versions"][0]["schema"] == schema
            conditions = {item["type"]: item["status"] for item in kept["status"]["conditions"]}
            assert conditions == {"NamesAccepted": "True", "Established": "True"}
