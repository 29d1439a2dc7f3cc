"""Ctrl-C in the first moments, while the program still loads: its exit code, and no traceback."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

#: Stops the process by SIGINT at the first import of a module, as early as Ctrl-C can come after Python's own start.
_SITE = """
import builtins, os, signal

real = builtins.__import__

def interrupting(name, *arguments, **more):
    if name == {module!r}:
        builtins.__import__ = real
        os.kill(os.getpid(), signal.SIGINT)
    return real(name, *arguments, **more)

builtins.__import__ = interrupting
"""


@pytest.mark.parametrize("module", ["typer", "controller.demo.options", "rich.console"])
def test_ctrl_c_while_it_loads_is_no_traceback(module: str, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(_SITE.format(module=module))
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "controller.cli", "demo"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "TMPDIR": str(temporary)},
    )
    assert (done.returncode, done.stdout, done.stderr) == (128 + signal.SIGINT, "", "")
    assert list(temporary.iterdir()) == []
