"""A VM that is a real machine: what it sees, what it cannot do, and that nothing of it stays."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from simulator.machines import RealMachines, why_not
from tests.needs import need_machines
from tests.simulator.metadata.machines import Machines, make_machine

pytestmark = pytest.mark.controlplane

#: A process of its own that powers one machine on, says where its folder is, and stays.
_OWNER = """
import asyncio
from tests.simulator.machines.conftest import IMAGE, NOWHERE
from tests.simulator.metadata.machines import Calls, Faults, Machines, make_machine
from simulator.machines import RealMachines
from simulator.metadata.server import MetadataServer

async def main():
    vm = make_machine(1, startup_script="#!/bin/bash\\ntouch /var/lib/ran; exec sleep 1000")
    metadata = MetadataServer(Machines(vm), Calls(), Faults())
    await metadata.start()
    power = RealMachines(Machines(vm), metadata, IMAGE, None, logging=NOWHERE, control_plane=NOWHERE)
    power.powered_on(vm.id)
    print(power.folder, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def until(condition: Callable[[], object]) -> None:
    """Wait until it holds; a VM tells by files."""
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110 - the condition is not of this process
            await asyncio.sleep(0.02)


async def ran(power: RealMachines, machines: Machines, script: str, number: int = 1) -> Path:
    """The disk of a new VM after its startup script."""
    vm = make_machine(number, startup_script=f"#!/bin/bash\n{script}\ntouch /var/lib/ran\n")
    machines.put(vm)
    power.powered_on(vm.id)
    await until((power.disk(vm.id) / "var/lib/ran").exists)
    return power.disk(vm.id)


def of_this_machine() -> list[str]:
    """What a VM could change by mistake: settings of the kernel, and files."""
    settings = [Path(path).read_text() for path in ("/proc/swaps", "/proc/sys/kernel/panic")]
    files = [path for path in ("/usr/tng-x", "/opt/tng-x", "/etc/tng-x", "/tmp/tng-x") if Path(path).exists()]  # noqa: S108
    return settings + files


def namespaces() -> set[str]:
    """The networks in which a process lives."""
    found = set()
    for link in Path("/proc").glob("[0-9]*/ns/net"):
        try:
            found.add(str(link.readlink()))
        except OSError:
            continue
    return found


async def test_it_sees_its_own_metadata_at_the_address_of_compute_engine(
    power: RealMachines, machines: Machines
) -> None:
    ask = "curl -sH Metadata-Flavor:Google http://metadata.google.internal/computeMetadata/v1/instance/name"
    script = f"{ask} >/var/lib/said; hostname >>/var/lib/said"
    disks = [await ran(power, machines, script, number) for number in (1, 2)]
    assert [(disk / "var/lib/said").read_text() for disk in disks] == ["tpu-1tpu-1\n", "tpu-2tpu-2\n"]


async def test_it_can_change_nothing_of_the_machine_below(power: RealMachines, machines: Machines) -> None:
    before = of_this_machine()
    script = "swapoff -a; echo 77 >/proc/sys/kernel/panic; touch /usr/tng-x /opt/tng-x /etc/tng-x /tmp/tng-x"
    disk = await ran(power, machines, script)
    assert (disk / "etc/tng-x").exists()
    assert of_this_machine() == before


async def test_it_reaches_nothing_but_what_is_served_to_it(power: RealMachines, machines: Machines) -> None:
    listening = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    disk = await ran(power, machines, f"(: </dev/tcp/127.0.0.1/{port}) 2>/dev/null; echo $? >/var/lib/said")
    listening.close()
    assert (disk / "var/lib/said").read_text() == "1\n"


async def test_power_off_ends_all_of_it_and_power_on_finds_the_disk(power: RealMachines, machines: Machines) -> None:
    before = namespaces()
    disk = await ran(power, machines, "echo boot >>/var/lib/boots; sleep 1000 &")
    [network] = namespaces() - before
    vm = make_machine(1).id
    power.powered_off(vm)
    await until(lambda: network not in namespaces())
    (disk / "var/lib/ran").unlink()
    power.powered_on(vm)
    await until((disk / "var/lib/ran").exists)
    assert (disk / "var/lib/boots").read_text() == "boot\nboot\n"


async def test_the_disk_of_a_deleted_vm_goes(power: RealMachines, machines: Machines) -> None:
    disk = await ran(power, machines, "true")
    machines.remove(make_machine(1).id)
    power.powered_off(make_machine(1).id)
    await until(lambda: not disk.parent.exists())


async def test_nothing_outlives_a_killed_owner(tmp_path: Path) -> None:
    need_machines()
    before = namespaces()
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    pipe = asyncio.subprocess.PIPE
    owner = await asyncio.create_subprocess_exec(sys.executable, "-c", _OWNER, env=environment, stdout=pipe)
    assert owner.stdout is not None
    folder = Path((await owner.stdout.readline()).decode().strip())
    await until((folder / make_machine(1).id / "disk/var/lib/ran").exists)
    [network] = namespaces() - before
    owner.send_signal(signal.SIGKILL)
    await owner.wait()
    await until(lambda: network not in namespaces())
    second = await asyncio.create_subprocess_exec(sys.executable, "-c", _OWNER, env=environment, stdout=pipe)
    assert second.stdout is not None
    await second.stdout.readline()
    second.send_signal(signal.SIGKILL)
    await second.wait()
    await until(lambda: not folder.exists())


def test_who_cannot_have_one_is_told_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert why_not() == "VMs with a real kubelet need root, for namespaces and mounts: run this as root"
    monkeypatch.setattr("sys.platform", "darwin")
    assert why_not() == "VMs with a real kubelet need Linux"
