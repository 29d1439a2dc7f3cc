"""The table of Kubernetes errors: every status and every class, readable by people."""

import inspect
import json
from datetime import timedelta
from typing import Any

import aiohttp
import pytest
from kubernetes.aio.client.exceptions import ApiException
from kubernetes.aio.config.config_exception import ConfigException

from controller.adapters.kube_errors import (
    BY_CLASS,
    BY_STATUS,
    failure_of,
    failure_of_answer,
    is_expired,
    is_failed_test,
)
from controller.core.failures import Bug, Conflict, Failure, Gone, Rejected, Retry

WHAT = "patch tpunodegroups/status research/slice-a"


def status(code: int, reason: str = "", message: str = "no", **details: Any) -> bytes:
    said = {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message}
    return json.dumps({**said, "details": details}).encode()


def test_each_status_is_named_by_what_to_do_next() -> None:
    mapped = {code: type(failure_of_answer(code, status(code), WHAT)) for code in [*BY_STATUS, 418, 505]}
    assert mapped == {
        400: Rejected,
        401: Retry,
        403: Rejected,
        404: Gone,
        405: Bug,
        406: Bug,
        408: Retry,
        409: Conflict,
        410: Conflict,
        413: Rejected,
        415: Bug,
        422: Rejected,
        429: Retry,
        500: Retry,
        501: Bug,
        502: Retry,
        503: Retry,
        504: Retry,
        418: Rejected,
        505: Retry,
    }


def test_every_exception_of_aiohttp_is_mapped_and_none_is_taken_for_a_bug() -> None:
    classes = [cls for _, cls in inspect.getmembers(aiohttp, inspect.isclass) if issubclass(cls, Exception)]
    errors = [cls for cls in classes if issubclass(cls, aiohttp.ClientError)]
    nearest = {cls: next(base for base in cls.__mro__ if base in BY_CLASS) for cls in errors}
    assert [cls.__name__ for cls, base in nearest.items() if base is Exception] == []


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (TimeoutError(), Retry),
        (ConnectionResetError("reset by peer"), Retry),
        (aiohttp.ServerDisconnectedError(), Retry),
        (aiohttp.ClientPayloadError("cut"), Retry),
        (json.JSONDecodeError("Expecting value", "", 0), Retry),
        (ConfigException("Invalid kube-config file"), Rejected),
        (FileNotFoundError("/no/such/file"), Rejected),
        (ApiException(status=404, reason="Not Found"), Gone),
        (ApiException(status=409, body=status(409, "Conflict").decode()), Conflict),
        (KeyError("metadata"), Bug),
    ],
)
def test_an_exception_is_named_by_what_to_do_next(error: Exception, expected: type[Failure]) -> None:
    assert type(failure_of(error, WHAT)) is expected


def test_a_message_names_the_call_the_object_the_reason_and_what_to_do() -> None:
    said = 'nodes "vm-0" is forbidden: User "x" cannot patch resource "nodes"'
    assert str(failure_of_answer(403, status(403, "Forbidden", said), "patch nodes vm-0")) == (
        'patch nodes vm-0 failed: nodes "vm-0" is forbidden: User "x" cannot patch resource "nodes". '
        "Apply the operator's Role and binding from deploy/. (403 Forbidden)"
    )


def test_creating_in_a_namespace_that_is_being_deleted_is_a_conflict() -> None:
    causes = [{"reason": "NamespaceTerminating", "message": "namespace x is being terminated"}]
    failure = failure_of_answer(403, status(403, "Forbidden", "unable to create", causes=causes), WHAT)
    assert isinstance(failure, Conflict)


def test_too_many_requests_waits_as_long_as_the_server_says() -> None:
    failure = failure_of_answer(429, status(429, "TooManyRequests"), WHAT, retry_after="7")
    assert isinstance(failure, Retry)
    assert (failure.after, failure.unknown_outcome) == (timedelta(seconds=7), False)


def test_no_token_is_in_a_message() -> None:
    failure = failure_of_answer(422, status(422, "Invalid", 'Invalid value: "abcdef.0123456789abcdef"'), WHAT)
    assert "abcdef.0123456789abcdef" not in str(failure)


def test_an_answer_that_is_no_status_is_quoted_in_part() -> None:
    assert failure_of_answer(502, b"<html>bad gateway</html>" * 99, WHAT).message.startswith(
        f"{WHAT} failed: <html>bad gateway</html>"
    )


def test_a_failed_test_of_a_json_patch_is_told_from_an_invalid_object() -> None:
    by_test = "the server rejected our request due to an error in our request"
    by_validation = 'TPUNodeGroup.tpu.google.com "a" is invalid: spec.nodeCount: Invalid value: 3'
    told = [is_failed_test(failure_of_answer(422, status(422, "Invalid", m), WHAT)) for m in (by_test, by_validation)]
    assert told == [True, False]


def test_a_patch_for_another_incarnation_is_a_conflict() -> None:
    said = 'Node "vm-0" is invalid: metadata.uid: Invalid value: "u1": field is immutable'
    assert isinstance(failure_of_answer(422, status(422, "Invalid", said), WHAT), Conflict)


def test_an_expired_version_is_told_from_other_conflicts() -> None:
    told = [is_expired(failure_of_answer(code, status(code), WHAT)) for code in (409, 410)]
    assert told == [False, True]
