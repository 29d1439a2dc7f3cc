"""Cloud Logging on the wire: google.logging.v2 over gRPC, and entries:write over REST for what runs in a VM."""

import re
from typing import Any

from aiohttp import web
from google.cloud.audit import audit_log_pb2  # noqa: F401 - registers AuditLog, which payloads hold as an Any
from google.cloud.logging_v2 import types
from google.protobuf import json_format
from google.rpc import code_pb2, status_pb2

from simulator.callers import ANONYMOUS
from simulator.event_path import EventPath
from simulator.faults import http_status
from simulator.logging.intake import Rejected, write_entries
from simulator.logging.query import QueryError, compile_query
from simulator.logging.records import LogRecords
from simulator.rpc import RpcError, RpcFace, Unary, after, before, caller_of
from simulator.seams import CallFaults, CallLog, Effect, Json, LogWriter

__all__ = ["LoggingFace"]

_PAGE = 1000
_MAY_NOT_WRITE = "Permission 'logging.logEntries.create' denied on resource (or it may not exist)."
#: Counted alike on both wires.
_WRITE = "LoggingServiceV2.WriteLogEntries"
_NAME_FILTER = re.compile(r"(projects|folders|organizations|billingAccounts)/[^/]+")
_PartialErrors = types.WriteLogEntriesPartialErrors.pb()


class LoggingFace:
    """Hands entries to the router, and lists those that it remembers."""

    def __init__(
        self, log: LogWriter, records: LogRecords, calls: CallLog, faults: CallFaults, path: EventPath | None = None
    ) -> None:
        self._log = log
        self._records = records
        self._calls = calls
        self._faults = faults
        self._path = path or EventPath()

    def handlers(self) -> Any:
        """The generic handler of LoggingServiceV2."""
        write, listing = types.WriteLogEntriesRequest.pb(), types.ListLogEntriesRequest.pb()
        return RpcFace("logging", "google.logging.v2.LoggingServiceV2", self._calls, self._faults).handlers(
            {
                "WriteLogEntries": Unary(write, types.WriteLogEntriesResponse.pb(), self._write, "changed"),
                "ListLogEntries": Unary(listing, types.ListLogEntriesResponse.pb(), self._list),
            }
        )

    def routes(self) -> list[web.RouteDef]:
        """`POST /v2/entries:write`: what the startup script calls. Any bearer token will do."""
        return [web.post("/v2/entries:write", self._write_rest)]

    async def _write(self, request: Any, context: Any) -> Any:
        if not self._path.pieces.logger and caller_of(context) == ANONYMOUS:
            raise RpcError("PERMISSION_DENIED", _MAY_NOT_WRITE)
        if not request.entries:
            raise RpcError("INVALID_ARGUMENT", "The request has no entries")
        body = _to_json(request)
        rejected = write_entries(
            self._log,
            body["entries"],
            body,
            partial_success=request.partial_success,
            dry_run=request.dry_run,
        )
        if rejected.reasons:
            raise _write_error(rejected, partial_success=request.partial_success)
        return types.WriteLogEntriesResponse.pb()()

    async def _list(self, request: Any, _context: Any) -> Any:
        wrong = [name for name in request.resource_names if not _NAME_FILTER.match(name)]
        if wrong or not request.resource_names:
            raise RpcError("INVALID_ARGUMENT", f"resource_names must be like projects/my-project; got {wrong}")
        if request.order_by not in {"", "timestamp asc", "timestamp desc", "timestamp"}:
            raise RpcError(
                "INVALID_ARGUMENT", f'order_by is "timestamp asc" or "timestamp desc", not {request.order_by!r}'
            )
        try:
            matches = compile_query(request.filter)
        except QueryError as error:
            raise RpcError("INVALID_ARGUMENT", f"Unparseable filter: {error}") from error
        parents = tuple(f"{_NAME_FILTER.match(name)[0]}/" for name in request.resource_names)  # type: ignore[index]
        found = self._records.query(lambda entry: entry["logName"].startswith(parents) and matches(entry))
        ordered = sorted(found, key=lambda entry: entry["timestamp"], reverse=request.order_by == "timestamp desc")
        start, size = _offset(request.page_token), request.page_size or _PAGE
        page = ordered[start : start + size]
        more = str(start + size) if start + size < len(ordered) else ""
        response = types.ListLogEntriesResponse.pb()(next_page_token=more)
        for entry in page:
            json_format.ParseDict(entry, response.entries.add(), ignore_unknown_fields=True)
        return response

    async def _write_rest(self, request: web.Request) -> web.Response:
        fault = self._faults.next("logging", _WRITE)
        effect: Effect = "none"
        status, answer = 200, dict[str, Any]()
        try:
            await before(fault)
            self._write_body(await _json(request))
            effect = "changed"
            await after(fault)
        except RpcError as error:
            status = http_status(error.code)
            answer = {"error": {"code": status, "message": error.message, "status": error.code}}
        self._calls.record(caller=ANONYMOUS, api="logging", method=_WRITE, code=str(status), effect=effect)
        return web.json_response(answer, status=status)

    def _write_body(self, body: Json) -> None:
        if not self._path.pieces.nodes_logger:
            raise RpcError("PERMISSION_DENIED", _MAY_NOT_WRITE)
        try:
            rejected = write_entries(
                self._log,
                body["entries"],
                body,
                partial_success=bool(body.get("partialSuccess")),
                dry_run=bool(body.get("dryRun")),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise RpcError("INVALID_ARGUMENT", f"the body is not that of entries.write: {error!r}") from error
        if rejected.reasons:
            raise _write_error(rejected, partial_success=False)


async def _json(request: web.Request) -> Json:
    try:
        body = await request.json()
    except ValueError as error:
        raise RpcError("INVALID_ARGUMENT", f"the body is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise RpcError("INVALID_ARGUMENT", "the body is not a JSON object")
    return body


def _to_json(request: Any) -> Json:
    try:
        body: Json = _whole_numbers(json_format.MessageToDict(request))
    except (TypeError, json_format.SerializeToJsonError) as error:
        raise RpcError("INVALID_ARGUMENT", f"a protoPayload of a type that is not known here: {error}") from error
    return body


def _whole_numbers(value: Any) -> Any:
    """Numbers of a jsonPayload are doubles; a whole one shows without a fraction."""
    if isinstance(value, dict):
        return {key: _whole_numbers(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_whole_numbers(member) for member in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _write_error(rejected: Rejected, *, partial_success: bool) -> RpcError:
    """The error of entries.write, with each entry's own where the valid ones were written."""
    first = rejected.reasons[min(rejected.reasons)]
    status = status_pb2.Status(code=code_pb2.INVALID_ARGUMENT, message=first)
    if partial_success:
        errors = _PartialErrors()
        for index, reason in rejected.reasons.items():
            errors.log_entry_errors[index].code = code_pb2.INVALID_ARGUMENT
            errors.log_entry_errors[index].message = reason
        status.details.add().Pack(errors)
    return RpcError("INVALID_ARGUMENT", first, status.SerializeToString())


def _offset(token: str) -> int:
    if not token:
        return 0
    if not token.isdigit():
        raise RpcError("INVALID_ARGUMENT", "page_token is not one that was handed out")
    return int(token)
