"""The one world: every Compute resource of the simulator, its passing time, and what befalls it.

Faces translate wire calls into calls on its parts; guests are told of power. It never speaks HTTP, and never shows a
token's value outside a VM's metadata.
"""

from collections.abc import Mapping

from simulator.clock import log_time
from simulator.seams import GuestHost, Json, LogWriter, Now
from simulator.timing import Timings
from simulator.world import catalog
from simulator.world.capacity import Capacity
from simulator.world.errors import UnknownInstanceError
from simulator.world.groups import Groups
from simulator.world.incidents import Incidents
from simulator.world.instance import Instance
from simulator.world.keeper import Keeper
from simulator.world.kernel import Kernel
from simulator.world.machines import Machines
from simulator.world.metadata import MetadataView
from simulator.world.operations import Operations
from simulator.world.settings import WorldSettings
from simulator.world.snapshot import catalog_state, instance_state
from simulator.world.updates import Updates

__all__ = ["World"]


class World:
    """All of Compute Engine. Lives on one event loop; `close()` stops its time.

    The control verbs (preempt, host_error, terminate_on_maintenance, guest_terminate, repair, delete, reset) take a
    VM's name and return at once while the world goes on; `incidents` documents them.
    """

    def __init__(
        self,
        now: Now,
        timings: Timings,
        log: LogWriter,
        settings: WorldSettings | None = None,
        *,
        seed: int = 0,
    ) -> None:
        self._kernel = kernel = Kernel(now, timings, log, settings or WorldSettings(), seed)
        self.capacity = Capacity()
        self.operations = Operations(kernel)
        self.policies = catalog.policies(kernel, self.operations)
        self.templates = catalog.templates(kernel, self.operations)
        self.machines = Machines(kernel, self.operations, self.capacity)
        keeper = Keeper(kernel, self.operations, self.machines, self.capacity)
        self.groups = Groups(kernel, self.operations, self.machines, self.templates, self.policies, keeper)
        self.updates = Updates(kernel, self.machines, self.groups)
        self.policies.used_by = self.templates.used_by = self.groups.user_of
        self.machines.courses.watcher = self.groups
        incidents = Incidents(self.operations, self.machines, self.groups)
        self.preempt = incidents.preempt
        self.host_error = incidents.host_error
        self.terminate_on_maintenance = incidents.terminate_on_maintenance
        self.guest_terminate = incidents.guest_terminate
        self.repair = incidents.repair
        self.delete = incidents.delete
        self.reset = incidents.reset

    @property
    def guests(self) -> GuestHost:
        """Who is told of VMs' power; set it before the first VM."""
        return self._kernel.guests

    @guests.setter
    def guests(self, host: GuestHost) -> None:
        self._kernel.guests = host

    @property
    def failures(self) -> list[BaseException]:
        """Errors of the simulator itself: a test asserts that there are none."""
        return self._kernel.failures

    def instance(self, instance_id: str) -> Instance | None:
        """The VM with this id, None when it does not exist (any more)."""
        return self.machines.by_id(instance_id)

    def instance_metadata(self, instance_id: str) -> MetadataView:
        """A VM's attributes now; raises UnknownInstanceError when it is gone."""
        return self._existing(instance_id).metadata.view

    async def metadata_changed(self, instance_id: str, last_etag: str) -> MetadataView:
        """The attributes as soon as their etag is not `last_etag` (facts: TPU 5): at once if it already is another.

        Waits for ever: bound it with asyncio.timeout. Raises UnknownInstanceError when the VM is gone or goes.
        """
        while True:
            metadata = self._existing(instance_id).metadata
            if metadata.view.etag != last_etag:
                return metadata.view
            await metadata.changed()

    def add_template(self, name: str, properties: Json, *, joins: bool, project: str = "my-gcp-project") -> str:
        """Put a brought template into the world without a call; returns its path.

        `name` is a bare name (a global template of `project`) or a partial URL. Raises ApiError 409.
        """
        path = name if "/" in name else f"projects/{project}/global/instanceTemplates/{name}"
        return self.templates.put(path, {"properties": properties}, joins=joins).path

    def set_capacity(self, zone: str, machine_type: str, available: int | None) -> None:
        """So many more VMs can start; None is without limit. Waiting groups find out at their next attempt."""
        self.capacity.set(zone, machine_type, available)

    def compute_state(self) -> dict[str, Json]:
        """All resources by path, sorted; two worlds with the same resources compare equal. No token value."""
        state = catalog_state((self.policies, self.templates))
        state.update({group.path: self.groups.body(group) for group in self.groups.everything()})
        state.update({vm.path: instance_state(vm) for vm in self.machines.everything()})
        return {path: state[path] for path in sorted(state)}

    def compute_history(self) -> Json:
        """What is no resource: clock, capacity, operations, and each VM's life by instance id."""
        lives: Mapping[str, Json] = {key: life.body() for key, life in sorted(self._kernel.history.instances.items())}
        return {
            "clock": log_time(self._kernel.now()),
            "capacity": self.capacity.snapshot(),
            "instances": lives,
            "operations": [operation.body() for operation in self.operations.everything()],
        }

    async def close(self) -> None:
        """Stop everything that is under way."""
        await self._kernel.close()

    def _existing(self, instance_id: str) -> Instance:
        found = self.machines.by_id(instance_id)
        if found is None:
            raise UnknownInstanceError(f"no VM has the id {instance_id}")
        return found
