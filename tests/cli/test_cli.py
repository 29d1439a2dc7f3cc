"""The command line: what people type, what they read, and the exit code."""

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import pytest

from controller.cli import execute
from controller.cli.simulator import shell_lines
from controller.settings import Settings
from controller.settings.reference import group_of

Output = pytest.CaptureFixture[str]
SUBSCRIPTION = "--subscription=projects/my-project/subscriptions/events"


@pytest.fixture(autouse=True)
def _a_plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORCE_COLOR", "NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "100")


def test_without_arguments_it_prints_its_help(capsys: Output) -> None:
    assert execute([]) == 0
    said = capsys.readouterr()
    assert all(f" {command} " in said.out for command in ("run", "demo", "simulator", "settings", "crds", "events"))
    assert said.err == ""


def test_it_says_its_version(capsys: Output) -> None:
    assert execute(["--version"]) == 0
    assert capsys.readouterr().out == f"tpu-node-group {version('tpu-node-group-controller')}\n"


WRONG_USAGE = {
    "an unknown command": (["jump"], "No such command 'jump'; --help says more"),
    "an unknown option": (["demo", "--jump"], "No such option: --jump; --help says more"),
    "a group without its command": (["events"], "Missing command; --help says more"),
    "a scenario that is none": (
        ["demo", "--scenario", "flood"],
        "Invalid value for '--scenario': 'flood' is none of life, preempt, stockout; --help says more",
    ),
    "a number that is none": (
        ["demo", "--nodes", "two"],
        "Invalid value for '--nodes': 'two' is not a whole number; --help says more",
    ),
    "a factor below zero": (
        ["simulator", "--timings=-1"],
        "Invalid value for '--timings': '-1' is not a number from 0; --help says more",
    ),
    "real kubelets without a real control plane": (
        ["demo", "--real-join"],
        "--real-join needs a real control plane: add --control-plane real, or a kubeconfig",
    ),
    "a Pub/Sub that is none": (
        ["simulator", "--pubsub", "kafka"],
        "Invalid value for '--pubsub': 'kafka' is none of embedded, emulator; --help says more",
    ),
    "a control plane that is none": (
        ["demo", "--control-plane", "nowhere"],
        (
            "Invalid value for '--control-plane': 'nowhere' is neither embedded nor real, nor a kubeconfig: there is "
            "no such file; --help says more"
        ),
    ),
    "a Kubernetes that is none": (
        ["simulator", "--kubernetes-version", "2.0"],
        "Invalid value for '--kubernetes-version': '2.0' is not like 1.34: write 1.N; --help says more",
    ),
    "a service account that is none": (
        ["demo", "--node-service-account", "foo"],
        (
            "--node-service-account foo: is not the email of a service account; "
            "take one like tpu-nodes@my-gcp-project.iam.gserviceaccount.com, or none"
        ),
    ),
    "a plan that is not there": (
        ["simulator", "--plan", "/nowhere/plan.json"],
        "--plan: cannot read /nowhere/plan.json: No such file or directory",
    ),
    "a plan with a Pub/Sub that knows no roles": (
        ["demo", "--plan", "plan.json", "--pubsub", "emulator"],
        "--plan needs --pubsub embedded: Google's emulator knows no roles",
    ),
    "a capacity of nothing": (
        ["simulator", "--capacity", "x"],
        "Invalid value for '--capacity': 'x' is not like us-central1-c/ct6e-standard-1t=4; --help says more",
    ),
    "a face that is none": (
        ["simulator", "--port", "nothing=1"],
        (
            "Invalid value for '--port': 'nothing=1' is not like control=8080; faces are compute, kubernetes, pubsub, "
            "logging, metadata, control; --help says more"
        ),
    ),
    "a number of nodes without a topology": (
        ["demo", "--nodes", "3"],
        "--nodes 3: no topology of tpu7x-standard-4t has 3 hosts; take 2 or 4",
    ),
    "no subscription": (["run"], "subscription is not set: give --subscription or TPU_NODE_GROUP_SUBSCRIPTION"),
    "a wrong subscription": (
        ["run", "--subscription", "events"],
        '--subscription="events" is not a subscription: write projects/PROJECT/subscriptions/NAME',
    ),
    "a subscription of no project": (
        ["run", "--subscription", "projects/p/subscriptions/events"],
        (
            '--subscription="projects/p/subscriptions/events" is not a subscription: "p" is no project id, which has '
            '6 to 63 lower-case letters, digits, "-", "." or ":", begins with a letter and ends with a letter or a '
            "digit"
        ),
    ),
    "a subscription without a name": (
        ["run", "--subscription", "projects/my-project/subscriptions/s"],
        (
            '--subscription="projects/my-project/subscriptions/s" is not a subscription: "s" is no name of one, which '
            "has 3 to 255 letters, digits or any of -_.~+%, and begins with a letter"
        ),
    ),
    "a wrong duration": (
        ["run", SUBSCRIPTION, "--resync-interval", "soon"],
        '--resync-interval="soon" is not a duration: write a number with ms, s, m or h, such as "30s" or "5m"',
    ),
    "a wrong choice": (
        ["run", SUBSCRIPTION, "--log-format", "xml"],
        "--log-format=\"xml\" must be one of 'console' or 'json'",
    ),
    "a number too small": (["run", SUBSCRIPTION, "--live-tokens", "0"], '--live-tokens="0" must be at least 1'),
    "settings that do not fit together": (
        ["run", SUBSCRIPTION, "--lease-duration", "5s"],
        "lease_renew_deadline (10s) must be shorter than lease_duration (5s)",
    ),
    "a settings file that is not there": (
        ["run", "--config", "/nowhere/settings.toml"],
        "/nowhere/settings.toml: cannot read the settings file: No such file or directory",
    ),
}


