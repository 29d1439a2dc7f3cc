"""The script is clean under shellcheck, and never traces."""

import subprocess
import sys
from pathlib import Path

from tests.startup.node import SCRIPT


def test_shellcheck_has_nothing_to_say() -> None:
    shellcheck = Path(sys.executable).with_name("shellcheck")
    # All optional checks but three: braces around every variable, and warnings that a condition switches errexit off,
    # or hides a status, which here is what conditions are for.
    options = ["--enable=all", "--exclude=SC2250,SC2310,SC2312"]
    checked = subprocess.run([shellcheck, *options, SCRIPT], capture_output=True, text=True, check=False)  # noqa: S603
    assert (checked.stdout, checked.returncode) == ("", 0)


def test_tracing_which_would_print_tokens_is_never_switched_on() -> None:
    text = SCRIPT.read_text()
    assert [word for word in ("set -x", "xtrace", "set -o verbose") if word in text] == []


def test_it_fits_into_a_metadata_value_with_room_to_spare() -> None:
    # 256 KiB a value; and every answer of a hanging GET carries it along.
    assert SCRIPT.stat().st_size < 32 * 1024
