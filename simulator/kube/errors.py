"""The refusals of a kube-apiserver, with its own reasons and wordings, so that clients and people read the real thing.

Every error that leaves the server is an `ApiError`; nothing here knows HTTP beyond the status code.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from simulator.seams import Json


@dataclass(frozen=True, slots=True)
class Cause:
    """One entry of `details.causes`: what is wrong with which field."""

    field: str
    reason: str
    message: str


class ApiError(Exception):
    """A refusal, to be answered as a `metav1.Status`."""

    def __init__(self, code: int, reason: str, message: str, *, details: Json | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details or {}

    def status(self) -> Json:
        """The `metav1.Status` object of this refusal."""
        body: Json = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
        }
        if self.details:
            body["details"] = self.details
        body["code"] = self.code
        return body


def _details(group: str, kind: str, name: str) -> Json:
    details: Json = {"name": name} if name else {}
    if group:
        details["group"] = group
    return {**details, "kind": kind}


def qualified(group: str, plural: str) -> str:
    """`tpunodegroups.tpu.google.com`, or just `secrets` for the core group."""
    return f"{plural}.{group}" if group else plural


def not_found(group: str, plural: str, name: str) -> ApiError:
    """404 of an object."""
    message = f'{qualified(group, plural)} "{name}" not found'
    return ApiError(404, "NotFound", message, details=_details(group, plural, name))


class NoSuchPathError(ApiError):
    """404 of a path or resource type that is not served: answered in plain text, not as a Status."""


def no_such_path() -> ApiError:
    """404 of a path or resource type that is not served."""
    return NoSuchPathError(404, "NotFound", "404 page not found")


def already_exists(group: str, plural: str, name: str, *, terminating: bool = False) -> ApiError:
    """409 of a create."""
    message = f'{qualified(group, plural)} "{name}" already exists'
    if terminating:
        message = f"object is being deleted: {message}"
    return ApiError(409, "AlreadyExists", message, details=_details(group, plural, name))


def conflict(group: str, plural: str, name: str, why: str) -> ApiError:
    """409 of a write whose precondition does not hold."""
    message = f'Operation cannot be fulfilled on {qualified(group, plural)} "{name}": {why}'
    return ApiError(409, "Conflict", message, details=_details(group, plural, name))


STALE = "the object has been modified; please apply your changes to the latest version and try again"


def invalid(group: str, kind: str, name: str, causes: Sequence[Cause]) -> ApiError:
    """422 of an object that breaks its schema or rules: the message lists all causes as the real one does."""
    lines = [f"{cause.field}: {cause.message}" if cause.field else cause.message for cause in causes]
    listed = lines[0] if len(lines) == 1 else "[" + ", ".join(lines) + "]"
    message = f'{qualified(group, kind)} "{name}" is invalid: {listed}'
    details = _details(group, kind, name)
    details["causes"] = [{"reason": c.reason, "message": c.message, "field": c.field} for c in causes]
    return ApiError(422, "Invalid", message, details=details)


def forbidden(group: str, plural: str, name: str, why: str, *, causes: Sequence[Cause] = ()) -> ApiError:
    """403 with a reason."""
    message = f'{qualified(group, plural)} "{name}" is forbidden: {why}'
    details = _details(group, plural, name)
    if causes:
        details["causes"] = [{"reason": c.reason, "message": c.message, "field": c.field} for c in causes]
    return ApiError(403, "Forbidden", message, details=details)


def bad_request(why: str) -> ApiError:
    """400: the request itself cannot be understood."""
    return ApiError(400, "BadRequest", why)


def unauthorized() -> ApiError:
    """401: no known token."""
    return ApiError(401, "Unauthorized", "Unauthorized")


def method_not_allowed() -> ApiError:
    """405: the resource has no such verb."""
    return ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")


def unsupported_media(why: str) -> ApiError:
    """415: a body in a form that is not understood here."""
    return ApiError(415, "UnsupportedMediaType", why)


def expired(why: str) -> ApiError:
    """410: the asked resourceVersion is gone from the history."""
    return ApiError(410, "Expired", why)


def too_large_resource_version(asked: int, current: int) -> ApiError:
    """504 of a read that asks for a future resourceVersion."""
    message = f"Timeout: Too large resource version: {asked}, current: {current}"
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    return ApiError(504, "Timeout", message, details={"causes": [cause], "retryAfterSeconds": 1})
