"""The VM's own log entries: what the startup script writes to Cloud Logging, if its VM's account allows it."""

from typing import Literal

from controller.api.constants import LOG_BOOTSTRAP
from simulator.metadata.machines import Machine
from simulator.seams import Json, LogWriter

Step = Literal["booted", "waiting", "joining", "joined", "failed"]


def entry_of(machine: Machine, step: Step, reason: str = "") -> Json:
    """The LogEntry; its timestamp is set where it arrives."""
    return {
        "logName": f"projects/{machine.project}/logs/{LOG_BOOTSTRAP}",
        "resource": {
            "type": "gce_instance",
            "labels": {"project_id": machine.project, "zone": machine.zone, "instance_id": machine.id},
        },
        "severity": "ERROR" if step == "failed" else "INFO",
        "jsonPayload": {"instance": machine.name, "step": step, "reason": reason},
    }


class Reporter:
    """Writes a VM's steps; silent where there is no service account with a logging scope."""

    def __init__(self, log: LogWriter) -> None:
        self._log = log

    def report(self, machine: Machine, step: Step, reason: str = "") -> None:
        """Write one step of one VM."""
        if machine.service_account is not None and machine.service_account.may_log:
            self._log.write(entry_of(machine, step, reason))
