"""What keeps the subscription from pulling, in words for whoever has to mend it."""

import traceback
from typing import Final

from google.api_core import exceptions
from google.auth.exceptions import GoogleAuthError

from sinks.advice import Advice, advise


class SilentStreamError(Exception):
    """The connection takes requests and answers none: it is left behind for a new one."""


class StreamEndedError(Exception):
    """The server ended the stream without an error, as it does from time to time."""


class QuietStreamError(Exception):
    """The stream brought nothing for long while the connection answered: it is replaced, in case it is stuck."""


class NoConnectionError(Exception):
    """No connection stood in time."""


class NoTokenError(Exception):
    """The credentials could not make a token for a call."""


#: What gRPC says when the credentials could not make a token; it calls that UNAVAILABLE.
_NO_TOKEN: Final = "metadata from plugin failed"
#: The service was reached, and said no. It will until somebody mends something, or for a while.
_REFUSALS: Final = (
    exceptions.NotFound,
    exceptions.PermissionDenied,
    exceptions.Unauthenticated,
    exceptions.ResourceExhausted,
    exceptions.FailedPrecondition,
    exceptions.InvalidArgument,
    GoogleAuthError,
    NoTokenError,
)

#: {path} is the subscription.
_ADVICE: Final[Advice] = {
    (StreamEndedError,): "the stream of {path} ended; reconnecting",
    (QuietStreamError,): "the stream of {path} brought nothing for long; it is replaced, in case it is stuck",
    (NoConnectionError,): "Pub/Sub cannot be reached to pull {path} ({said}); check the endpoint and the network",
    (SilentStreamError,): (
        "the connection for {path} no longer answers; reconnecting (check the network if this repeats)"
    ),
    (GoogleAuthError, NoTokenError): (
        "no usable Google credentials to pull {path} ({said}); give the operator's service account Workload Identity, "
        "or set GOOGLE_APPLICATION_CREDENTIALS"
    ),
    (exceptions.NotFound,): (
        "{path} does not exist ({said}); create it with terraform/, or correct the name of the subscription"
    ),
    (exceptions.PermissionDenied,): (
        "not allowed to pull {path} ({said}); grant roles/pubsub.subscriber on it to the operator's service account"
    ),
    (exceptions.Unauthenticated,): "the credentials to pull {path} were refused ({said}); renew them",
    (exceptions.ServiceUnavailable, exceptions.DeadlineExceeded): (
        "Pub/Sub cannot be reached to pull {path} ({said}); check the endpoint and the network"
    ),
    (exceptions.ResourceExhausted,): (
        "a Pub/Sub quota is used up for {path} ({said}); raise it, or pull with fewer clients"
    ),
    (exceptions.FailedPrecondition, exceptions.InvalidArgument): (
        "{path} cannot be pulled ({said}); it must be a pull subscription with a topic"
    ),
}
_OTHERWISE: Final = "pulling {path} failed ({said}); reconnecting"


def describe(error: BaseException, path: str) -> str:
    """One line: what failed, on which subscription, what to do."""
    return advise(_told_apart(error), _ADVICE, _OTHERWISE, path=path)


def code_of(error: BaseException) -> str:
    """The gRPC status that the service answered with, by name; "" where it did not."""
    status = error.grpc_status_code if isinstance(error, exceptions.GoogleAPICallError) else None
    return str(status.name) if status is not None else ""


def is_refusal(error: BaseException) -> bool:
    """Whether somebody answered, and said no: asking again soon is no help."""
    return isinstance(_told_apart(error), _REFUSALS)


def let_go(error: BaseException) -> None:
    """Empty the frames that the error came through. They hold the call, in circles that only the collector breaks.

    Until then gRPC keeps the call's connection open where the server does not end it, as Google's emulator does when
    it refuses a stream.
    """
    seen: BaseException | None = error
    while seen is not None:
        traceback.clear_frames(seen.__traceback__)
        seen = seen.__cause__ or seen.__context__


def _told_apart(error: BaseException) -> BaseException:
    if isinstance(error, exceptions.ServiceUnavailable) and _NO_TOKEN in str(error.message):
        return NoTokenError(error.message)
    return error
