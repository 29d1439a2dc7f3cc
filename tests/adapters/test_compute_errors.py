"""The tables of errors: complete, the most specific class first, and readable by people."""

import inspect
from datetime import timedelta
from types import ModuleType
from typing import Any

import google.auth.exceptions
import pytest
import requests
import requests.exceptions
from google.api_core import exceptions as api

from controller.adapters.compute_errors import BY_CLASS, failure_of
from controller.core.failures import Bug, Conflict, Failure, Gone, NoCapacity, Rejected, Retry
from controller.core.gce_errors import CODES, is_quota, missing_permission, operation_failure, snake
from controller.core.observed import OperationError

WINDOW = timedelta(seconds=13)
WHAT = "instances.get of projects/p/zones/z/instances/vm-0"


def classes_of(module: ModuleType) -> list[type[BaseException]]:
    found = [item for _, item in inspect.getmembers(module, inspect.isclass)]
    own = [item for item in found if issubclass(item, Exception) and item.__module__ == module.__name__]
    return [item for item in own if not issubclass(item, Warning)]


ALL_CLASSES = [
    *classes_of(api),
    *classes_of(requests.exceptions),
    *classes_of(google.auth.exceptions),
]


def nearest(cls: type[BaseException]) -> type[BaseException] | None:
    return next((base for base in cls.__mro__ if base in BY_CLASS), None)


def test_every_exception_class_of_the_three_libraries_is_mapped_as_its_nearest_base() -> None:
    assert [cls for cls in ALL_CLASSES if nearest(cls) is None] == []


def test_only_the_classes_of_unknown_answers_and_of_uploads_fall_to_the_last_row_of_google_api_core() -> None:
    assert [cls.__name__ for cls in classes_of(api) if nearest(cls) is api.GoogleAPIError] == [
        "GoogleAPICallError",
        "GoogleAPIError",
        "MissingStatusHeaderError",
        "ResumableTransferError",
        "TransferStalledError",
        "UnseekableStreamError",
        "UploadCancelledError",
    ]


def test_the_exceptions_of_each_http_status_are_mapped_as_the_facts_say() -> None:
    mapped = {status: type(failure_of(answer(status), WHAT, WINDOW)) for status in EXPECTED}
    assert mapped == EXPECTED


EXPECTED: dict[int, type[Failure]] = {
    301: Bug,
    304: Bug,
    307: Bug,
    308: Bug,
    400: Rejected,
    401: Rejected,
    403: Rejected,
    404: Gone,
    405: Bug,
    409: Conflict,
    411: Bug,
    412: Conflict,
    413: Bug,
    416: Bug,
    422: Bug,
    429: Retry,
    499: Retry,
    500: Retry,
    501: Bug,
    502: Retry,
    503: Retry,
    504: Retry,
}


def answer(status: int, reason: str = "", message: str = "It said no", details: Any = ()) -> api.GoogleAPICallError:
    """An error as the REST transport builds it from the error JSON of Compute Engine."""
    errors = [{"message": message, "domain": "global", "reason": reason}] if reason else []
    text = f"POST http://127.0.0.1/compute/v1/x: {message}"
    build: Any = api.from_http_status
    error: api.GoogleAPICallError = build(status, text, errors=errors, details=list(details))
    return error


CONCURRENT = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "CONCURRENT_OPERATIONS_QUOTA_EXCEEDED"}]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        pytest.param(answer(403, "rateLimitExceeded", "Quota exceeded for reads"), Retry, id="a rate limit is a 403"),
        pytest.param(answer(403, "rateLimitExceeded", "Quota", CONCURRENT), Retry, id="too many operations at once"),
        pytest.param(answer(403, "quotaExceeded", "Quota 'TPUS' exceeded."), NoCapacity, id="a quota of resources"),
        pytest.param(answer(400, "resourceNotReady", "The resource is not ready"), Retry, id="not ready yet"),
        pytest.param(answer(400, "resourceInUseByAnotherResource", "used by 'Y'"), Retry, id="in use during teardown"),
        pytest.param(answer(409, "alreadyExists", "exists"), Conflict, id="it exists"),
        pytest.param(answer(412, "conditionNotMet", "stale"), Conflict, id="a precondition"),
        pytest.param(answer(400, "invalid", "Invalid fingerprint."), Conflict, id="a stale fingerprint as a 400"),
        pytest.param(answer(400, "invalid", "Invalid value for field 'zone'"), Rejected, id="a bad field"),
        pytest.param(answer(503, "backendError", "Backend Error"), Retry, id="a backend error"),
        pytest.param(
            answer(503, "ZONE_RESOURCE_POOL_EXHAUSTED", "The zone does not have enough resources available"),
            NoCapacity,
            id="a stockout in an answer",
        ),
        pytest.param(requests.exceptions.ConnectionError("reset"), Retry, id="connection"),
        pytest.param(requests.exceptions.ReadTimeout("slow"), Retry, id="timeout"),
        pytest.param(google.auth.exceptions.RefreshError("no"), Retry, id="refresh"),  # type: ignore[no-untyped-call]
        pytest.param(
            google.auth.exceptions.DefaultCredentialsError("none"),  # type: ignore[no-untyped-call]
            Rejected,
            id="no credentials",
        ),
        pytest.param(ZeroDivisionError("division by zero"), Bug, id="anything else"),
    ],
)
def test_an_error_is_named_by_what_to_do_next(error: Exception, expected: type[Failure]) -> None:
    assert type(failure_of(error, WHAT, WINDOW)) is expected


