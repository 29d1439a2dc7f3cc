"""Ctrl-C or SIGTERM at any moment ends demo, simulator and operator within ten seconds, and no process is left."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")]

#: Marks the processes of one test, through their environment, which children inherit.
MARK = "TEST_OF_SIGNALS"
#: Runs the demo and says when `main` has begun: it imports this module within its `try`.
TELLING = """
import sys

def tell(event, found):
    if event == "import" and found[0] == "controller.cli.program":
        print("in main", flush=True)

sys.addaudithook(tell)
from controller.cli import main
main(["demo"])
"""


def marked(mark: str) -> list[int]:
    """Processes, zombies apart, whose environment bears the mark."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:
            continue
    return found


@contextmanager
def demo(mark: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-m", "controller.cli", "demo", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, MARK: mark},
    )
    assert process.stdout is not None
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def read_until(process: subprocess.Popen[str], words: str) -> str:
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if words in line:
            return "".join(lines)
    pytest.fail(f"never said {words!r}: {''.join(lines)}")


def until(seen: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not seen():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.05)


def until_none_is_left(mark: str, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while left := marked(mark):
        assert time.monotonic() < deadline, f"still there: {left}"
        time.sleep(0.05)


@pytest.mark.parametrize("words", ["Starting", "you apply", "RUNNING", "Ready=True", "a host fails", "you delete"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_everything(words: str, number: signal.Signals, request: pytest.FixtureRequest) -> None:
    mark = request.node.name
    with demo(mark) as process:
        read_until(process, words)
        process.send_signal(number)
        assert process.wait(timeout=10) == 128 + number
    assert marked(mark) == []


def test_a_killed_demo_leaves_nothing_either(request: pytest.FixtureRequest) -> None:
    mark = request.node.name
    with demo(mark) as process:
        read_until(process, "RUNNING")
        assert len(marked(mark)) >= 3
        process.kill()
    until_none_is_left(mark, 10)


def test_what_is_kept_up_ends_with_a_signal(request: pytest.FixtureRequest) -> None:
    mark = request.node.name
    with demo(mark, "--keep") as process:
        said = read_until(process, "Ctrl-C ends everything")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=10) == 128 + signal.SIGINT
    assert marked(mark) == []
    assert "operator uncordons" in said
    assert "Left behind" not in said


def test_of_what_is_kept_up_json_stays_alone_on_stdout(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    mark, stdout, stderr = request.node.name, tmp_path / "stdout", tmp_path / "stderr"
    with stdout.open("w") as out, stderr.open("w") as err:
        process = subprocess.Popen(
            [sys.executable, "-m", "controller.cli", "demo", "--json", "--keep"],
            stdout=out,
            stderr=err,
            env={**os.environ, MARK: mark},
        )
    try:
        until(lambda: "Ctrl-C ends everything" in stderr.read_text(), 60)
    finally:
        process.send_signal(signal.SIGINT)
        code = process.wait(timeout=10)
    assert code == 128 + signal.SIGINT
    assert json.loads(stdout.read_text())["ok"]
    assert "export KUBECONFIG=/" in stderr.read_text()


@pytest.mark.parametrize("seconds", [0.05, 0.2, 0.5, 1, 1.5, 2, 2.5, 3])
def test_an_early_ctrl_c_leaves_no_file_and_no_traceback(
    seconds: float, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    mark = request.node.name
    with subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-c", TELLING],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, MARK: mark, "TMPDIR": str(tmp_path)},
    ) as process:
        try:
            # What a Ctrl-C meets before is Python as it starts, and no program can answer for that.
            read_until(process, "in main")
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(timeout=seconds)
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=10)
        finally:
            process.kill()
    assert process.returncode == 128 + signal.SIGINT
    assert said == ""
    assert marked(mark) == []
    assert list(tmp_path.iterdir()) == []
