"""What the error codes of Compute Engine mean for the next move: one pure table, for operations and for REST answers.

Sources: facts on GCE, section 3 (compute/docs/resource-error, api-quota, operations-quota, the cluster autoscaler's
table of error classes, and reports by users of Terraform and Pulumi). It must never guess: a code that no source
names is a `Bug`, so that it is seen and learned.
"""

import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Final

from controller.core.failures import Bug, Conflict, Failure, Gone, NoCapacity, Rejected, Retry
from controller.core.observed import OperationError
from controller.core.redaction import redacted

_PERMISSION: Final = re.compile(r"'([a-z]+(?:\.[A-Za-z]+){1,3})'(?: or '[^']+')? permission|[Pp]ermission '([^']+)'")

Make = Callable[[str, str], Failure]


def missing_permission(text: str) -> str:
    """The permission that a refusal names (`compute.instances.setMetadata`), "" if it names none."""
    found = _PERMISSION.search(text)
    return (found.group(1) or found.group(2)) if found else ""


def is_quota(code: str) -> bool:
    """True for a `NoCapacity` that a quota caused and not a stockout: raising the quota helps."""
    return "QUOTA" in code.upper()


def _retry(message: str, code: str) -> Failure:
    return Retry(f"{message} It is tried again.", code, unknown_outcome=False)


def _rate(message: str, code: str) -> Failure:
    said = f"{message} A rate limit is used up; it is tried again in the next minute."
    return Retry(said, code, after=timedelta(seconds=60), unknown_outcome=False)


def _stockout(message: str, code: str) -> Failure:
    return NoCapacity(f"{message} GCE has no capacity now; it is asked again.", code)


def _quota(message: str, code: str) -> Failure:
    return NoCapacity(f"{message} Ask for a higher quota, or free some of it; it is asked again.", code)


def _change(message: str, code: str) -> Failure:
    return Rejected(f"{message} Change the spec or the project so that GCE accepts it.", code)


def _permission(message: str, code: str) -> Failure:
    wanted = missing_permission(message) or "the permission that the message asks for"
    return Rejected(f"{message} Grant {wanted} to the operator's service account.", code)


def _act_as(message: str, code: str) -> Failure:
    advice = "Grant iam.serviceAccounts.actAs on that account (roles/iam.serviceAccountUser) to the operator's account."
    return Rejected(f"{message} {advice}", code)


#: Codes of `Operation.error.errors[]`, `lastAttempt.errors` and REST reasons, in upper snake case.
CODES: Final[Mapping[str, Make]] = MappingProxyType(
    {
        "ZONE_RESOURCE_POOL_EXHAUSTED": _stockout,
        "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS": _stockout,
        "RESOURCE_POOL_EXHAUSTED": _stockout,
        "INSUFFICIENT_CAPACITY": _stockout,
        "STOCKOUT": _stockout,
        "QUOTA_EXCEEDED": _quota,
        "LIMIT_EXCEEDED": _quota,
        "CONCURRENT_OPERATIONS_QUOTA_EXCEEDED": _rate,
        "RESOURCE_OPERATION_RATE_EXCEEDED": _rate,
        "RATE_LIMIT_EXCEEDED": _rate,
        "USER_RATE_LIMIT_EXCEEDED": _rate,
        "RESOURCE_IN_USE_BY_ANOTHER_RESOURCE": _retry,
        "RESOURCE_IN_USE": _retry,
        "RESOURCE_NOT_READY": _retry,
        "OPERATION_IN_PROGRESS": _retry,
        "INTERNAL_ERROR": _retry,
        "BACKEND_ERROR": _retry,
        "SERVICE_UNAVAILABLE": _retry,
        "TIMEOUT": _retry,
        "RESOURCE_ALREADY_EXISTS": Conflict,
        "ALREADY_EXISTS": Conflict,
        "DUPLICATE": Conflict,
        "CONFLICT": Conflict,
        "CONDITION_NOT_MET": Conflict,
        "FINGERPRINT_MISMATCH": Conflict,
        "RESOURCE_NOT_FOUND": Gone,
        "NOT_FOUND": Gone,
        "PERMISSIONS_ERROR": _permission,
        "PERMISSION_DENIED": _permission,
        "FORBIDDEN": _permission,
        "REQUIRED_PERMISSION": _permission,
        "SERVICE_ACCOUNT_ACCESS_DENIED": _act_as,
        "ACCESS_NOT_CONFIGURED": _change,
        "IP_SPACE_EXHAUSTED": _change,
        "IP_SPACE_EXHAUSTED_WITH_DETAILS": _change,
        "INVALID": _change,
        "INVALID_USAGE": _change,
        "INVALID_FIELD_VALUE": _change,
        "BAD_REQUEST": _change,
        "REQUIRED": _change,
        "UNSUPPORTED_OPERATION": _change,
        "RESERVATION_NOT_FOUND": _change,
    }
)

#: Texts that say more than their code, in the order in which they are tried.
TEXTS: Final[tuple[tuple[re.Pattern[str], Make], ...]] = (
    (re.compile(r"fingerprint", re.IGNORECASE), Conflict),
    (re.compile(r"no more capacity in the zone|does not have enough resources available", re.IGNORECASE), _stockout),
    (re.compile(r"no available resources in specified reservations", re.IGNORECASE), _stockout),
    (re.compile(r"requires reservation to be in READY state", re.IGNORECASE), _stockout),
    (re.compile(r"specified reservation .*does not exist", re.IGNORECASE), _change),
    (re.compile(r"vmExternalIpAccess|Unsupported TPU configuration", re.IGNORECASE), _change),
)

#: `Operation.httpErrorStatusCode` where the operation names no code of its own.
_STATUS: Final[Mapping[str, Make]] = MappingProxyType(
    {
        "400": _change,
        "401": _permission,
        "403": _permission,
        "404": Gone,
        "409": Conflict,
        "412": Conflict,
        "429": _rate,
        "500": _retry,
        "502": _retry,
        "503": _retry,
        "504": _retry,
    }
)


def snake(reason: str) -> str:
    """A REST reason in the form of the table: `resourceNotReady` -> `RESOURCE_NOT_READY`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", reason).upper()


def by_code(code: str, message: str) -> Failure | None:
    """The failure that a code (or the text beside it) stands for, None if no source names it.

    `code` may be a REST reason or an operation's code. The text wins over the code where it says more.
    """
    name = snake(code)
    for pattern, make in TEXTS:
        if pattern.search(message):
            return make(message, code)
    if name in CODES:
        return CODES[name](message, code)
    return _quota(message, code) if is_quota(name) else None


def operation_failure(error: OperationError, operation_type: str = "") -> Failure:
    """What the error of a finished operation (or of a managed instance's last attempt) means.

    An insert whose operation finds something missing refers to what is not there: that is for the user to mend.
    """
    text = error.message if error.message.endswith((".", "!")) else f"{error.message}."
    message = redacted(text if error.message else "Compute Engine gave no text.")
    failure = by_code(error.code, message)
    if failure is None and error.code in _STATUS:
        failure = _STATUS[error.code](message, error.code)
    if isinstance(failure, Gone) and operation_type == "insert":
        return _change(message, error.code)
    return failure if failure is not None else Bug(message, error.code)
