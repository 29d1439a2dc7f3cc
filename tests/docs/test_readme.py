"""The README's transcript is what really happens: run again, with times, ids and the order of two hosts masked."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

pytestmark = pytest.mark.slow

README: Final = Path(__file__).parents[2] / "README.md"

#: (what differs from run to run, what stands for it)
MASKS: Final = (
    (r"^ *-?\d+\.\d\d s  ", ""),
    (r" +<- .*$", ""),
    (r"demo-slice-(\w+)-[0-9a-f]{8}(-\w{4})?", r"\1"),
    (r"bootstrap-token-\w{6}", "TOKEN"),
    (r"\(id \d+\)", "(ID)"),
    (r"Ready \d+\.\d s after", "Ready N s after"),
    # The states on the way come and go with the pace of two hosts; their reasons are what is compared.
    (r"^(Ready=False, \w+):.*$", r"\1"),
    (r" of \d+ VMs$|\d+ (VMs|Nodes) ", ""),
    # A table is as wide as what is in it.
    (r"(?<=\S) {2,}", "  "),
)
#: Whether such a line is there depends on who was faster.
PASSING: Final = re.compile(
    r"Ready=False, (Provisioning|AwaitingNodeJoin|NodeNotReady|TopologyNotApplied|Deleting\w+|Running)"
    r"|\s*(\w+\.\w+|event to token: .*|due look to token: .*|.* to (token|Node) .*)\s+\d.*"
    r"|Node mig (not Ready|Ready)"
    r"|[\s─]*"
)


def shapes(transcript: str) -> list[str]:
    """The lines with everything masked that may differ, each once, in the order of their first appearance."""
    found: dict[str, None] = {}
    for line in transcript.splitlines():
        for pattern, stand_in in MASKS:
            line = re.sub(pattern, stand_in, line)  # noqa: PLW2901 - the same line, a little more masked
        if not PASSING.fullmatch(line):
            found[line.rstrip()] = None
    return list(found)


def milestones(lines: list[str]) -> list[str]:
    """Those whose order is the story."""
    words = ("you ", "a host fails", "Compute Engine: hostError", "Ready=True", "Left behind", "All well")
    return [line for line in lines if line.startswith(words)]


def transcript_of(readme: str) -> tuple[list[str], str]:
    """The command and the output of the first console block."""
    block = re.search(r"```console\n\$ make demo\n(.*?)```", readme, re.DOTALL)
    assert block, "README.md has no transcript of `make demo`"
    return [sys.executable, "-m", "controller.cli", "demo"], block[1]


def test_the_transcript_is_what_happens() -> None:
    command, written = transcript_of(README.read_text(encoding="utf-8"))
    done = subprocess.run(  # noqa: S603 - our own program
        command, capture_output=True, text=True, timeout=110, check=False, env={**os.environ, "COLUMNS": "110"}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(shapes(done.stdout)) == sorted(shapes(written))
    assert milestones(shapes(done.stdout)) == milestones(shapes(written))
