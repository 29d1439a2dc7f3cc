"""Cloud Logging as the VMs reach it: their service account must be a log writer, or nothing that they say is heard."""

from simulator.event_path import EventPath
from simulator.seams import Json, LogWriter

__all__ = ["VmLog"]


class VmLog:
    """Implements `seams.LogWriter`. A refused write is no trouble for a VM: the startup script goes on without."""

    def __init__(self, log: LogWriter, path: EventPath) -> None:
        self._log = log
        self._path = path

    def write(self, entry: Json) -> None:
        """Hand the entry on, if VMs may write."""
        if self._path.pieces.nodes_logger:
            self._log.write(entry)