def test_a_rate_limit_waits_for_the_next_window_and_its_outcome_is_known() -> None:
    failure = failure_of(answer(403, "rateLimitExceeded", "Quota exceeded"), WHAT, WINDOW)
    assert isinstance(failure, Retry)
    assert (failure.after, failure.unknown_outcome, failure.code) == (WINDOW, False, "403 rateLimitExceeded")


@pytest.mark.parametrize(
    ("error", "unknown"),
    [
        (answer(503), True),
        (answer(400, "resourceNotReady"), False),
        (answer(429), False),
        (requests.exceptions.ReadTimeout(), True),
        (requests.exceptions.ConnectionError(), True),
        (requests.exceptions.ConnectTimeout(), False),
        (google.auth.exceptions.RefreshError(), False),  # type: ignore[no-untyped-call]
    ],
)
def test_only_what_may_have_reached_the_server_has_an_unknown_outcome(error: Exception, unknown: bool) -> None:  # noqa: FBT001
    failure = failure_of(error, WHAT, WINDOW)
    assert isinstance(failure, Retry)
    assert failure.unknown_outcome is unknown


def test_a_missing_permission_is_named_with_what_to_do() -> None:
    said = "Required 'compute.instances.setMetadata' permission for 'projects/p/zones/z/instances/vm-0'"
    failure = failure_of(answer(403, "forbidden", said), WHAT, WINDOW)
    assert str(failure) == (
        "instances.get of projects/p/zones/z/instances/vm-0 was refused: Required 'compute.instances.setMetadata' "
        "permission for 'projects/p/zones/z/instances/vm-0'. Grant compute.instances.setMetadata to the operator's "
        "service account. (403 forbidden)"
    )


def test_the_message_has_no_url_and_no_token() -> None:
    said = "Invalid value for field 'metadata.items[3].value': 'abcdef.0123456789abcdef'"
    failure = failure_of(answer(400, "", said), WHAT, WINDOW)
    assert failure.message == (
        f"{WHAT} was refused: Invalid value for field 'metadata.items[3].value': '<token>'. "
        "Change the spec so that Compute Engine accepts it."
    )


def test_a_failure_passes_unchanged() -> None:
    failure = Gone("gone")
    assert failure_of(failure, WHAT, WINDOW) is failure


@pytest.mark.parametrize(
    ("code", "message", "operation", "expected"),
    [
        ("ZONE_RESOURCE_POOL_EXHAUSTED", "no", "insert", NoCapacity),
        ("ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", "no", "", NoCapacity),
        ("QUOTA_EXCEEDED", "Quota 'TPU-V6E' exceeded. Limit: 4.0 in region x.", "insert", NoCapacity),
        ("CPUS_QUOTA_SOMETHING", "no", "", NoCapacity),
        ("CONCURRENT_OPERATIONS_QUOTA_EXCEEDED", "no", "", Retry),
        ("8", 'There is no more capacity in the zone "z"', "", NoCapacity),
        ("CONDITION_NOT_MET", "Supplied fingerprint does not match current metadata fingerprint.", "", Conflict),
        ("CONDITION_NOT_MET", "Constraint constraints/compute.vmExternalIpAccess violated", "", Rejected),
        ("CONDITION_NOT_MET", "Unsupported TPU configuration", "insert", Rejected),
        ("INVALID_USAGE", "Specified reservation r does not exist.", "insert", Rejected),
        ("INVALID_USAGE", "No available resources in specified reservations", "insert", NoCapacity),
        ("RESOURCE_IN_USE_BY_ANOTHER_RESOURCE", "used by", "delete", Retry),
        ("RESOURCE_NOT_FOUND", "The resource was not found", "delete", Gone),
        ("RESOURCE_NOT_FOUND", "The resource 'n' was not found", "insert", Rejected),
        ("IP_SPACE_EXHAUSTED", "IP space is exhausted", "insert", Rejected),
        ("PERMISSIONS_ERROR", "Required 'compute.disks.create' permission", "insert", Rejected),
        ("SERVICE_ACCOUNT_ACCESS_DENIED", "The user does not have access to service account 'n'.", "", Rejected),
        ("403", "FORBIDDEN", "insert", Rejected),
        ("412", "Precondition Failed", "setMetadata", Conflict),
        ("503", "", "insert", Retry),
        ("NEVER_SEEN_BEFORE", "what?", "", Bug),
    ],
)
def test_the_error_of_an_operation_is_named_by_what_to_do_next(
    code: str, message: str, operation: str, expected: type[Failure]
) -> None:
    failure = operation_failure(OperationError(code, message), operation)
    assert (type(failure), failure.code) == (expected, code)


def test_a_stockout_and_a_quota_are_told_apart_by_their_code() -> None:
    assert [code for code in CODES if is_quota(code)] == ["QUOTA_EXCEEDED", "CONCURRENT_OPERATIONS_QUOTA_EXCEEDED"]


def test_a_rest_reason_is_looked_up_in_the_table_of_operation_codes() -> None:
    assert [snake(reason) for reason in ("resourceNotReady", "alreadyExists", "invalid", "QUOTA_EXCEEDED")] == [
        "RESOURCE_NOT_READY",
        "ALREADY_EXISTS",
        "INVALID",
        "QUOTA_EXCEEDED",
    ]


def test_a_text_without_a_permission_names_none() -> None:
    assert missing_permission("The caller is not allowed") == ""
