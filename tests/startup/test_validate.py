"""What the script gives to kubeadm is what kubeadm takes, by the word of kubeadm itself."""

import asyncio
from pathlib import Path

import pytest

from tests.needs import need_binary
from tests.simulator.metadata.machines import Machines
from tests.startup.conftest import MACHINE
from tests.startup.node import Node

TOKEN = "abcdef.0123456789abcdef"


@pytest.mark.controlplane
@pytest.mark.parametrize(("version", "api"), [("v1.30.14", "v1beta3"), ("v1.36.3", "v1beta4")])
@pytest.mark.parametrize("taints", ["google.com/tpu=present:NoSchedule,example.com/mine:NoExecute", ""])
async def test_kubeadm_says_that_the_configuration_is_valid(
    node: Node, machines: Machines, tmp_path: Path, version: str, api: str, taints: str
) -> None:
    machines.set_attributes(
        MACHINE.id,
        kubeadm_join_token=TOKEN,
        kubeadm_taints=taints,
        kubeadm_control_plane_endpoint="[2001:db8::1]:8443",
        kubeadm_ca_hash=",".join("sha256:" + digit * 64 for digit in "ab"),
    )
    kubeadm = need_binary("kubeadm")
    text = 'source "$SCRIPT"; WORK=$(mktemp -d "$ROOT/run/x.XXX"); read_identity; wait_for_token; join_configuration '
    rendered = await node.output(text + version)
    assert f"apiVersion: kubeadm.k8s.io/{api}\n" in rendered
    process = await asyncio.create_subprocess_exec(
        *(kubeadm, "config", "validate", "--config", "/dev/stdin"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        cwd=tmp_path,
    )
    said, _ = await process.communicate(rendered.encode())
    assert (process.returncode, said.decode().splitlines()[-1]) == (0, "ok"), said.decode()
