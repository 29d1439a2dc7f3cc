"""The connection to Pub/Sub swallows everything for a while, in the middle of a life, with the settings as shipped."""

import asyncio

import pytest

from tests.api.manifests import changed, make_group
from tests.scenarios.harness import Bench, until
from tests.sinks.proxy import Wire, wire_to

pytestmark = pytest.mark.slow

#: How long the connection swallows everything, in seconds.
OUTAGE = 10.0
#: What it may cost more than it lasted, in seconds.
MORE = 5.0


async def stream_trouble(stage: Bench) -> tuple[bool, int, str]:
    """Whether the stream is up, by the metric; and what readiness tells of it."""
    metrics = (await stage.ask_operator("/metrics"))[1]
    code, text = await stage.ask_operator("/readyz")
    troubles = [line for line in text.splitlines() if "/subscriptions/" in line]
    return "\ntpu_subscriber_up 1.0" in metrics, code, "".join(troubles)


async def until_up(stage: Bench) -> None:
    """Wait until the stream is up and nothing is told."""
    await until("the stream to be up", lambda: stream_trouble(stage), lambda seen: seen == (True, 200, ""))


async def until_down(stage: Bench) -> str:
    """Wait until the stream is not up, and why is told. The operator works all the same, and stays ready."""
    seen = await until("the stream to be down", lambda: stream_trouble(stage), lambda seen: not seen[0] and seen[2])
    assert seen[1] == 200
    return seen[2]


async def life(stage: Bench, name: str) -> float:
    """Seconds from the creation of a slice until it is Ready."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    await stage.cluster.create(changed(make_group(), {"metadata.name": name}))
    await stage.until_ready("default", name)
    return loop.time() - began


async def vms(stage: Bench, name: str) -> list[str]:
    """The states of a slice's VMs."""
    return [vm["status"] for each, vm in (await stage.control.instances()).items() if each.startswith(name)]


async def mend_after_outage(wire: Wire, began: float) -> float:
    """Mend the wire when the outage has lasted as long as it shall; returns when that was."""
    loop = asyncio.get_running_loop()
    await asyncio.sleep(began + OUTAGE - loop.time())
    await wire.mend()
    return loop.time()


async def test_ten_seconds_of_a_black_hole_cost_at_most_five_more_and_are_told(world: Bench) -> None:
    pubsub = world.ready["env"]["TPU_NODE_GROUP_PUBSUB_ENDPOINT"]
    loop = asyncio.get_running_loop()
    async with wire_to(pubsub) as wire:
        await world.start_operator(pubsub_endpoint=wire.endpoint)
        await until_up(world)
        reference = await life(world, "reference")
        holed = asyncio.create_task(life(world, "holed"))
        await until("VMs to boot", lambda: vms(world, "holed"), bool)
        began = loop.time()
        wire.swallow()
        trouble = await until_down(world)
        mended = await mend_after_outage(wire, began)
        await until_up(world)
        again = loop.time() - mended
        took = await holed
    print(f"reference {reference:.1f} s, with the hole {took:.1f} s, stream up {again:.1f} s after it")  # noqa: T201
    assert "no longer answers" in trouble or "cannot be reached" in trouble
    assert took <= reference + (mended - began) + MORE
    assert again <= MORE


async def loss(stage: Bench, name: str) -> float:
    """Seconds from a preemption in a Ready slice until its condition says so."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    await stage.control.strike(
        min(each for each in await stage.control.instances() if each.startswith(name)), "preempt"
    )
    await until(
        f"{name} to be down",
        lambda: stage.condition("TPUNodeGroup", "default", name),
        lambda seen: seen.get("status") == "False",
    )
    return loop.time() - began


async def test_a_loss_that_is_told_into_a_black_hole_is_noticed_within_five_seconds_of_its_end(world: Bench) -> None:
    """What the dead connection was given comes again only after its lease: a look at every group does not wait."""
    pubsub = world.ready["env"]["TPU_NODE_GROUP_PUBSUB_ENDPOINT"]
    async with wire_to(pubsub) as wire:
        await world.start_operator(pubsub_endpoint=wire.endpoint)
        for name in ("reference", "holed"):
            await life(world, name)
        reference = await loss(world, "reference")
        loop = asyncio.get_running_loop()
        began = loop.time()
        wire.swallow()
        await until_down(world)
        holed = asyncio.create_task(loss(world, "holed"))
        mended = await mend_after_outage(wire, began)
        await holed
        noticed = loop.time() - mended
    print(f"reference {reference:.1f} s, told into the hole: {noticed:.1f} s after its end")  # noqa: T201
    assert noticed <= reference + MORE
