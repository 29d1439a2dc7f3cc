"""What befalls VMs: preemption, host errors, maintenance, shutdowns from inside, repairs, deletes, resets.

Each writes the system event of its sample (facts: audit logs 3) and sets the VM on its course.
"""

from simulator.world.audit import Caller
from simulator.world.build import instance_subject
from simulator.world.errors import UnknownInstanceError, invalid
from simulator.world.groups import Groups
from simulator.world.instance import Instance
from simulator.world.machines import Machines
from simulator.world.operations import Operations

__all__ = ["USER", "Incidents"]

#: Who deletes and resets VMs by the control face.
USER = Caller("user@example.com", "gcloud", "192.0.2.10")


class Incidents:
    """The control verbs. Each takes a VM's name, raises UnknownInstanceError, or ApiError where it makes no sense."""

    def __init__(self, operations: Operations, machines: Machines, groups: Groups) -> None:
        self._operations = operations
        self._machines = machines
        self._groups = groups

    def preempt(self, name: str) -> None:
        """Compute Engine takes the VM's capacity: STOP or DELETE, as its termination action says."""
        instance = self._running(name)
        self._report("preempted", instance, "Instance was preempted.")
        if instance.scheduling.get("instanceTerminationAction") == "DELETE":
            self._machines.courses.begin_delete(instance, None)
        else:
            self._machines.courses.begin_stop(instance)

    def host_error(self, name: str) -> None:
        """The host dies. Compute Engine restarts on-demand, flex-start and reservation VMs itself, Spot VMs not.

        (facts: audit logs 3, failure recovery; GCE 6.2.)
        """
        instance = self._running(name)
        self._report("hostError", instance, "Instance terminated by Compute Engine.")
        self._go_down(instance)

    def terminate_on_maintenance(self, name: str) -> None:
        """Host maintenance of a VM with onHostMaintenance TERMINATE: it stops and is restarted where managed."""
        instance = self._running(name)
        self._report("terminateOnHostMaintenance", instance)
        self._go_down(instance)

    def guest_terminate(self, name: str) -> None:
        """The guest powered itself off: nothing restarts it but a group's repair."""
        instance = self._running(name)
        self._report("guestTerminate", instance)
        self._machines.courses.begin_stop(instance)

    def repair(self, name: str) -> None:
        """The VM's group finds it unhealthy and makes it anew: same name, new id."""
        self._groups.repair(self._known(name))

    def delete(self, name: str) -> None:
        """A user deletes the VM."""
        self._machines.delete(self._known(name).path, USER)

    def reset(self, name: str) -> None:
        """A user resets the VM: the guest starts anew."""
        self._machines.reset(self._running(name).path, USER)

    def _go_down(self, instance: Instance) -> None:
        if instance.scheduling.get("automaticRestart"):
            self._machines.courses.begin_restart(instance)
        else:
            self._machines.courses.begin_stop(instance)

    def _report(self, event: str, instance: Instance, message: str = "") -> None:
        subject = instance_subject(instance.project, instance.zone, instance.name, instance.id)
        self._operations.system_event(f"compute.instances.{event}", subject, message)

    def _known(self, name: str) -> Instance:
        found = self._machines.by_name(name)
        if found is None:
            raise UnknownInstanceError(f"no VM is named '{name}'; GET /control/world lists them")
        return found

    def _running(self, name: str) -> Instance:
        instance = self._known(name)
        if instance.status != "RUNNING" or instance.deleting:
            state = "being deleted" if instance.deleting else instance.status
            raise invalid(f"VM '{name}' is {state}; this happens to RUNNING VMs only")
        return instance
