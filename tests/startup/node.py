"""A VM for the startup script: bash, a metadata server, a Logging API, and commands that only write down."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from aiohttp import web

import controller.core

SCRIPT = Path(controller.core.__file__).with_name("startup.sh")

#: Every stand-in appends its command line to the journal. kubeadm keeps the configuration that it was given.
_STAND_IN = """#!/bin/bash
printf '%s\\n' "${0##*/} $*" >>"$ROOT/journal"
"""
_KUBEADM = (
    _STAND_IN
    + """
case $1 in
  version) printf 'v1.31.4\\n' ;;
  reset) exit 1 ;;
  join)
    configuration=$(cat "$3")
    printf '%s\\n' "$configuration" >>"$ROOT/configuration"
    if [[ -e $ROOT/refusals ]]; then
      mv "$ROOT/refusals" "$ROOT/refused"
      printf 'error execution phase preflight: no signature for %s\\n' "$(grep -o 'token:.*' <<<"$configuration")"
      exit 1
    fi
    mkdir -p "$ROOT/etc/kubernetes"
    touch "$ROOT/etc/kubernetes/kubelet.conf"
    ;;
esac
"""
)


class Logging:
    """Takes entries:write as Cloud Logging does."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self._runner: web.AppRunner | None = None
        self.url = ""

    async def start(self) -> None:
        application = web.Application()
        application.router.add_post("/v2/entries:write", self._write)
        self._runner = web.AppRunner(application, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v2/entries:write"

    async def stop(self) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def _write(self, request: web.Request) -> web.Response:
        self.requests.append((request.headers.get("Authorization", ""), await request.json()))
        return web.json_response({})

    def steps(self) -> list[str]:
        """The steps that were reported, in the order of their timestamps."""
        entries = [entry for _, body in self.requests for entry in body["entries"]]
        return [entry["jsonPayload"]["step"] for entry in sorted(entries, key=lambda entry: str(entry["timestamp"]))]


class Node:
    """One VM's disk and environment, under a folder of the test."""

    def __init__(self, root: Path, metadata_url: str, logging_url: str) -> None:
        self.root = root
        commands = root / "bin"
        for folder in (commands, root / "run"):
            folder.mkdir()
        for name in ("containerd", "kubelet", "systemctl", "apt-get", "apt-mark", "swapoff", "modprobe", "sysctl"):
            self.command(name, _STAND_IN)
        self.command("kubeadm", _KUBEADM)
        self.environment = {
            "PATH": f"{commands}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "ROOT": str(root),
            "METADATA_URL": metadata_url,
            "LOGGING_URL": logging_url,
            "HOME": str(root),
            "SCRIPT": str(SCRIPT),
        }

    def command(self, name: str, text: str) -> None:
        """Put a command on PATH."""
        path = self.root / "bin" / name
        path.write_text(text)
        path.chmod(0o755)

    async def bash(self, text: str) -> asyncio.subprocess.Process:
        """Start bash on this text, which can `source "$SCRIPT"`."""
        return await asyncio.create_subprocess_exec(
            "bash",
            "-c",
            text,
            env=self.environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )

    async def output(self, text: str) -> str:
        """What bash prints for this text."""
        process = await self.bash(text)
        printed, _ = await process.communicate()
        return printed.decode()

    async def boot(self) -> asyncio.subprocess.Process:
        """Start the script as the platform does."""
        return await self.bash('exec "$SCRIPT"')

    def journal(self) -> list[str]:
        """The commands that were run; the work folder's random name masked."""
        path = self.root / "journal"
        lines = path.read_text().splitlines() if path.exists() else []
        return ["kubeadm join" if line.startswith("kubeadm join") else line for line in lines]

    def texts(self) -> str:
        """The content of all files that are left on the disk and in memory."""
        ignored = {self.root / "configuration"}
        files = [path for path in self.root.rglob("*") if path.is_file() and path not in ignored]
        return json.dumps({str(path): path.read_text() for path in files})
