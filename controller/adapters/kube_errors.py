"""Every error of the Kubernetes client, mapped to our failure classes: by HTTP status, or by class if no answer came.

A message names the call and the object, what the API server said and what to do. It never holds a request body, a
header or anything that has the form of a bootstrap token.
"""

import json
from collections.abc import Callable, Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Any, Final

import aiohttp
import yaml
from kubernetes.aio.client.exceptions import ApiException
from kubernetes.aio.config.config_exception import ConfigException

from controller.core.failures import Bug, Conflict, Failure, Gone, Rejected, Retry
from controller.core.redaction import redacted

_Make = Callable[[str, str], Failure]


def _again(message: str, code: str) -> Failure:
    return Retry(f"{message} It is tried again.", code)


def _not_done(message: str, code: str) -> Failure:
    return Retry(f"{message} It is tried again.", code, unknown_outcome=False)


def _login(message: str, code: str) -> Failure:
    advice = "It is tried again; if it stays so, renew the operator's credentials (service account or kubeconfig)."
    return Retry(f"{message} {advice}", code, unknown_outcome=False)


def _forbidden(message: str, code: str) -> Failure:
    return Rejected(f"{message} Apply the operator's Role and binding from deploy/.", code)


def _refused(message: str, code: str) -> Failure:
    return Rejected(f"{message} Correct the object.", code)


def _config(message: str, code: str) -> Failure:
    return Rejected(f"{message} Name a kubeconfig and a context that exist, or run in a Pod.", code)


#: HTTP status -> failure; other 4xx are refusals, other 5xx are passing (kubernetes/community, api-conventions).
BY_STATUS: Final[Mapping[int, _Make]] = MappingProxyType(
    {
        400: _refused,
        401: _login,
        403: _forbidden,
        404: Gone,
        405: Bug,
        406: Bug,
        408: _again,
        409: Conflict,
        410: Conflict,
        413: _refused,
        415: Bug,
        422: _refused,
        429: _not_done,
        500: _again,
        501: Bug,
        502: _again,
        503: _again,
        504: _again,
    }
)

#: Exception class -> failure where no answer came. A class that is not here is mapped as its nearest base that is.
BY_CLASS: Final[Mapping[type[BaseException], _Make]] = MappingProxyType(
    {
        Exception: Bug,
        ConfigException: _config,
        FileNotFoundError: _config,
        yaml.YAMLError: _config,
        TimeoutError: _again,
        OSError: _again,
        json.JSONDecodeError: _again,
        aiohttp.ClientError: _again,
        aiohttp.ClientConnectorError: _not_done,
        aiohttp.ConnectionTimeoutError: _not_done,
        aiohttp.InvalidURL: _config,
    }
)


def failure_of(error: Exception, what: str) -> Failure:
    """The failure that an exception stands for; `what` names the call and its object."""
    if isinstance(error, Failure):
        return error
    if isinstance(error, ApiException) and error.status:
        return failure_of_answer(int(error.status), str(error.body or error.reason or "").encode(), what)
    for base in type(error).__mro__:
        if base in BY_CLASS:
            # One line: a parser's complaint has several.
            text = redacted(" ".join(str(error).split()).rstrip(".")) or "no more is known"
            return BY_CLASS[base](f"{what} failed: {text}.", type(error).__name__)
    return Bug(f"{what} failed.", type(error).__name__)


def failure_of_answer(status: int, body: bytes, what: str, retry_after: str = "") -> Failure:
    """The failure that an answer of 300 or more stands for; `body` is a `Status` object, or any text.

    A patch that names another UID is refused as "metadata.uid: field is immutable", 422: a Conflict of incarnations.
    """
    said = _status_object(body)
    reason = str(said.get("reason") or "")
    text = redacted(str(said.get("message") or "")).strip().rstrip(".") or "the API server gave no reason"
    message = f"{what} failed: {text}."
    code = f"{status} {reason}".strip()
    if status == 403 and _terminating(said):
        return Conflict(f"{message} Its namespace is being deleted.", code)
    if status == 422 and "metadata.uid" in text:
        return Conflict(f"{message} It was deleted and made anew.", code)
    make = BY_STATUS.get(status) or (_again if status >= 500 else _refused)
    failure = make(message, code)
    if isinstance(failure, Retry) and retry_after.isdigit():
        failure.after = timedelta(seconds=int(retry_after))
    return failure


def is_expired(failure: Failure) -> bool:
    """True when a resourceVersion or a continue token is too old (410): list again."""
    return failure.code.startswith("410")


def is_failed_test(failure: Failure) -> bool:
    """True when a `test` of a JSON patch did not hold.

    The API server says 422 for it as for an invalid object, but only the latter names the object as "is invalid".
    """
    return failure.code.startswith("422") and "is invalid" not in failure.message


def _status_object(body: bytes) -> Mapping[str, Any]:
    try:
        said = json.loads(body)
    except ValueError:
        return {"message": body[:200].decode(errors="replace")}
    return said if isinstance(said, dict) else {}


def _terminating(said: Mapping[str, Any]) -> bool:
    causes = (said.get("details") or {}).get("causes") or []
    return any(cause.get("reason") == "NamespaceTerminating" for cause in causes)
