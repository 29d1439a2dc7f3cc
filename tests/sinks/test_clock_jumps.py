"""The wall clock may jump by days, forward and backward: no stream is lost over it, and nothing waits for it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.needs import need

pytestmark = pytest.mark.slow


def test_a_stream_and_its_probes_live_through_jumps_of_the_wall_clock(tmp_path: Path) -> None:
    need("faketime")
    (library,) = Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")
    offset = tmp_path / "offset"
    offset.write_text("+0", "ascii")
    faked = {
        "LD_PRELOAD": str(library),
        "FAKETIME_TIMESTAMP_FILE": str(offset),
        "FAKETIME_NO_CACHE": "1",
        # Only the wall clock jumps, as on a real machine.
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    done = subprocess.run(  # noqa: S603 - our own module
        [sys.executable, "-m", "tests.sinks.jumping", str(offset)],
        env=os.environ | faked,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout) == {
        "delivered": ["0", "1", "2", "3"],
        "days": [0, 2, -2, 0],
        "streams": 1,
        "states": [[True, ""]],
        "left": 0,
    }
