"""`simulator`, as far as it is the command line's."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from controller.cli import execute
from controller.cli.simulator import shell_lines


def test_its_environment_is_in_the_file_when_the_line_is_printed_and_stays_one_line(tmp_path: Path) -> None:
    file = tmp_path / "sim.env"
    command = [sys.executable, "-m", "controller.cli", "simulator", "--env-file", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own program
        assert process.stdout is not None
        told, written = json.loads(process.stdout.readline()), file.read_text()
        process.terminate()
        rest = process.stdout.read()
    assert (written, rest, process.returncode) == (shell_lines(told["env"]), "", 0)


def test_a_file_that_cannot_be_written_is_one_line_and_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "nowhere" / "sim.env"
    assert execute(["simulator", "--env-file", str(file)]) == 2
    assert capsys.readouterr() == ("", f"tpu-node-group: cannot write to {file}: No such file or directory\n")