@pytest.mark.parametrize(("arguments", "said"), WRONG_USAGE.values(), ids=WRONG_USAGE.keys())
def test_wrong_usage_is_one_line_and_exit_code_2(arguments: list[str], said: str, capsys: Output) -> None:
    assert execute(arguments) == 2
    assert capsys.readouterr() == ("", f"tpu-node-group: {said}\n")


def test_a_wrong_variable_is_one_line_and_exit_code_2(monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    monkeypatch.setenv("TPU_NODE_GROUP_CALL_TIMEOUT", "-1s")
    assert execute(["run", SUBSCRIPTION]) == 2
    assert capsys.readouterr().err == (
        'tpu-node-group: TPU_NODE_GROUP_CALL_TIMEOUT="-1s" is not a duration: '
        'write a number with ms, s, m or h, such as "30s" or "5m"\n'
    )


def test_every_setting_has_its_flag_in_the_help_of_run(capsys: Output) -> None:
    assert execute(["run", "--help"]) == 0
    said = capsys.readouterr().out
    for flag in ("--subscription", "--resync-interval", "--operation-looks", "--leader-election", "--config"):
        assert flag in said
    assert "DURATION" in said
    assert "console|json" in said


@pytest.mark.parametrize("command", [["run"], ["demo"], ["simulator"], ["events", "decode"]])
def test_help_cuts_no_name_and_shows_no_type_of_python(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert execute([*command, "--help"]) == 0
    said = capsys.readouterr().out
    assert "\u2026" not in said
    assert not re.search(r"<\w+", said)
    assert max(map(len, said.splitlines())) <= 80


def test_the_help_of_run_has_the_chapters_of_the_settings(capsys: Output) -> None:
    assert execute(["run", "--help"]) == 0
    titles = re.findall(r"^(\S.*):$", capsys.readouterr().out, re.MULTILINE)
    assert titles == ["Options", *dict.fromkeys(group_of(field) for field in Settings.model_fields.values())]


@pytest.mark.parametrize(
    ("program", "name"),
    [("/usr/bin/kubectl-tpu", "kubectl tpu"), ("/usr/bin/tpu-node-group", "tpu-node-group"), ("", "tpu-node-group")],
)
def test_the_usage_shows_the_name_that_it_was_called_by(
    program: str, name: str, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    monkeypatch.setattr("sys.argv", [program])
    assert execute(["crds", "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"Usage: {name} crds [OPTIONS]\n")


def test_what_the_simulator_says_of_its_environment_a_shell_reads_back(tmp_path: Path) -> None:
    told = {"TPU_NODE_GROUP_KUBECONFIG": "/data/it's a folder/$HOME", "TPU_NODE_GROUP_PROJECT": "my-gcp-project"}
    file = tmp_path / "env"
    file.write_text(shell_lines(told))
    script = f"set -a; . {file}; exec {sys.executable} -c 'import json, os; print(json.dumps(dict(os.environ)))'"
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, timeout=30, check=True)  # noqa: S603
    assert told.items() <= json.loads(done.stdout).items()


def test_the_crds_are_printed_and_written(tmp_path: Path, capsys: Output) -> None:
    assert execute(["crds"]) == 0
    printed = capsys.readouterr().out
    assert printed.count("kind: CustomResourceDefinition\n") == 4
    assert execute(["crds", "--output-dir", str(tmp_path)]) == 0
    assert "tpunodegroups.tpu.google.com.yaml" in {path.name for path in tmp_path.iterdir()}


def test_crds_that_cannot_be_written_are_one_line(tmp_path: Path, capsys: Output) -> None:
    file = tmp_path / "file"
    file.write_text("")
    assert execute(["crds", "--output-dir", str(file)]) == 2
    assert capsys.readouterr().err == f"tpu-node-group: cannot write to {file}: File exists\n"


def run(*arguments: str, given: str = "", environ: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """The program as a process of its own."""
    return subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-m", "controller.cli", *arguments],
        input=given,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        env=environ,
    )


def test_the_exit_code_is_the_process_s() -> None:
    done = run("events", "decode", "/nowhere")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "tpu-node-group: cannot read /nowhere: No such file or directory\n"


def test_help_and_errors_load_none_of_the_heavy_libraries() -> None:
    code = (
        "import sys; from controller.cli import execute; execute(['events', 'decode']); execute(['run']);"
        "heavy = {'kopf', 'kubernetes', 'grpc', 'google.cloud', 'aiohttp'} & set(sys.modules); print(sorted(heavy))"
    )
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", code], input="", capture_output=True, text=True, timeout=30, check=True
    )
    assert json.loads(done.stdout.splitlines()[-1].replace("'", '"')) == []
