"""Log sinks on the wire: google.logging.v2.ConfigServiceV2, as far as a sink is read."""

from typing import Any, Final

from google.cloud.logging_v2 import types

from simulator.project import Project, Sink
from simulator.rpc import RpcError, RpcFace, Unary
from simulator.seams import CallFaults, CallLog

__all__ = ["SinkFace"]

_LogSink: Final = types.LogSink.pb()


class SinkFace:
    """Shows the project's sink."""

    def __init__(self, project: Project, calls: CallLog, faults: CallFaults) -> None:
        self._project = project
        self._calls = calls
        self._faults = faults

    def handlers(self) -> Any:
        """The generic handler of ConfigServiceV2."""
        one, many = types.GetSinkRequest.pb(), types.ListSinksRequest.pb()
        return RpcFace("logging", "google.logging.v2.ConfigServiceV2", self._calls, self._faults).handlers(
            {
                "GetSink": Unary(one, _LogSink, self._get),
                "ListSinks": Unary(many, types.ListSinksResponse.pb(), self._list),
            }
        )

    async def _get(self, request: Any, _context: Any) -> Any:
        sink = self._project.sink
        if sink is None or sink.name != request.sink_name:
            raise RpcError("NOT_FOUND", f"Sink {request.sink_name.rpartition('/')[2]} does not exist")
        return self._shown(sink)

    async def _list(self, request: Any, _context: Any) -> Any:
        sink = self._project.sink
        found = [sink] if sink is not None and sink.name.startswith(f"{request.parent}/sinks/") else []
        return types.ListSinksResponse.pb()(sinks=[self._shown(each) for each in found])

    def _shown(self, sink: Sink) -> Any:
        pieces = self._project.path.pieces
        return _LogSink(
            name=sink.name.rpartition("/")[2],
            destination=sink.destination,
            filter=pieces.filter,
            disabled=pieces.disabled,
            writer_identity=sink.writer,
        )
