"""What a check finds: how it stands, why, and the exact thing that mends it. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from controller.api.base import Json


class Status(StrEnum):
    """How a check ended."""

    OK = "ok"
    #: It may be fine, and cannot be seen from here; or it will hurt later.
    WARNING = "warning"
    FAILED = "failed"
    #: It could not be looked at: what it stands on is missing, or is another check's matter.
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Verdict:
    """`mend` is a command, a Terraform variable or module, or a sentence; "" where nothing is to be done."""

    status: Status
    message: str
    mend: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict with the check's id (`sink-writer`) and its title for people."""

    check: str
    title: str
    verdict: Verdict

    def shown(self) -> Json:
        """As `--json` prints it."""
        verdict = self.verdict
        return {
            "check": self.check,
            "title": self.title,
            "status": verdict.status.value,
            "message": verdict.message,
            "mend": verdict.mend,
        }


def ok(message: str) -> Verdict:
    """All is as it should be."""
    return Verdict(Status.OK, message)


def warning(message: str, mend: str) -> Verdict:
    """It may hurt."""
    return Verdict(Status.WARNING, message, mend)


def failed(message: str, mend: str) -> Verdict:
    """It hurts."""
    return Verdict(Status.FAILED, message, mend)


def skipped(message: str, mend: str = "") -> Verdict:
    """Not looked at."""
    return Verdict(Status.SKIPPED, message, mend)


def well(findings: Sequence[Finding]) -> bool:
    """Whether nothing failed."""
    return all(finding.verdict.status is not Status.FAILED for finding in findings)
