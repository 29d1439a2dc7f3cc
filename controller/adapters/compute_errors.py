"""Every exception of the Compute client, mapped to our failure classes: one table, the most specific class wins.

Three families can come out of one call: google.api_core's (an HTTP answer), requests' (no answer: refused, reset, timed
out; the client does not wrap these) and google.auth's (no token for the call). A message names the resource, what
happened, what to do; it never holds a header, a URL or the value of a metadata item that looks like a token.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from typing import Final

import requests.exceptions as http
from google.api_core import exceptions as api
from google.auth import exceptions as auth

from controller.core.failures import Bug, Conflict, Failure, Gone, NoCapacity, Rejected, Retry
from controller.core.gce_errors import by_code, missing_permission
from controller.core.redaction import redacted


@dataclass(frozen=True, slots=True)
class _Said:
    """What is known of one failed call."""

    what: str
    text: str
    code: str
    window: timedelta

    def sentence(self, verb: str, advice: str = "") -> str:
        text = f": {self.text}" if self.text else ""
        text = text if text.endswith(".") else f"{text}."
        return f"{self.what} {verb}{text}{f' {advice}' if advice else ''}"


_Make = Callable[[_Said], Failure]


def _again(said: _Said) -> Failure:
    return Retry(said.sentence("failed for now", "It is tried again."), said.code)


def _never_sent(said: _Said) -> Failure:
    return Retry(said.sentence("got no connection", "It is tried again."), said.code, unknown_outcome=False)


def _silence(said: _Said) -> Failure:
    return Retry(said.sentence("got no answer", "It is tried again."), said.code)


def _too_fast(said: _Said) -> Failure:
    message = said.sentence("was refused by a rate limit", "It is tried again in the next minute.")
    return Retry(message, said.code, after=said.window, unknown_outcome=False)


def _refused(said: _Said) -> Failure:
    return Rejected(said.sentence("was refused", "Change the spec so that Compute Engine accepts it."), said.code)


def _forbidden(said: _Said) -> Failure:
    wanted = missing_permission(said.text) or "the missing permission"
    return Rejected(said.sentence("is forbidden", f"Grant {wanted} to the operator's service account."), said.code)


def _gone(said: _Said) -> Failure:
    return Gone(said.sentence("found nothing"), said.code)


def _conflict(said: _Said) -> Failure:
    return Conflict(said.sentence("met another change", "It is read again."), said.code)


def _unknown(said: _Said) -> Failure:
    return Bug(said.sentence("failed in a way that is not known"), said.code)


def _wrong_credentials(said: _Said) -> Failure:
    advice = "Check the credentials of the operator (workload identity, or GOOGLE_APPLICATION_CREDENTIALS)."
    return Rejected(said.sentence("has no valid credentials", advice), said.code)


def _no_token(said: _Said) -> Failure:
    advice = "It is tried again; if it stays so, check the credentials of the operator."
    return Retry(said.sentence("got no access token", advice), said.code, unknown_outcome=False)


#: Exception class -> failure. A class that is not here is mapped as its nearest base class that is.
BY_CLASS: Final[Mapping[type[BaseException], _Make]] = MappingProxyType(
    {
        # google.api_core: an answer came.
        api.GoogleAPIError: _unknown,
        api.RetryError: _again,
        api.Redirection: _unknown,
        api.ClientError: _refused,
        api.Unauthorized: _wrong_credentials,
        api.Forbidden: _forbidden,
        api.NotFound: _gone,
        api.Conflict: _conflict,
        api.PreconditionFailed: _conflict,
        api.TooManyRequests: _too_fast,
        api.Cancelled: _again,
        api.MethodNotAllowed: _unknown,
        api.LengthRequired: _unknown,
        api.RequestRangeNotSatisfiable: _unknown,
        api.ServerError: _again,
        api.MethodNotImplemented: _unknown,
        api.DuplicateCredentialArgs: _wrong_credentials,
        api.AsyncRestUnsupportedParameterError: _unknown,
        # requests: no answer came.
        http.RequestException: _silence,
        http.ConnectTimeout: _never_sent,
        http.SSLError: _never_sent,
        http.ProxyError: _never_sent,
        http.InvalidURL: _unknown,
        http.InvalidSchema: _unknown,
        http.MissingSchema: _unknown,
        http.InvalidHeader: _unknown,
        http.URLRequired: _unknown,
        TimeoutError: _silence,
        # google.auth: the call was never sent.
        auth.GoogleAuthError: _no_token,
        auth.RefreshError: _no_token,
        auth.ReauthFailError: _wrong_credentials,
        auth.DefaultCredentialsError: _wrong_credentials,
        auth.MutualTLSChannelError: _wrong_credentials,
        auth.ClientCertError: _wrong_credentials,
    }
)


def failure_of(error: Exception, what: str, window: timedelta) -> Failure:
    """The failure that an exception of one call stands for.

    `what` names the call and its resource (`instances.get of projects/p/zones/z/instances/n`); `window` is the time to
    the next minute, when rate quotas are refilled, with a jitter. A reason that the table of codes knows beats the
    class of its exception; of a server error, whose outcome is unknown, only a lack of capacity does.
    """
    if isinstance(error, Failure):
        return error
    said = _said(error, what, window)
    if isinstance(error, api.GoogleAPICallError):
        named = by_code(_quota_reason(error) or _reason(error), said.sentence("was refused"))
        if named is not None and (isinstance(error, api.ClientError) or isinstance(named, NoCapacity)):
            return _with_code(named, said)
    for base in type(error).__mro__:
        if base in BY_CLASS:
            return BY_CLASS[base](said)
    return _unknown(said)


def _with_code(failure: Failure, said: _Said) -> Failure:
    failure.code = said.code
    if isinstance(failure, Retry) and failure.after:
        failure.after = said.window
    return failure


def _said(error: Exception, what: str, window: timedelta) -> _Said:
    if isinstance(error, api.GoogleAPICallError):
        number = int(error.code) if error.code is not None else 0
        reason = _reason(error)
        code = f"{number} {reason}".strip() if number else reason
        return _Said(what, _text(error), code, window)
    return _Said(what, redacted(_root(error)), type(error).__name__, window)


def _text(error: api.GoogleAPICallError) -> str:
    """What Compute Engine said, without the `POST https://...: ` that the client puts before it."""
    for detail in error.errors:
        if isinstance(detail, Mapping) and detail.get("message"):
            return redacted(str(detail["message"]))
    text = str(error.message or "")
    return redacted(text.split(": ", 1)[1] if "://" in text.split(": ", 1)[0] and ": " in text else text)


def _reason(error: Exception) -> str:
    if isinstance(error, api.GoogleAPICallError):
        for detail in error.errors:
            if isinstance(detail, Mapping) and detail.get("reason"):
                return str(detail["reason"])
    return ""


def _quota_reason(error: api.GoogleAPICallError) -> str:
    """The ErrorInfo reason of a rate or concurrency quota, which comes as a 403 too."""
    info = json.dumps([detail for detail in error.details if isinstance(detail, Mapping)])
    for name in ("CONCURRENT_OPERATIONS_QUOTA_EXCEEDED", "RESOURCE_OPERATION_RATE_EXCEEDED"):
        if name in info:
            return name
    return ""


def _root(error: BaseException) -> str:
    """The innermost text of a chain: urllib3 wraps `[Errno 111] Connection refused` three times."""
    seen: BaseException = error
    while seen.__cause__ is not None or seen.__context__ is not None:
        seen = seen.__cause__ or seen.__context__ or seen
    return str(seen) or type(seen).__name__
