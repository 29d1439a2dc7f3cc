"""The names of our logs are the same wherever they must be written down."""

from pathlib import Path

from controller.api import constants
from sinks import logs

ROOT = Path(__file__).parents[2]


def test_the_controller_and_the_sinks_mean_the_same_logs() -> None:
    names = ("LOG_BOOTSTRAP", "LOG_CANARY", "LOG_ACTIONS")
    assert [getattr(logs, name) for name in names] == [getattr(constants, name) for name in names]


def test_the_startup_script_writes_to_the_bootstrap_log() -> None:
    script = (ROOT / "controller/core/startup.sh").read_text(encoding="utf-8")
    assert f"readonly LOG_NAME={logs.LOG_BOOTSTRAP}\n" in script


def test_the_log_sink_admits_what_the_intake_reads() -> None:
    admitted = (ROOT / "terraform/modules/event-pipeline/filter.tftpl").read_text(encoding="utf-8")
    assert [f'log_id("{log}")' in admitted for log in (logs.LOG_BOOTSTRAP, logs.LOG_CANARY, logs.LOG_ACTIONS)] == [
        True,
        True,
        False,
    ]
