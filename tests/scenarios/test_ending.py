"""SIGTERM or Ctrl-C at any moment ends the operator within ten seconds, in good order, and no process is left.

The demo's and the simulator's own ends are in tests/demo and tests/simulator.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from controller.demo.processes import start
from tests.scenarios.groups import sample
from tests.scenarios.harness import IDENTITY, PROGRAM, Bench, clean_environment, until
from tests.scenarios.wire import wire_to

SIGNALS = [signal.SIGTERM, signal.SIGINT]


async def ends(stage: Bench, number: signal.Signals) -> None:
    """The signal ends the operator with 0 within ten seconds; its group is empty, its Lease let go, its log clean."""
    operator = stage.operator
    assert operator is not None
    began = asyncio.get_running_loop().time()
    operator.process.send_signal(number)
    code = await asyncio.wait_for(operator.process.wait(), 10)
    print(f"ended after {asyncio.get_running_loop().time() - began:.2f} s")  # noqa: T201 - a figure for who looks
    stage.operator = None
    assert code == 0
    assert group_is_gone(operator.process.pid)
    assert "Traceback" not in operator.log.read_text("utf-8")
    assert (await holders(stage)).get("tpu-node-group-controller", "") == ""


def group_is_gone(leader: int) -> bool:
    """Whether no process of the group is left."""
    try:
        os.killpg(leader, 0)
    except ProcessLookupError:
        return True
    return False


async def holders(stage: Bench) -> dict[str, str]:
    """Who holds which Lease of the operator's namespace."""
    leases = (await stage.control.world())["history"]["leases"]
    return {each["metadata"]["name"]: each["spec"].get("holderIdentity", "") for each in leases}


async def idle(stage: Bench) -> None:
    await stage.start_operator()


async def provisioning(stage: Bench) -> None:
    await stage.start_operator()
    await stage.cluster.create(sample("01-reservation-bulk-2x2x2.yaml"))
    await until("a VM", stage.control.instances, bool)


async def in_a_call_that_hangs(stage: Bench) -> None:
    await stage.start_operator()
    await stage.control("POST", "faults", {"method": "instanceGroupManagers.insert", "effect": "hold-after"})
    await stage.cluster.create(sample("04-independent-single-hosts.yaml"))
    await until("the call", stage.control.calls, lambda seen: seen.count("instanceGroupManagers.insert"))


async def deleting(stage: Bench) -> None:
    await provisioning(stage)
    await stage.until_ready("default", "my-tpu-node-group")
    await stage.cluster.delete("TPUNodeGroup", "default", "my-tpu-node-group")


async def watching_dead_streams(stage: Bench) -> None:
    for method in ("watch nodes", "watch tpunodegroups", "Subscriber.StreamingPull"):
        await stage.control("POST", "faults", {"method": method, "nth": "every", "effect": "hold-after"})
    await stage.start_operator(wait=False)
    await stage.said("metrics and health")
    await asyncio.sleep(2)


MOMENTS: list[Callable[[Bench], Awaitable[None]]] = [
    idle,
    provisioning,
    in_a_call_that_hangs,
    deleting,
    watching_dead_streams,
]


@pytest.mark.slow
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
@pytest.mark.parametrize("moment", MOMENTS, ids=lambda moment: moment.__name__)
async def test_a_signal_ends_the_operator(
    world: Bench, moment: Callable[[Bench], Awaitable[None]], number: signal.Signals
) -> None:
    await moment(world)
    await ends(world, number)


@pytest.mark.slow
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
async def test_a_signal_ends_an_operator_to_which_nothing_answers_any_more(
    world: Bench, number: signal.Signals
) -> None:
    await provisioning(world)
    operator = world.operator
    assert operator is not None
    os.killpg(world.simulator.process.pid, signal.SIGSTOP)
    try:
        await asyncio.sleep(2)
        operator.process.send_signal(number)
        # In the meantime its Lease may run out, which is a failure.
        assert await asyncio.wait_for(operator.process.wait(), 10) in {0, 1}
        assert group_is_gone(operator.process.pid)
    finally:
        os.killpg(world.simulator.process.pid, signal.SIGCONT)
    world.operator = None


async def test_the_last_resort_ends_a_process_that_hangs(tmp_path: Path) -> None:
    code = "import time; from controller.ending import end_within; end_within(0.1); time.sleep(60)"
    child = await start("sleeper", [sys.executable, "-c", code], clean_environment(), tmp_path / "log")
    assert await asyncio.wait_for(child.process.wait(), 10) == 1
    assert child.last_words() == ("tpu-node-group: not everything had ended after 0.1 s; the process ends all the same")


async def test_a_second_signal_does_not_spoil_the_end(stage: Bench) -> None:
    assert stage.operator is not None
    stage.operator.process.send_signal(signal.SIGTERM)
    await ends(stage, signal.SIGINT)


@pytest.mark.slow
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
async def test_a_signal_ends_an_operator_that_waits_for_its_api_server(
    world: Bench, tmp_path: Path, number: signal.Signals
) -> None:
    copy = tmp_path / "operator.kubeconfig"
    async with wire_to(Path(world.ready["env"]["TPU_NODE_GROUP_KUBECONFIG"]), copy):
        await world.start_operator(wait=False, kubeconfig=str(copy))
        await world.said("cannot be used yet, trying again")
        await ends(world, number)


@pytest.mark.slow
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
async def test_a_signal_ends_an_operator_that_waits_for_its_lease(stage: Bench, number: signal.Signals) -> None:
    leader, stage.operator = stage.operator, None
    try:
        follower = await stage.start_operator(wait=False, identity="follower")
        await until("it to wait", lambda: stage.ask_operator("/readyz"), lambda seen: "waits for the lease" in seen[1])
        follower.process.send_signal(number)
        assert await asyncio.wait_for(follower.process.wait(), 10) == 0
        assert (await holders(stage))["tpu-node-group-controller"] == IDENTITY
    finally:
        stage.operator = leader


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
@pytest.mark.parametrize("program", ["run", "simulator"])
async def test_a_signal_while_a_program_comes_up_ends_it(
    world: Bench, tmp_path: Path, program: str, number: signal.Signals
) -> None:
    """After so many tenths of a second; until its handlers are there the signal itself may end it."""
    for tenths in (1, 2, 4, 6, 8, 11, 15, 20):
        environment = clean_environment() | world.ready["env"] | {"TPU_NODE_GROUP_LISTEN": "127.0.0.1:0"}
        log = tmp_path / f"{program}-{tenths}.log"
        child = await start(program, [*PROGRAM, program], environment, log)
        await asyncio.sleep(tenths / 10)
        child.process.send_signal(number)
        code = await asyncio.wait_for(child.process.wait(), 10)
        said = log.read_text("utf-8")
        assert code in {0, 130, 128 + number, -number}, (tenths, code, said)
        # Before our first line runs, Python itself says so.
        assert "Traceback" not in said or said.endswith("KeyboardInterrupt\n"), (tenths, said)
        assert group_is_gone(child.process.pid), tenths
