"""What Compute Engine answers when it refuses, and what a failed operation carries.

The texts are those of the facts where a fact quotes one; the shapes are what google-cloud-compute parses.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from simulator.seams import Json

__all__ = [
    "ApiError",
    "Fault",
    "UnknownInstanceError",
    "already_exists",
    "condition_not_met",
    "forbidden",
    "in_use",
    "invalid",
    "invalid_field",
    "may_not_act_as",
    "not_found",
    "not_ready",
]


class ApiError(Exception):
    """A refused call: HTTP status, legacy reason (`notFound`, `conditionNotMet`, ...) and a message for people."""

    def __init__(
        self, code: int, reason: str, message: str, *, domain: str = "global", details: Sequence[Json] = ()
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.domain = domain
        self.details = tuple(details)

    def body(self) -> Json:
        """The error JSON of the legacy REST surface (facts: GCE 2, last item)."""
        error: Json = {
            "code": self.code,
            "message": self.message,
            "errors": [{"message": self.message, "domain": self.domain, "reason": self.reason}],
        }
        if self.details:
            error["details"] = list(self.details)
        return {"error": error}


class UnknownInstanceError(LookupError):
    """A control verb named a VM that is not there."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Why an accepted operation failed. `grpc` is the code in the audit entry's status.

    Samples show 8 for IP_SPACE_EXHAUSTED, 5 for NOT_FOUND, 3 for INVALID_ARGUMENT; the code of a stockout or of an
    unmet condition is in no published entry, so 8 and 9 are inferences.
    """

    code: str
    message: str
    http_status: int = 400
    http_message: str = "BAD REQUEST"
    grpc: int = 3
    details: tuple[Json, ...] = field(default=())

    def item(self) -> Json:
        """As in `Operation.error.errors[]` and `lastAttempt.errors.errors[]`."""
        return {"code": self.code, "message": self.message}


def not_found(path: str) -> ApiError:
    """404 for a resource path as `projects/p/zones/z/instances/n`."""
    return ApiError(404, "notFound", f"The resource '{path}' was not found")


def forbidden(permission: str, path: str) -> ApiError:
    """403 of a caller who lacks a permission (facts: GCE 6.3)."""
    return ApiError(403, "forbidden", f"Required '{permission}' permission for '{path}'")


def may_not_act_as(account: str, principal: str) -> ApiError:
    """400 of a caller who may not lend this service account to a VM (facts: GCE 6.3)."""
    said = f"The user does not have access to service account '{account}'. User: '{principal}'. "
    advice = "Ask a project owner to grant you the iam.serviceAccountUser role on the service account"
    return ApiError(400, "SERVICE_ACCOUNT_ACCESS_DENIED", said + advice)


def already_exists(path: str) -> ApiError:
    """409 for an insert under a name that is taken."""
    return ApiError(409, "alreadyExists", f"The resource '{path}' already exists")


def not_ready(path: str) -> ApiError:
    """400 for a resource that is being created or deleted (facts: GCE 3)."""
    return ApiError(400, "resourceNotReady", f"The resource '{path}' is not ready")


def in_use(kind: str, path: str, user: str) -> ApiError:
    """400 for the delete of something in use; `kind` as in `instance_template` (facts: GCE 3)."""
    text = f"The {kind} resource '{path}' is already being used by '{user}'"
    return ApiError(400, "resourceInUseByAnotherResource", text)


def invalid(message: str) -> ApiError:
    """400 with reason `invalid`."""
    return ApiError(400, "invalid", message)


def invalid_field(name: str, value: object, why: str) -> ApiError:
    """400 in the words that Compute Engine uses about one field."""
    return invalid(f"Invalid value for field '{name}': '{value}'. {why}")


def condition_not_met() -> ApiError:
    """412 for a stale metadata fingerprint (facts: GCE 2)."""
    return ApiError(412, "conditionNotMet", "Supplied fingerprint does not match current metadata fingerprint.")
