"""Least privilege, proven: with what is granted everything works, and whatever is missing is named where people look.

The group climbs a ladder: it begins with no permission at all, and each time that a condition names one, that one is
granted. A permission that is never named would be superfluous; one that is missing would leave it standing.
"""

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from controller.api.shipped import shipped
from simulator.permissions import ACT_AS, role_permissions
from tests.api.manifests import changed, make_group
from tests.scenarios.cluster import CUSTOM_KINDS
from tests.scenarios.harness import Bench, Calls, bench, until

pytestmark = pytest.mark.slow

NODES: Final = "nodes@my-gcp-project.iam.gserviceaccount.com"
#: Looks again soon after a refusal, so that what was granted is used soon.
EAGER: Final[dict[str, Any]] = {
    "rejected_retry": "0.5s",
    "retry_first": "0.2s",
    "operation_looks": "1s,2s",
    "resync_interval": "2s",
    "deaf_resync_interval": "1s",
    "node_service_account": NODES,
}
SINGLE: Final = changed(
    make_group(
        nodeCount=1,
        topology="1x1",
        targetSizePolicyMode="INDIVIDUAL",
        instanceConfig__machineType="ct6e-standard-1t",
    ),
    {"metadata.name": "single"},
)
#: A refusal names the permission, and what to do about it.
MEND: Final = re.compile(
    r"(?P<said>compute\.\w+\.\w+|iam\.serviceAccountUser).*"
    r"Grant (?P<permission>compute\.\w+\.\w+|iam\.serviceAccounts\.actAs)( on that account \(\S+\))? to the operator's "
)


class Ladder:
    """Grants what the conditions ask for."""

    def __init__(self, stage: Bench) -> None:
        self._stage = stage
        #: In the order in which they were named.
        self.named: list[str] = []

    async def take(self, *permissions: str) -> None:
        """These are not granted any more."""
        for permission in permissions:
            await self._stage.control("POST", "role", {"permission": permission, "granted": False})

    async def climb(self) -> list[str]:
        """Grant what is asked for now; all that was named so far."""
        taken = (await self._stage.control("GET", "role"))["taken"]
        messages = [message for kind in CUSTOM_KINDS for message in await self._messages(kind)]
        for message in messages:
            mend = MEND.search(message)
            if mend and mend["permission"] in taken and mend["permission"] not in self.named:
                self.named.append(mend["permission"])
                await self._stage.control("POST", "role", {"permission": mend["permission"], "granted": True})
        return self.named

    async def _messages(self, kind: str) -> list[str]:
        conditions = [
            condition
            for body in await self._stage.cluster.list(kind)
            for condition in (body.get("status") or {}).get("conditions") or []
        ]
        return [condition["message"] for condition in conditions if condition["status"] != "True"]

    async def until_ready(self, name: str) -> None:
        """The group is Ready at the end of its climb."""

        async def look() -> dict[str, Any]:
            named = [*await self.climb()]
            return {"named": named, "Ready": await self._stage.condition("TPUNodeGroup", "default", name)}

        await until(f"{name} to be Ready", look, lambda seen: seen["Ready"].get("status") == "True")

    async def until_gone(self, name: str) -> None:
        """The group is deleted at the end of its climb."""
        await self._stage.cluster.delete("TPUNodeGroup", "default", name)

        async def look() -> dict[str, Any]:
            named = [*await self.climb()]
            return {"named": named, "left": await self._stage.cluster.list("TPUNodeGroup")}

        await until(f"{name} to be gone", look, lambda seen: not seen["left"])


async def test_each_permission_of_the_role_is_needed_and_asked_for_by_name(tmp_path: Path) -> None:
    everything = {*role_permissions(), ACT_AS}
    many = "compute.instances.list"
    async with bench(tmp_path, "--timings", "0", "--log-latency", "0") as stage:
        before = await stage.control.state()
        ladder = Ladder(stage)
        await ladder.take(*everything)
        await stage.start_operator(**EAGER)
        await stage.cluster.create(make_group())
        await ladder.until_ready("slice")
        await ladder.until_gone("slice")
        assert sorted(ladder.named) == sorted(everything - {many})
        # The VMs of a larger group are read by one list when the operator begins.
        await stage.cluster.create(changed(make_group(nodeCount=64, topology="4x8x8"), {"metadata.name": "wide"}))
        await ladder.until_ready("wide")
        assert await stage.stop_operator() == 0
        await stage.start_operator(**EAGER)
        await until(f"{many} to be named", ladder.climb, lambda named: many in named)
        await ladder.until_ready("wide")
        assert sorted(ladder.named) == sorted(everything)
        await ladder.until_gone("wide")
        await stage.until_world_is(before)


async def test_who_may_not_write_metadata_as_the_vms_account_is_told_so(tmp_path: Path) -> None:
    """The same two permissions as at the insert, once the VMs are there."""
    async with bench(tmp_path, "--timings", "0", "--log-latency", "0") as stage:
        await stage.control("POST", "faults", {"method": "instances.get", "nth": 1, "effect": "hold-after"})
        await stage.start_operator(**EAGER)
        await stage.cluster.create(make_group())
        await until(
            "the first look at a VM",
            lambda: stage.control("GET", "faults"),
            lambda seen: seen["faults"][0]["fired"] == 1,
        )
        ladder = Ladder(stage)
        await ladder.take("compute.instances.setMetadata", ACT_AS)
        await stage.control("DELETE", "faults")
        await ladder.until_ready("slice")
        assert ladder.named == ["compute.instances.setMetadata", ACT_AS]
        await ladder.until_gone("slice")


def granted() -> set[str]:
    """What the roles grant, as calls are counted: `patch tpunodegroups/status`."""
    roles = [each for each in yaml.safe_load_all(shipped("deploy/rbac.yaml")) if each["kind"].endswith("Role")]
    rules = [rule for role in roles for rule in role["rules"]]
    return {f"{verb} {resource}" for rule in rules for resource in rule["resources"] for verb in rule["verbs"]}


async def test_each_grant_of_the_kubernetes_roles_is_used(tmp_path: Path) -> None:
    async with bench(tmp_path, "--timings", "0", "--log-latency", "0") as stage:
        await stage.start_operator(**EAGER, lease_retry="0.5s")
        await stage.cluster.create(SINGLE)
        await stage.cluster.create(make_group())
        await stage.until_ready("default", "single")
        await stage.until_ready("default", "slice")
        (vm,) = [name for name in await stage.control.instances() if name.startswith("single-")]
        await stage.control.strike(vm, "preempt")
        await until("a Node to be deleted", stage.control.calls, lambda calls: _used(calls) >= {"delete nodes"})
        for name in ("single", "slice"):
            await stage.cluster.delete("TPUNodeGroup", "default", name)
        await until("both to be gone", lambda: stage.cluster.list("TPUNodeGroup"), lambda seen: not seen)
        # Asked for by an admission plugin that is not on everywhere.
        assert _used(await stage.control.calls()) == granted() - {"update tpunodegroups/finalizers"}
        refused = [row for row in (await stage.control.calls()).rows if row["code"] == "403"]
        assert refused == [], json.dumps(refused)


def _used(calls: Calls) -> set[str]:
    return set(calls.of_operator("kubernetes"))
