"""What guests live in, for tests: machines that the test changes, a Kubernetes that writes down, a log that keeps."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from simulator.guests import Guests, GuestSettings
from simulator.seams import JoinRefusedError, JoinRequest, Json
from simulator.timing import Span
from tests.simulator.metadata.machines import Machines

NOON = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
NEVER = Span(3600, 3600)
#: Nothing takes time but heartbeats and retries, and those do not come.
AT_ONCE = GuestSettings(scale=0, retry=NEVER, lease=NEVER, status=NEVER)


@dataclass
class Kubernetes:
    """Writes down what kubelets do. `refusals` are used up first."""

    told: Callable[[], None]
    refusals: list[str] = field(default_factory=list)
    acts: list[str] = field(default_factory=list)
    requests: list[JoinRequest] = field(default_factory=list)

    async def join(self, request: JoinRequest) -> None:
        self._act(f"join {request.node_name}")
        if self.refusals:
            raise JoinRefusedError(self.refusals.pop(0))
        self.requests.append(request)

    async def register(self, request: JoinRequest) -> None:
        self.requests.append(request)
        self._act(f"register {request.node_name}")

    async def post_status(self, node_name: str, *, ready: bool, allocatable: Mapping[str, str], at: datetime) -> None:
        assert at == NOON
        self._act(f"status {node_name} {'Ready' if ready else 'NotReady'} {allocatable.get('google.com/tpu', '-')}")

    async def renew_lease(self, node_name: str, at: datetime) -> None:
        assert at == NOON
        self._act(f"lease {node_name}")

    def _act(self, what: str) -> None:
        self.acts.append(what)
        self.told()


class World:
    """Guests on machines, with all that they do kept."""

    def __init__(self, machines: Machines, settings: GuestSettings = AT_ONCE) -> None:
        self._told = asyncio.Event()
        self.machines = machines
        self.kubernetes = Kubernetes(self._told.set)
        self.entries: list[Json] = []
        self.guests = Guests(machines, self.kubernetes, self, lambda: NOON, settings)

    def write(self, entry: Json) -> None:
        self.entries.append(entry)
        self._told.set()

    @property
    def acts(self) -> list[str]:
        """What kubelets did, in order."""
        return self.kubernetes.acts

    def steps(self) -> list[str]:
        """What the VMs reported, in order."""
        return [entry["jsonPayload"]["step"] for entry in self.entries]

    def reasons(self) -> list[str]:
        """The reasons of the failures that were reported."""
        return [entry["jsonPayload"]["reason"] for entry in self.entries if entry["severity"] == "ERROR"]

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until it holds of what was done and reported."""
        while not holds():
            self._told.clear()
            await self._told.wait()

    async def until_beating(self, number: int = 1) -> None:
        """Wait until a VM's kubelet is done with its start."""
        await self.until(lambda: bool(self.acts) and self.acts[-1] == f"lease tpu-{number}")
