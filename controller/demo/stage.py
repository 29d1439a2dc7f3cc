"""The stage: the simulator, the operator, and a bystander's connections to both; all gone when it is left."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from controller.api.constants import CONTROLLER_NAMESPACE
from controller.demo.cluster import Cluster, connect
from controller.demo.control import Control
from controller.demo.options import ControlPlane, DemoOptions
from controller.demo.processes import Child, ProcessError, start
from controller.settings import ENV_PREFIX, env_name

IDENTITY: Final = "demo-operator"
_PROGRAM: Final = (sys.executable, "-m", "controller.cli")
#: How long each of the two may take to be ready, in seconds.
_START: Final = 45.0
#: The same, where a control plane is started first.
_START_OF_REAL: Final = 150.0


@dataclass(frozen=True, slots=True)
class Stage:
    """Both processes run and the operator leads."""

    simulator: Child
    operator: Child
    control: Control
    cluster: Cluster
    control_plane: ControlPlane
    kubeconfig: Path


@asynccontextmanager
async def stage(options: DemoOptions, folder: Path, say: Callable[[str], None]) -> AsyncIterator[Stage]:
    """Raise the curtain, and `say` how far it is; on leaving, the operator goes first, to let go of its Lease."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(ENV_PREFIX)}
    # A process that is ended while it starts cannot clean up; what it leaves goes with the folder.
    inherited["TMPDIR"] = str(folder)
    async with AsyncExitStack() as stack:
        kubernetes = "Kubernetes" if options.control_plane == "embedded" else "a real Kubernetes control plane"
        say(f"Starting the simulated Google Cloud and {kubernetes} ...")
        command = [*_PROGRAM, "simulator", "--seed", str(options.seed), "--pubsub", options.pubsub]
        command += ["--control-plane", str(options.control_plane)]
        if options.real_join:
            command.append("--real-join")
        if options.plan:
            command += ["--plan", str(options.plan), "--cluster", options.cluster]
        simulator = await start("simulator", command, inherited, folder / "simulator.log", read=True)
        stack.push_async_callback(simulator.stop)
        ready = json.loads(
            await simulator.first_line(_START if options.control_plane == "embedded" else _START_OF_REAL)
        )
        say("They are up. Starting the operator ...")
        environment = {**inherited, **ready["env"], **_settings(options)}
        operator = await start("operator", [*_PROGRAM, "run"], environment, folder / "operator.log")
        stack.push_async_callback(operator.stop)
        kubeconfig = Path(ready["kubeconfig"])
        control = await stack.enter_async_context(Control(ready["control"]))
        cluster = await stack.enter_async_context(connect(kubeconfig))
        await _until_it_leads(cluster, operator)
        say("It is up and leads.")
        yield Stage(simulator, operator, control, cluster, await cluster.control_plane(), kubeconfig)


def _settings(options: DemoOptions) -> Mapping[str, str]:
    return {
        env_name("identity"): IDENTITY,
        env_name("leader_election"): "true",
        env_name("node_service_account"): options.node_service_account,
        env_name("listen"): "127.0.0.1:0",
        env_name("log_format"): "json",
    }


async def _until_it_leads(cluster: Cluster, operator: Child) -> None:
    """Until the operator holds its Lease. Raises ProcessError when it ends, or does not within the time."""
    over = asyncio.ensure_future(operator.ended())
    try:
        async with asyncio.timeout(_START):
            while await cluster.leader(CONTROLLER_NAMESPACE) != IDENTITY:
                await asyncio.wait([over], timeout=0.1)
                if over.done():
                    over.result()
    except TimeoutError:
        raise ProcessError(f"the operator did not lead within {_START:g} s: {operator.last_words()}") from None
    finally:
        over.cancel()
