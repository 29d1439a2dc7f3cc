"""An idle, Ready group costs nothing: no write to Compute Engine, no status, at most one read in a minute."""

import asyncio

import pytest

from tests.scenarios.groups import sample
from tests.scenarios.harness import Bench, until

MINUTE = 60.0


@pytest.mark.slow
@pytest.mark.timeout(240)
async def test_a_minute_beside_a_ready_group_costs_at_most_one_read(stage: Bench) -> None:
    await stage.cluster.create(sample("04-independent-single-hosts.yaml"))
    await stage.cluster.create(sample("01-reservation-bulk-2x2x2.yaml"))
    await stage.until_ready("default", "four-hosts")
    await stage.until_ready("default", "my-tpu-node-group")
    # Four and two tokens put there, and taken away again: the last that either group has to do.
    await until(
        "all tokens to be scrubbed", stage.control.calls, lambda seen: seen.count("instances.setMetadata") >= 12
    )
    await _until_still(stage)
    before = await stage.control.calls()
    await asyncio.sleep(MINUTE)
    minute = (await stage.control.calls()).since(before)
    compute, kubernetes = minute.of_operator("compute"), minute.of_operator("kubernetes")
    assert sum(compute.values()) <= 1, compute
    assert all(method.endswith(".get") for method in compute), compute
    assert minute.effective("compute") == {}
    assert {method for method in kubernetes if not method.startswith("watch ")} <= {"update leases"}, kubernetes
    beats = minute.count("update leases", effect="changed") - kubernetes["update leases"]
    assert beats > 0, "the nodes' kubelets must have heartbeaten"


async def _until_still(stage: Bench) -> None:
    """Until the operator has made no call but for its lease and its watches within three seconds."""

    async def calls_within_three_seconds() -> dict[str, int]:
        before = await stage.control.calls()
        await asyncio.sleep(3)
        since = (await stage.control.calls()).since(before)
        made = since.of_operator("kubernetes") | since.of_operator("compute")
        return {method: n for method, n in made.items() if method != "update leases"}

    await until("the operator to have nothing to do", calls_within_three_seconds, lambda seen: not seen)
