"""One VM that is a real machine: a process in namespaces of its own, from power on to power off.

Nothing of it outlives it. Namespaces, interfaces and mounts belong to its processes; these end with process 1, and
that ends with this process, whatever becomes of it: its standard input is a pipe from here.
"""

import asyncio
import contextlib
import os
import shlex
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final

#: How long a VM may take to have its network, and to be gone after power off, in seconds.
_PATIENCE: Final = 20.0
#: Capabilities that reach beyond the namespaces.
_DENIED: Final = "-sys_module,-sys_boot,-sys_time,-sys_rawio"
_COMMANDS: Final = ("setpriv", "unshare", "ip", "mount", "hostname", "curl", "bash")
_CGROUP_V2: Final = Path("/sys/fs/cgroup/cgroup.controllers")
#: kubeadm's check of the system refuses control groups of version 1 since 1.35, whatever the kubelet is told of them.
_KUBEADM_ON_CGROUP_V1: Final = """#!/bin/sh
[ "$1" != join ] || set -- "$@" --ignore-preflight-errors=SystemVerification
exec "${0%/*}/kubeadm-itself" "$@"
"""


class MachineError(Exception):
    """A machine did not start; the message has its last words."""


@dataclass(frozen=True, slots=True)
class Image:
    """What a boot image with Kubernetes has installed. `runtime` listens on the unix socket that it is given."""

    kubeadm: Path
    kubelet: Path
    runtime: Path

    def install(self, folder: Path) -> None:
        """Fill the folder that is first on the PATH of each VM; python3 is what the startup script reads JSON with."""
        folder.mkdir(parents=True)
        programs = {"kubeadm": self.kubeadm, "kubelet": self.kubelet, "containerd": self.runtime}
        scripts = {
            "systemctl": files("simulator.machines").joinpath("systemctl.sh").read_text("utf-8"),
            "python3": f'#!/bin/sh\nexec {shlex.quote(os.path.realpath(sys.executable))} "$@"\n',
        }
        if not _CGROUP_V2.exists():
            programs["kubeadm-itself"] = programs.pop("kubeadm")
            scripts["kubeadm"] = _KUBEADM_ON_CGROUP_V1
        for name, target in programs.items():
            (folder / name).symlink_to(target.absolute())
        for name, text in scripts.items():
            (folder / name).write_text(text, encoding="utf-8")
            (folder / name).chmod(0o755)


def why_not() -> str | None:
    """Why this machine cannot have such VMs, None if it can."""
    if sys.platform != "linux":
        return "VMs with a real kubelet need Linux"
    if os.geteuid() != 0:
        return "VMs with a real kubelet need root, for namespaces and mounts: run this as root"
    missing = [command for command in _COMMANDS if shutil.which(command) is None]
    return (
        f"VMs with a real kubelet need {', '.join(missing)}: install util-linux, iproute2 and curl" if missing else None
    )


@dataclass(frozen=True, slots=True)
class Powered:
    """A machine whose network is up and whose boot waits for `go`."""

    process: asyncio.subprocess.Process

    @property
    def network(self) -> Path:
        """Its network namespace."""
        return Path(f"/proc/{self.process.pid}/ns/net")

    def go(self) -> None:
        """Let it boot."""
        assert self.process.stdin is not None
        self.process.stdin.write(b"go\n")


@asynccontextmanager
async def powered(folder: Path, name: str, address: str) -> AsyncIterator[Powered]:
    """A VM from power on until the context is left. `folder` has its `image`, and its `disk` between two boots.

    Raises MachineError when it does not come up.
    """
    boot = str(files("simulator.machines") / "boot.sh")
    command = ["setpriv", "--pdeathsig", "KILL", "--bounding-set", _DENIED, "--inh-caps", _DENIED, "--"]
    command += ["unshare", "--net", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc"]
    pipe = asyncio.subprocess.PIPE
    with (folder / "boot.log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            *command,
            *("bash", boot, str(folder), name, address),
            stdin=pipe,
            stdout=pipe,
            stderr=log,
            # Nothing of this process's environment: a proxy, or a kubeconfig, would not be in a VM either.
            env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
            start_new_session=True,
        )
    try:
        assert process.stdout is not None
        try:
            line = await asyncio.wait_for(process.stdout.readline(), _PATIENCE)
        except TimeoutError:
            line = b""
        if line != b"ready\n":
            words = (folder / "boot.log").read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise MachineError(f"the machine {name} did not start: {words[-1] if words else 'it said nothing'}")
        yield Powered(process)
    finally:
        await _off(process)


async def _off(process: asyncio.subprocess.Process) -> None:
    """Power off. `unshare` ends when process 1 is gone, and the kernel lets that go last of all."""
    assert process.stdin is not None
    process.stdin.close()
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(asyncio.shield(process.wait()), _PATIENCE)
        return
    process.kill()
    await process.wait()
